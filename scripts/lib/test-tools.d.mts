export type Missing = { readonly missing: string }

/** What each tool consists of. */
export interface Tools {
  readonly elasticsearch: {
    readonly folder: string
    /** The home of Java. */
    readonly java: string
    /** Whether this build can: it takes a plugin, which takes a Java compiler. */
    readonly makesApiKeys: boolean
  }
  readonly clickhouse: { readonly folder: string }
  readonly python: { readonly python: string; readonly weed: string }
}

/** What `npm test` installed before the first test, or why it is not there. */
export function findTool<Key extends keyof Tools>(key: Key): Promise<Tools[Key] | Missing>
