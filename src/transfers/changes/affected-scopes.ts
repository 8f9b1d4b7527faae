import { onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import {
  type Image,
  type ImageParameter,
  type KeyQuery,
  keyQueryCost,
  keyQueryValues,
  relationKey,
  type Traced,
} from '../../scopes/index.js'
import type { FoundChanges, TableChanges } from './change-source.js'

/** The scopes whose rows may have changed. */
export interface AffectedScopes {
  /** One array for each scope column; all have the same length. */
  readonly scopes: readonly (readonly string[])[]
  /** How many images they come from. */
  readonly entries: number
  readonly keyQueryCost: number
  /** The statements that named them. */
  readonly keyQueries: string
}

const NOTHING: TableChanges = { changed: [], old: [] }

/** Runs the key queries of every changed table, in the snapshot of the run. A sentence: why every row has to be computed. */
export async function affectedScopes(
  source: Session,
  trace: Traced,
  { tables }: Pick<FoundChanges, 'tables'>,
): Promise<AffectedScopes | string> {
  const keyQueries: KeyQuery[] = []
  for (const { capturedAs, occurrences } of trace.tables) {
    if (!tables.has(relationKey(capturedAs))) continue
    for (const each of occurrences) {
      if (!each.traced) return each.reason
      keyQueries.push(each.keyQuery)
    }
  }
  const found = new Map<string, readonly string[]>()
  let cost = 0
  for (const keyQuery of keyQueries) {
    const unknown = keyQuery.parameters.find((parameter) => isUnknown(parameter, tables))
    if (unknown !== undefined) return whyUnknown(unknown)
    const values = keyQueryValues(keyQuery, (parameter) => imagesOf(parameter, tables))
    const run = keyQuery.mayFail ? runIfPossible : runKeyQuery
    const named = await onSide('source', 'Searching for the rows that a change affects', () =>
      run(source, keyQuery, values),
    )
    if (named === null) return 'A key column cannot be computed for a row that changed.'
    cost += named.cost
    for (const scope of named.scopes) found.set(JSON.stringify(scope), scope)
  }
  const all = [...found.values()]
  return {
    scopes: trace.scope.map((_, place) => all.map((scope) => scope[place]!)),
    entries: [...tables.values()].reduce((sum, { changed }) => sum + changed.length, 0),
    keyQueryCost: cost,
    keyQueries: keyQueries.map(({ text }) => text).join('\n'),
  }
}

function imagesOf({ capturedAs, images }: ImageParameter, tables: FoundChanges['tables']): readonly Image[] {
  const { changed, old } = tables.get(relationKey(capturedAs)) ?? NOTHING
  return images === 'old' ? old : changed
}

/** A column that an image lacks is unknown, which is not the same as NULL. */
function isUnknown(parameter: ImageParameter, tables: FoundChanges['tables']): boolean {
  return imagesOf(parameter, tables).some((image) => !(parameter.column in image))
}

function whyUnknown({ table, column }: ImageParameter): string {
  return `The value of ${table.schema}.${table.table}.${column} before a change is not known: the replica identity of the table does not include it.`
}

interface NamedScopes {
  readonly scopes: readonly (readonly string[])[]
  readonly cost: number
}

type Values = readonly (readonly (string | null)[])[]

/** The transaction has to survive an error, which means that the scopes are not known. */
async function runIfPossible(
  source: Session,
  keyQuery: KeyQuery,
  values: Values,
): Promise<NamedScopes | null> {
  await source.run('SAVEPOINT key_query')
  try {
    const named = await runKeyQuery(source, keyQuery, values)
    await source.run('RELEASE key_query')
    return named
  } catch {
    await source.run('ROLLBACK TO key_query')
    return null
  }
}

async function runKeyQuery(source: Session, keyQuery: KeyQuery, values: Values): Promise<NamedScopes> {
  const cost = await keyQueryCost(source, keyQuery, values)
  const rows = await source.rows(keyQuery.text, values)
  return { scopes: rows.map((row) => Object.values(row) as string[]), cost }
}
