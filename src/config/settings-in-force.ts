import type { SettingsTable } from './settings.js'

/** A setting as this process reads it. */
export interface SettingInForce {
  readonly name: string
  readonly means: string
  readonly source: 'environment' | 'default' | 'unset'
  /** Null: unset, or not to be shown. */
  readonly value: string | null
  readonly isSecret: boolean
}

/** Every setting of these tables. For settings that may contain a secret, only whether they are set. */
export function settingsInForce(
  tables: readonly SettingsTable[],
  environment: NodeJS.ProcessEnv,
): SettingInForce[] {
  return tables
    .flatMap((table) => Object.entries(table))
    .map(([name, { schema, means, isSecret = false }]) => {
      const given = environment[name] || undefined
      const parsed = schema.safeParse(given)
      const value = parsed.success && parsed.data !== undefined ? toText(parsed.data) : null
      const source = given === undefined ? (value === null ? 'unset' : 'default') : 'environment'
      return { name, means, source, value: isSecret ? null : value, isSecret }
    })
}

function toText(value: unknown): string {
  return [value].flat().map(String).map(withoutLogin).join(',')
}

/** An address may contain a password or a key where it does not belong. The login ends at the last @ of the host part. */
function withoutLogin(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]{0,30}:\/\/)[^/?#]*@/i, '$1')
    .replace(/^([a-z][a-z0-9+.-]{0,30}:\/\/[^?]*\?).+$/is, '$1***')
}
