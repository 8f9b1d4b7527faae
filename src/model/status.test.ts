import { describe, expect, it } from 'vitest'
import { HELD_STATUSES, isHeld, isStartable, PIPELINE_STATUSES, STARTABLE_STATUSES } from './status.js'

describe('the sets of statuses that follow from the transitions', () => {
  it('are the statuses in which a run can be requested, and those that a runner holds', () => {
    expect(STARTABLE_STATUSES).toEqual(['IDLE', 'PAUSED', 'FAILED'])
    expect(HELD_STATUSES).toEqual(['RUNNING', 'PAUSE_REQUESTED'])
  })

  it('leave only the request between the two', () => {
    expect(PIPELINE_STATUSES.filter((status) => !isStartable(status) && !isHeld(status))).toEqual([
      'RUN_REQUESTED',
    ])
  })
})
