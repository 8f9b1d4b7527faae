import { createContext, useContext } from 'react'
import type { Pipeline, PipelineLine } from '../../api/wire.js'

interface Shown {
  readonly pipeline: Pipeline
  /** The line of the list, with the current run and the last twenty. Null: not loaded. */
  readonly line: PipelineLine | null
}

export const PipelineContext = createContext<Shown | null>(null)

/** Only below the layout, which renders tabs once the pipeline is loaded. */
export function usePipeline(): Shown {
  const shown = useContext(PipelineContext)
  if (shown === null) throw new Error('no pipeline is shown')
  return shown
}

export const isUnderWay = ({ status }: Pick<Pipeline, 'status'>) =>
  status === 'RUNNING' || status === 'PAUSE_REQUESTED'
