import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type {
  Checkpoint,
  DryRun,
  Freshness,
  Pipeline,
  PipelineInput,
  PipelinePatch,
  Preview,
  Reconciliation,
  Validation,
} from './wire.js'

/** The prefix of all queries about one pipeline; events invalidate it (live/patches.ts). */
export const pipelineKey = (id: string) => ['pipeline', id] as const

/** Pipelines that this tab is deleting: their deletion events must not trigger another request. */
export const leaving = new Set<string>()

const at = (id: string) => ({ path: { id } })

export function pipelineQuery(id: string) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'config'],
    queryFn: ({ signal }): Promise<Pipeline> => ask(api.GET('/pipelines/{id}', { params: at(id), signal })),
    // Do not show another pipeline as a placeholder.
    placeholderData: undefined,
  })
}

export function validationQuery(id: string) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'validation'],
    queryFn: ({ signal }): Promise<Validation> =>
      ask(api.POST('/pipelines/{id}/validate', { params: at(id), signal })),
    placeholderData: undefined,
  })
}

export function checkpointQuery(id: string) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'checkpoint'],
    queryFn: ({ signal }): Promise<Checkpoint> =>
      ask(api.GET('/pipelines/{id}/state', { params: at(id), signal })),
    placeholderData: undefined,
  })
}

/** Freshness changes with time, without an event, so it is requested again. */
const FRESHNESS_EVERY_MS = 5_000

export function freshnessQuery(id: string) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'freshness'],
    queryFn: ({ signal }): Promise<Freshness> =>
      ask(api.GET('/pipelines/{id}/freshness', { params: at(id), signal })),
    refetchInterval: FRESHNESS_EVERY_MS,
    placeholderData: undefined,
  })
}

export function pipelineRunsQuery(id: string, limit: number) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'runs', limit],
    queryFn: ({ signal }) =>
      ask(api.GET('/pipelines/{id}/runs', { params: { ...at(id), query: { limit } }, signal })),
  })
}

export function versionsQuery(id: string, limit: number) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'versions', limit],
    queryFn: ({ signal }) =>
      ask(api.GET('/pipelines/{id}/versions', { params: { ...at(id), query: { limit } }, signal })),
  })
}

export function quarantineQuery(id: string, limit: number) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'quarantine', limit],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/pipelines/{id}/quarantine', {
          params: { ...at(id), query: { limit, status: 'HELD' } },
          signal,
        }),
      ),
  })
}

/** Counts only: cheap enough to request when the page is opened. */
export function reconcileQuery(id: string) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'reconcile'],
    queryFn: ({ signal }): Promise<Reconciliation> =>
      ask(api.GET('/pipelines/{id}/reconcile', { params: at(id), signal })),
    placeholderData: undefined,
  })
}

interface Change {
  readonly pipeline: Pick<Pipeline, 'id' | 'config_version'>
  readonly patch: PipelinePatch
}

const ifMatch = ({ config_version }: Pick<Pipeline, 'config_version'>) => ({
  'if-match': `"${config_version}"`,
})

/** Actions on one pipeline other than running it. Each is one request. */
export const pipelineActions = {
  compareRows: (id: string): Promise<Reconciliation> =>
    ask(api.GET('/pipelines/{id}/reconcile', { params: { ...at(id), query: { deep: true } } })),
  repair: (id: string) => ask(api.POST('/pipelines/{id}/reconcile/repair', { params: at(id) })),
  reset: (id: string, to: { last_processed_key: string | null; last_processed_id: string | null }) =>
    ask(api.POST('/pipelines/{id}/reset', { params: at(id), body: to })),
  replay: (id: string, row: string) =>
    ask(api.POST('/pipelines/{id}/quarantine/{row_id}/replay', { params: { path: { id, row_id: row } } })),
  discard: (id: string, row: string) =>
    ask(api.POST('/pipelines/{id}/quarantine/{row_id}/discard', { params: { path: { id, row_id: row } } })),
  validate: (draft: PipelineInput, isQuick: boolean): Promise<Validation> =>
    ask(api.POST('/validate', { params: { query: { quick: isQuick } }, body: draft })),
  preview: (draft: PipelineInput, limit: number): Promise<Preview> =>
    ask(api.POST('/preview', { params: { query: { limit } }, body: draft })),
  /** The effect of a change. Nothing is saved, so nothing is taken over either. */
  dryRun: async ({ pipeline, patch }: Change): Promise<DryRun> => {
    const params = {
      ...at(pipeline.id),
      query: { dry_run: true, take_over: true },
      header: ifMatch(pipeline),
    }
    return dryRunIn(await ask(api.PATCH('/pipelines/{id}', { params, body: patch })))
  },
  /** Rejected with 412 if another version was saved in the meantime. */
  save: ({ pipeline, patch }: Change, isTakenOver: boolean): Promise<Pipeline> =>
    ask(
      api.PATCH('/pipelines/{id}', {
        params: { ...at(pipeline.id), query: { take_over: isTakenOver }, header: ifMatch(pipeline) },
        body: patch,
      }),
    ),
  dryRunCreation: async (draft: PipelineInput): Promise<DryRun> =>
    dryRunIn(await ask(api.POST('/pipelines', { params: { query: { dry_run: true } }, body: draft }))),
  create: (draft: PipelineInput): Promise<Pipeline> => ask(api.POST('/pipelines', { body: draft })),
  /** Deletes the runs too; the mart is kept. */
  remove: async (pipeline: Change['pipeline'], isTakenOver: boolean): Promise<void> => {
    const params = { ...at(pipeline.id), query: { take_over: isTakenOver }, header: ifMatch(pipeline) }
    leaving.add(pipeline.id)
    try {
      await ask(api.DELETE('/pipelines/{id}', { params }))
    } catch (error) {
      leaving.delete(pipeline.id)
      throw error
    }
  },
  restore: (id: string, version: number, how: { resetCheckpoint: boolean | null; isTakenOver: boolean }) =>
    ask(
      api.POST('/pipelines/{id}/versions/{version}/restore', {
        params: { path: { id, version: String(version) }, query: { take_over: how.isTakenOver } },
        body: how.resetCheckpoint === null ? {} : { reset_checkpoint: how.resetCheckpoint },
      }),
    ),
}

function dryRunIn(answer: object): DryRun {
  const { dry_run } = answer as { dry_run?: DryRun }
  if (dry_run === undefined) throw new Error('the response contains no dry run')
  return dry_run
}
