import { quoteTable, readTableName, readTableRule, type TableName } from './table-name.js'

/** A kind of target besides PostgreSQL tables, as far as addresses are concerned. */
export interface TargetKind {
  readonly kind: string
  /** The prefix of its addresses: `es:`. */
  readonly prefix: string
  /** The setting with its allow-list, and its value: exact names or patterns with `*`. */
  readonly allowList: { readonly setting: string; readonly names: readonly string[] }
}

/** Where pipelines may write: configuration, never code. */
export interface TargetRules<Kind extends TargetKind = TargetKind> {
  /** Exact `schema.table` names, or `schema.*`; quoted as in SQL. */
  readonly tables: readonly string[]
  readonly kinds: readonly Kind[]
}

/** The kind of an address and the name after its prefix; null: a PostgreSQL table. */
export function kindOf<Kind extends TargetKind>(
  target: string,
  rules: TargetRules<Kind>,
): { readonly kind: Kind; readonly name: string } | null {
  const kind = rules.kinds.find(({ prefix }) => target.startsWith(prefix))
  return kind === undefined ? null : { kind, name: target.slice(kind.prefix.length) }
}

/** The only implementation of R4.12: API, validation and writers all call it. */
export function isAllowedTarget(target: string, rules: TargetRules): boolean {
  const found = kindOf(target, rules)
  if (found !== null) return found.kind.allowList.names.some((pattern) => fits(found.name, pattern))
  // Parsed on both sides: as texts without quotes, analytics."film_""dim" and analytics.film_dim would be equal.
  const name = readTableName(target)
  return name !== null && isAllowedTable(name, rules)
}

export function isAllowedTable(name: TableName, rules: Pick<TargetRules, 'tables'>): boolean {
  return rules.tables.some((text) => {
    const rule = readTableRule(text)
    return rule !== null && rule.schema === name.schema && (rule.table === null || rule.table === name.table)
  })
}

/**
 * Two addresses with the same identity are one target. The function etl.target_identity does the same in the
 * database, and a test compares the two.
 */
export function targetIdentity(target: string, connection: string | null): string {
  const name = readTableName(target)
  return `${connection?.toLowerCase() ?? ''}|${name === null ? target.trim() : quoteTable(name)}`
}

/** What may be written instead of this target, and the setting that allows it. */
export function allowedInstead(
  target: string,
  rules: TargetRules,
): { readonly setting: string; readonly names: readonly string[] } {
  const found = kindOf(target, rules)
  if (found === null) return { setting: 'ALLOWED_TARGET_TABLES', names: rules.tables }
  const { prefix, allowList } = found.kind
  return { setting: allowList.setting, names: allowList.names.map((name) => prefix + name) }
}

function fits(name: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(name)
}

/** The schemas that contain allowed tables: `analytics` for `analytics.*` and for `analytics.film_dim`. */
export function targetSchemas(rules: Pick<TargetRules, 'tables'>): string[] {
  return [...new Set(rules.tables.flatMap((rule) => readTableRule(rule)?.schema ?? []))]
}
