/** A kind of target besides PostgreSQL's tables, as far as addresses are concerned. */
export interface TargetKind {
  readonly kind: string
  /** How its addresses begin: `es:`. */
  readonly prefix: string
  /** The setting with its allow-list, and what it holds: exact names or patterns with `*`. */
  readonly allowList: { readonly setting: string; readonly names: readonly string[] }
}

/** Where pipelines may write: configuration, never code. */
export interface TargetRules<Kind extends TargetKind = TargetKind> {
  /** Exact `schema.table` names, or `schema.*`. */
  readonly tables: readonly string[]
  readonly kinds: readonly Kind[]
}

/** The kind that an address belongs to and the name after its prefix; null: a table of PostgreSQL. */
export function kindOf<Kind extends TargetKind>(
  target: string,
  rules: TargetRules<Kind>,
): { readonly kind: Kind; readonly name: string } | null {
  const kind = rules.kinds.find(({ prefix }) => target.startsWith(prefix))
  return kind === undefined ? null : { kind, name: target.slice(kind.prefix.length) }
}

/** The one rule of R4.12: API, validation and writers all ask here. */
export function isAllowedTarget(target: string, rules: TargetRules): boolean {
  const found = kindOf(target, rules)
  if (found !== null) return found.kind.allowList.names.some((pattern) => fits(found.name, pattern))
  const plain = target.replaceAll('"', '')
  return rules.tables.some((rule) =>
    rule.endsWith('.*')
      ? plain.startsWith(rule.slice(0, -1)) && plain.split('.').length === 2
      : rule === plain,
  )
}

/** What may be written instead of this target, and the setting that says so. */
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

/** The schemas that hold allowed tables: `analytics` for `analytics.*` and for `analytics.film_dim`. */
export function targetSchemas(rules: Pick<TargetRules, 'tables'>): string[] {
  return [...new Set(rules.tables.map((rule) => rule.slice(0, rule.lastIndexOf('.'))))]
}
