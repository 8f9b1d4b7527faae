import { comingRuns } from '../../model/schedule.js'
import { scheduleQuery, scheduleToWire, scheduleWire } from '../schemas/schedule.js'
import type { Api } from '../schemas/type-provider.js'
import { scheduleMistakes } from '../services/pipeline-rules.js'
import { rule } from './rule.js'

export function scheduleRoutes(app: Api): void {
  app.get(
    '/schedule/runs',
    {
      config: rule('viewer', {
        tag: 'inspection',
        summary: 'Get the next times of a schedule in its time zone.',
      }),
      schema: { querystring: scheduleQuery, response: { 200: scheduleWire } },
    },
    async ({ query }) => {
      const { schedule_interval, schedule_timezone, limit } = query
      const mistakes = scheduleMistakes(query)
      // An invalid schedule is a result of this check, not a failure of the request.
      if (mistakes.length > 0) return scheduleToWire(mistakes, [])
      const options = {
        schedule: schedule_interval,
        timezone: schedule_timezone,
        now: new Date(),
        count: limit,
      }
      return scheduleToWire([], comingRuns(options))
    },
  )
}
