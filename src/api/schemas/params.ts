import { z } from 'zod'

/** Any text: an id that cannot exist is not found, and the service reports it. */
const id = z.string().meta({ format: 'uuid' })

export const byId = z.object({ id: id.describe('The id.') })

export const byVersion = z.object({
  id: id.describe('The id of the pipeline.'),
  version: z.string().describe('The number of the version.').meta({ pattern: '^[1-9][0-9]{0,8}$' }),
})

export const byRow = z.object({
  id: id.describe('The id of the pipeline.'),
  row_id: z.string().describe('The id of the quarantined row.').meta({ pattern: '^[1-9][0-9]{0,14}$' }),
})
