import type { Session } from '../postgres/session.js'

/** Whether a pipeline runs, and which run of it that is or was. */
export interface Activity {
  readonly status: string
  /** Grows with every claim: another number means that another run has begun since. */
  readonly fence: string
}

/** Read again each time: a run may begin and end while a comparison reads rows. Null: the pipeline is gone. */
export async function activityOf(main: Session, pipelineId: string): Promise<Activity | null> {
  const [row] = await main.rows('SELECT status::text, fence::text FROM etl.etl_pipelines WHERE id = $1', [
    pipelineId,
  ])
  return row === undefined ? null : { status: row.status!, fence: row.fence! }
}
