import type { Claim } from '../model/claim.js'
import type { Pipeline } from '../model/pipeline.js'

/** Executes parts of runs outside the runners, for pipelines whose engine is not local. */
export interface PartEngine {
  /** Throws ENGINE_UNAVAILABLE if the profile of the pipeline does not exist, or its program is not on this machine. */
  require(pipeline: Pick<Pipeline, 'engine' | 'engineOptions'>): Promise<void>
  /** Starts a program that executes the open parts of the run, by the plan that is stored with it. */
  submit(claim: Claim): Promise<Submission>
}

/** The program that executes the parts of a run. It ends when it has tried each of them, or when its run is lost. */
export interface Submission {
  readonly profile: string
  /** Null: it is running. */
  readonly end: SubmissionEnd | null
  /** Resolves when the program and its children have ended. */
  stop(): Promise<void>
}

export interface SubmissionEnd {
  /** For people: "ended with code 1". */
  readonly how: string
  /** The reason, if the program reported one, or the last lines that it printed. */
  readonly report: string
  readonly hint: string | null
}
