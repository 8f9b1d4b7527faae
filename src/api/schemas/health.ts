import { z } from 'zod'

const check = z.object({
  status: z.enum(['ok', 'down', 'unknown']),
  code: z.string().optional(),
  detail: z.string().optional(),
  hint: z.string().optional(),
})

export const liveWire = z.object({ status: z.literal('ok'), version: z.string() })
export const readyWire = z.object({
  status: z.enum(['ok', 'unavailable']),
  version: z.string(),
  checks: z.object({ database: check, migrations: check }),
})
export type ReadyWire = z.infer<typeof readyWire>
