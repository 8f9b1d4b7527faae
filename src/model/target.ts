/** Where pipelines may write: configuration, never code. */
export interface TargetRules {
  /** Exact `schema.table` names, or `schema.*`. */
  readonly tables: readonly string[]
}

/** The one rule of R4.12: API, validation and writers all ask here. */
export function isAllowedTarget(target: string, rules: TargetRules): boolean {
  const plain = target.replaceAll('"', '')
  return rules.tables.some((rule) =>
    rule.endsWith('.*')
      ? plain.startsWith(rule.slice(0, -1)) && plain.split('.').length === 2
      : rule === plain,
  )
}

/** The schemas that hold allowed tables: `analytics` for `analytics.*` and for `analytics.film_dim`. */
export function targetSchemas(rules: TargetRules): string[] {
  return [...new Set(rules.tables.map((rule) => rule.slice(0, rule.lastIndexOf('.'))))]
}
