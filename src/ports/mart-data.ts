import type { MartProfile, MartRows, RowsQuestion } from '../model/mart-data.js'
import type { Pipeline } from '../model/pipeline.js'

/** Reads the rows of marts for people. Changes nothing; every method has a time limit. */
export interface MartData {
  /** Throws REQUEST_INVALID for a filter, an order or a cursor that cannot be used. */
  rows(pipeline: Pipeline, question: RowsQuestion, signal: AbortSignal): Promise<MartRows>
  profile(pipeline: Pipeline, signal: AbortSignal): Promise<MartProfile>
  close(): Promise<void>
}
