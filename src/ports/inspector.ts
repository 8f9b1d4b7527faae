import type { Pipeline } from '../model/pipeline.js'
import type { Finding, Preview, Validation } from '../model/validation.js'

/** Looks at what a pipeline would do. Reads only, bounded in rows, bytes and time. */
export interface Inspector {
  /** Lets go of what it keeps open between two looks. */
  close(): Promise<void>
  /** The SQL guard's verdict on the text alone and by the server: empty when the query may be run. */
  judge(pipeline: Pipeline, signal: AbortSignal): Promise<Finding[]>
  validate(pipeline: Pipeline, signal: AbortSignal): Promise<Validation>
  preview(pipeline: Pipeline, limit: number, signal: AbortSignal): Promise<Preview>
}
