import type { GuardSession } from '../ports/query-guard.js'
import { type CatalogMark, markCatalogs } from '../postgres/catalog-mark.js'
import type { Reach } from './reach.js'

/**
 * Null where a verdict depends on more than relations, keys and enums: a domain runs the functions of its CHECK, and a mark
 * that covers all of that would cost as much as a new check. Read in the transaction of the view, whose locks keep the
 * tables unchanged until then.
 */
export async function markOf(session: GuardSession, reach: Reach): Promise<CatalogMark | null> {
  const isKnown = ({ catalog, type_kind }: Reach['objects'][number]) =>
    catalog === 'pg_constraint' || (catalog === 'pg_type' && type_kind === 'e')
  if (!reach.objects.every(isKnown)) return null
  const oids = (wanted: string) =>
    reach.objects.filter(({ catalog }) => catalog === wanted).map(({ oid }) => oid)
  return markCatalogs(session, {
    relations: reach.relations.map(({ oid }) => oid),
    types: oids('pg_type'),
    constraints: oids('pg_constraint'),
  })
}
