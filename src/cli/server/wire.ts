import type { paths } from '../../client/api-types.js'

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never
export type Get<P extends keyof paths> = paths[P] extends { get: { responses: { 200: infer Answer } } }
  ? Json<Answer>
  : never
type Post<P extends keyof paths, Status extends number> = paths[P] extends {
  post: { responses: { [S in Status]: infer Answer } }
}
  ? Json<Answer>
  : never

/** Responses of the API, under short names. */
export type Pipeline = Get<'/pipelines/{id}'>
export type Run = Get<'/pipelines/{id}/runs'>['items'][number]
export type RunDetail = Get<'/runs/{id}'>
export type LogLine = Get<'/runs/{id}/log'>['items'][number]
export type Status = Get<'/pipelines/{id}/status'>
export type Freshness = Get<'/pipelines/{id}/freshness'>
export type Reconciliation = Get<'/pipelines/{id}/reconcile'>
export type CheckState = Get<'/checks'>['items'][number]
export type Validation = Post<'/validate', 200>
export type ValidationFinding = Validation['errors'][number]
export type NotificationRule = Get<'/notifications'>['items'][number]
export type Profile = Get<'/pipelines/{id}/profile'>
export type Preview = Post<'/preview', 200>
export type RunStatus = Run['status']

/** Request bodies; the server reads them field by field and reports all mistakes. */
export type Fields = Record<string, unknown>
