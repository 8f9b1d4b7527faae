/** The run of an orchestrator that requested a run of a pipeline, as OpenLineage names it. */
export interface ParentRun {
  readonly namespace: string
  readonly name: string
  readonly runId: string
}

const RUN_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** From `namespace/job/run id`, as Airflow's `lineage_parent_id` writes it; null: it is not of this form. */
export function readParentRun(text: string): ParentRun | null {
  const parts = text.split('/')
  const runId = parts.pop() ?? ''
  const name = parts.pop() ?? ''
  // A namespace may be an address.
  const namespace = parts.join('/')
  return namespace === '' || name === '' || !RUN_ID.test(runId) ? null : { namespace, name, runId }
}
