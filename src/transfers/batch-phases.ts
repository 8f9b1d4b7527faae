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
    const phase = phases.find((one) => one.name === name)
    return phase === undefined ? null : phase.to - phase.from
  }
  return {
    readMs: ms('read'),
    transformMs: ms('transform'),
    writeMs: ms('write') ?? 0,
    checkpointMs: ms('checkpoint') ?? 0,
  }
}
