import { createHash } from 'node:crypto'
import type { CatalogMark } from '../../postgres/catalog-mark.js'
import type { Session } from '../../postgres/session.js'
import {
  type BaseTable,
  type FollowedColumn,
  followedColumns,
  KeptFacts,
  type QueryFacts,
  type ScopeTrace,
  traceScopes,
} from '../../scopes/index.js'
import type { TableName } from '../../sql/identifiers.js'

/** How changes of the source are followed to rows of the mart. */
export interface QueryTrace {
  readonly trace: ScopeTrace
  readonly tables: readonly CapturedTable[]
  /** Those that this login may not read itself, because they are behind a view. */
  readonly hiddenTables: readonly TableName[]
  /** Why the rows may differ although no table has changed, such as because of now(); null: they cannot. */
  readonly alwaysFull: string | null
  /** For `capture: key`: the columns of base tables that show that a row is new; null: the query does not show them. */
  readonly followed: readonly FollowedColumn[] | null
  /** Of the query with its views, as the server writes them, and of the key: changes with any of them. */
  readonly fingerprint: string
  /** Of the catalogs behind it; null: it depends on more than relations. */
  readonly mark: CatalogMark | null
}

export interface CapturedTable {
  readonly name: TableName
  /** For a partition, the partitioned table at the top. */
  readonly capturedAs: TableName
}

export interface TracedKeys {
  /** The key of the mart. */
  readonly key: readonly string[]
  /** The columns of `incremental_key`. */
  readonly modified: readonly string[]
}

/** Of this process: a pipeline that runs every minute is read once. */
const KEPT = new KeptFacts()

async function databaseOf(source: Session): Promise<string> {
  const { name } = await source.row<{ name: string }>(
    "SELECT concat_ws('/', current_user, current_database(), (SELECT oid FROM pg_database WHERE datname = current_database()), inet_server_addr(), inet_server_port()) AS name",
  )
  return name
}

/** The session must not have a transaction open. */
export async function traceQuery(
  source: Session,
  query: string,
  { key, modified }: TracedKeys,
): Promise<QueryTrace> {
  const { facts, mark } = await KEPT.read(source, query, await databaseOf(source))
  const baseTables = [...facts.relations.values()].filter((each) => each.kind === 'table')
  return {
    trace: traceScopes(facts, key),
    tables: baseTables.map(({ name, capturedAs }) => ({ name, capturedAs })),
    hiddenTables: baseTables.filter(({ isReadable }) => !isReadable).map(({ name }) => name),
    alwaysFull: alwaysFull(facts, baseTables),
    followed: modified.length === 0 ? null : followedColumns(facts, modified),
    fingerprint: fingerprintOf(facts, key),
    mark,
  }
}

function alwaysFull({ obstacles }: QueryFacts, tables: readonly BaseTable[]): string | null {
  return [...obstacles, ...tables.flatMap(({ obstacle }) => obstacle ?? [])][0] ?? null
}

function fingerprintOf({ text, relations }: QueryFacts, key: readonly string[]): string {
  const views = [...relations.values()].filter((each) => each.kind === 'view')
  return createHash('sha256')
    .update(JSON.stringify([text, key, views]))
    .digest('hex')
    .slice(0, 16)
}
