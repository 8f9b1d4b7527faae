import { api, ask } from './client.js'

/** Actions on pipelines and runs. Each is one request; the event that follows updates the screen. */
export const actions = {
  run: (id: string) => ask(api.POST('/pipelines/{id}/run', { params: { path: { id } } })),
  /** Together with what it follows, or what follows it. */
  runWith: (id: string, wave: 'upstream' | 'downstream' | 'all') =>
    ask(api.POST('/pipelines/{id}/run', { params: { path: { id }, query: { with: wave } } })),
  pause: (id: string) => ask(api.POST('/pipelines/{id}/pause', { params: { path: { id } } })),
  enable: (id: string) => ask(api.POST('/pipelines/{id}/enable', { params: { path: { id } } })),
  disable: (id: string) => ask(api.POST('/pipelines/{id}/disable', { params: { path: { id } } })),
  cancel: (runId: string) => ask(api.POST('/runs/{id}/cancel', { params: { path: { id: runId } } })),
  /** Does not wait for the current batch. */
  cutOff: (runId: string) =>
    ask(api.POST('/runs/{id}/cancel', { params: { path: { id: runId }, query: { force: true } } })),
}
