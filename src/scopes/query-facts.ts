import type { Tree } from '../guard/index.js'
import type { TableName } from '../sql/identifiers.js'

/** What the source knows about a query: all that tracing needs, read once (`readQueryFacts`). */
export interface QueryFacts {
  /** The query as the server writes it: qualified names, stars spelled out. */
  readonly text: string
  readonly statement: Tree
  readonly columns: readonly ResultColumn[]
  /** By `relationKey`: the tables and views that the query and its views name. */
  readonly relations: ReadonlyMap<string, BaseTable | View>
  /** Names of the aggregates that are called. */
  readonly aggregates: ReadonlySet<string>
  /** Those of them that add up floating-point numbers. */
  readonly floatAggregates: ReadonlySet<string>
  /** Names of the functions that return rows, with the type of their only column; null: it has no type of its own. */
  readonly setFunctions: ReadonlyMap<string, string | null>
  /** Sentences: what the server's own tree of the query shows and no key query can follow. */
  readonly obstacles: readonly string[]
  /** The oids of `relations`. */
  readonly relationIds: readonly string[]
  /** Every function and operator comes with PostgreSQL, so that none of them can be replaced by another. */
  readonly usesOnlyBuiltIns: boolean
}

export interface ResultColumn {
  readonly name: string
  /** As format_type writes it, with its schema where that is not pg_catalog. */
  readonly type: string
  /** Its equality is not PostgreSQL's own, or not that of the default collation: a scope could not be looked up with =. */
  readonly isLoose: boolean
}

export interface BaseTable {
  readonly kind: 'table'
  readonly name: TableName
  /** Under which name its changes are captured: for a partition, the partitioned table at the top. */
  readonly capturedAs: TableName
  readonly columns: ReadonlyMap<string, TableColumn>
  readonly primaryKey: readonly string[]
  readonly identity: ReplicaIdentity
  /** Whether this login may read it. A table behind a view may be closed to it. */
  readonly isReadable: boolean
  /** Inheritance, not partitioning: reading it reads its children, unless ONLY is written. */
  readonly hasChildren: boolean
  /** A sentence where its changes cannot be captured at all, such as for a foreign table. */
  readonly obstacle: string | null
}

export interface TableColumn {
  readonly name: string
  readonly type: string
  /** Quoted; null is the default of the database, or a type without collations. */
  readonly collation: string | null
  readonly isNotNull: boolean
  /** Equal values may differ in other respects: 1.0 and 1.00, or texts under a case-insensitive collation. */
  readonly isLoose: boolean
  /** Not part of what logical decoding sends by default. */
  readonly isGenerated: boolean
}

/** Which columns the WAL has of a row that is updated or deleted. */
export interface ReplicaIdentity {
  readonly kind: 'primary key' | 'index' | 'full' | 'nothing'
  readonly columns: readonly string[]
}

export interface View {
  readonly kind: 'view'
  readonly name: TableName
  readonly columns: readonly string[]
  readonly statement: Tree
}

export function relationKey({ schema, table }: TableName): string {
  return JSON.stringify([schema, table])
}

/** For sentences. */
export function nameOf({ schema, table }: TableName): string {
  return `${schema}.${table}`
}
