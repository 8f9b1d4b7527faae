import { z } from 'zod'

const check = z.object({
  status: z.enum(['ok', 'down', 'unknown']).describe('unknown: it could not be checked.'),
  code: z.string().optional().describe('The code of the error.'),
  detail: z.string().optional().describe('What is wrong.'),
  hint: z.string().optional().describe('How to fix it.'),
})

const version = z.string().describe('The version of Vitrina.')

export const liveWire = z.object({ status: z.literal('ok').describe('The process responds.'), version })
export const readyWire = z.object({
  status: z.enum(['ok', 'unavailable']).describe('ok: it is ready.'),
  version,
  draining: z.boolean().describe('It is shutting down and accepts no new work.'),
  checks: z
    .object({
      database: check.describe('The meta store responds.'),
      migrations: check.describe('The meta store has every migration that this program needs.'),
    })
    .describe('Each component.'),
})
export type ReadyWire = z.infer<typeof readyWire>
