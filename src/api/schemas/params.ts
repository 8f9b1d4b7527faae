import { z } from 'zod'

/** Any text: an id that cannot exist is one that is not found, and the service says so. */
export const byId = z.object({ id: z.string().describe('The id.') })

export const byVersion = z.object({
  id: z.string().describe('The id of the pipeline.'),
  version: z.string().describe('The number of the version.'),
})

export const byRow = z.object({
  id: z.string().describe('The id of the pipeline.'),
  row_id: z.string().describe('The id of the row in quarantine.'),
})
