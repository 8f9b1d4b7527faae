import { expect, it } from 'vitest'
import { scheduleMistakes } from './pipeline-rules.js'

it('reports a wrong schedule and a wrong time zone together', () => {
  const both = scheduleMistakes({ schedule_interval: 'every day', schedule_timezone: 'Mars/Base' })
  expect(both.map(({ field }) => field)).toEqual(['schedule_timezone', 'schedule_interval'])
  const zone = scheduleMistakes({ schedule_interval: '0 6 * * *', schedule_timezone: 'Mars/Base' })
  expect(zone.map(({ field }) => field)).toEqual(['schedule_timezone'])
})
