import { z } from 'zod'
import type { SettingInForce } from '../../config/settings-in-force.js'

export const aboutWire = z.object({
  version: z.string().describe('The version of Vitrina.'),
  node: z.string().describe('The version of Node.js.'),
  platform: z.string().describe('Operating system and processor.'),
  host: z.string().describe('The host name.'),
  pid: z.number().describe('The process id.'),
  started_at: z.string().describe('When the API was started.'),
  uptime_seconds: z.number().describe('How long it has been running.'),
  database: z
    .object({
      version: z.string().describe('The version of PostgreSQL.'),
      migrations: z
        .array(
          z.object({
            name: z.string().describe('The number and name.'),
            applied_at: z.string().describe('When it was applied.'),
          }),
        )
        .describe('In the order of their numbers.'),
    })
    .describe('The meta store.'),
})
export type AboutWire = z.infer<typeof aboutWire>

export const settingsWire = z.object({
  items: z
    .array(
      z.object({
        name: z.string().describe('The environment variable.'),
        means: z.string().describe('What it is for.'),
        source: z.enum(['environment', 'default', 'unset']).describe('Where the value comes from.'),
        value: z.string().nullable().describe('The value; null: unset, or a secret.'),
        is_secret: z.boolean().describe('It may contain a secret, so its value is never shown.'),
      }),
    )
    .describe('As the API reads them; runners have their own environment.'),
})

export function settingsToWire(settings: readonly SettingInForce[]): z.infer<typeof settingsWire> {
  return {
    items: settings.map(({ name, means, source, value, isSecret }) => ({
      name,
      means,
      source,
      value,
      is_secret: isSecret,
    })),
  }
}
