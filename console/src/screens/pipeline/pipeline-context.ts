import { createContext, useContext } from 'react'
import type { Pipeline, PipelineLine } from '../../api/wire.js'

interface Shown {
  readonly pipeline: Pipeline
  /** As the list has it: with its present run and the last twenty. Null: not read yet. */
  readonly line: PipelineLine | null
}

export const PipelineContext = createContext<Shown | null>(null)

/** Only below the layout, which shows a tab when the pipeline is there. */
export function usePipeline(): Shown {
  const shown = useContext(PipelineContext)
  if (shown === null) throw new Error('no pipeline is shown')
  return shown
}

export const isUnderWay = ({ status }: Pick<Pipeline, 'status'>) =>
  status === 'RUNNING' || status === 'PAUSE_REQUESTED'
