import { comingRuns } from '../../model/schedule.js'
import { scheduleQuery, scheduleToWire, scheduleWire } from '../schemas/schedule.js'
import type { Api } from '../schemas/type-provider.js'
import { scheduleMistakes } from '../services/pipeline-rules.js'
import { rule } from './rule.js'

export function scheduleRoutes(app: Api): void {
  app.get(
    '/schedule/runs',
    {
      config: rule('viewer', 'inspection', 'Tells when a schedule would run next, in its zone.'),
      schema: { querystring: scheduleQuery, response: { 200: scheduleWire } },
    },
    async ({ query }) => {
      const { schedule_interval, schedule_timezone, limit } = query
      const mistakes = scheduleMistakes(query)
      // A schedule that cannot be read is what was asked about: an answer, not a failure.
      if (mistakes.length > 0) return scheduleToWire(mistakes, [])
      return scheduleToWire([], comingRuns(schedule_interval, schedule_timezone, new Date(), limit))
    },
  )
}
