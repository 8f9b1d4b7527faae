import type { BatchPhases, Phase } from '../model/claim.js'
import type { MartChange } from './marts/mart.js'

/** When a batch did what, by performance.now(). */
export interface Timing {
  readonly started: number
  readonly written: number
  readonly earlier: readonly Phase[]
}

/** The checkpoint phase lasts until now. */
export function phasesOf({ read }: MartChange, { started, written, earlier }: Timing): Phase[] {
  return [
    ...earlier,
    ...(read === undefined ? [] : [read]),
    { name: 'write', from: read?.to ?? started, to: written },
    { name: 'checkpoint', from: written, to: performance.now() },
  ]
}

export function durationsOf(phases: readonly Phase[]): BatchPhases {
  const ms = (name: Phase['name']) => {
    const found = phases.filter((one) => one.name === name)
    return found.length === 0 ? null : found.reduce((sum, { from, to }) => sum + to - from, 0)
  }
  return {
    readMs: ms('read'),
    transformMs: ms('transform'),
    writeMs: ms('write') ?? 0,
    checkpointMs: ms('checkpoint') ?? 0,
  }
}
