import type { GuardSession } from '../ports/query-guard.js'
import type { TextRow } from '../postgres/session.js'
import type { GuardColumn } from './verdict.js'

/** The temporary view that a check makes of a query; it is never visible to other sessions. */
export const GUARD_VIEW = 'vitrina_guard'

/**
 * Four times the text of an author. The server writes every star out, and 4,000 times EXISTS (SELECT * FROM w), with a
 * WITH query w of 1,600 columns, became 57 MB, which no parser reads in the memory of a container.
 */
const MOST_CANONICAL = 1024 * 1024

/** What the guard needs of a session. It must be allowed to make a temporary view, which is rolled back. */
export type ClosableGuardSession = GuardSession & { close(): Promise<void> }

/** A table, view or partition that the query depends on. `via` is null for relations named by the query itself. */
export interface ReachedRelation extends TextRow {
  oid: string
  schema: string
  name: string
  /** pg_class.relkind */
  kind: string
  via: string | null
  /** pg_class.relkind of `via`. */
  via_kind: string | null
  /** Whether this login may read the columns in use. */
  readable: string
}

/** A function, operator, type or similar: not a relation, and not pinned, that is, not built in. */
export interface ReachedObject extends TextRow {
  oid: string
  catalog: string
  identity: string
  schema: string | null
  /** pg_type.typtype, for a type. */
  type_kind: string | null
  via: string | null
}

/** SQL that a view or a domain would run. */
export interface HiddenText extends TextRow {
  owner: string
  text: string
}

export interface Reach {
  /** Null: it is longer than MOST_CANONICAL. */
  readonly canonical: string | null
  readonly columns: readonly GuardColumn[]
  readonly relations: readonly ReachedRelation[]
  readonly objects: readonly ReachedObject[]
  readonly hidden: readonly HiddenText[]
}

/** Reads the dependencies of the view in this session's transaction. The search_path must be empty, so that names include their schema. */
export async function reachOfView(session: GuardSession): Promise<Reach> {
  const rows = await session.rows(COLUMNS)
  const direct = await session.rows<Direct>(DIRECT)
  // Most queries name only plain tables. Planning the two longer queries takes 3 of 8 ms, so they run only if needed.
  const leadsOn = direct.some(({ leads_on }) => leads_on === 'true')
  const relations = leadsOn ? await session.rows<ReachedRelation>(RELATIONS) : direct.filter(isRelation)
  const views = relations.filter(({ kind }) => kind === 'v' || kind === 'm').map(({ oid }) => oid)
  const text = rows[0]?.text ?? ''
  const plain = views.length === 0 && direct.every(isRelation)
  return {
    canonical: text.length > MOST_CANONICAL ? null : text.trim().replace(/;$/, ''),
    columns: rows.map((row) => ({ name: row.name!, type: row.type!, typeOid: Number(row.type_oid) })),
    relations,
    ...(plain ? { objects: [], hidden: [] } : await objectsOf(session, views)),
  }
}

function isRelation({ name }: Direct): boolean {
  return name !== null
}

async function objectsOf(
  session: GuardSession,
  views: readonly string[],
): Promise<Pick<Reach, 'objects' | 'hidden'>> {
  const objects = await session.rows<ReachedObject>(OBJECTS, [views])
  const types = objects.filter(({ catalog }) => catalog === 'pg_type').map(({ oid }) => oid)
  const checks = types.length === 0 ? [] : await session.rows<ReachedObject>(CHECK_ROUTINES, [types])
  const hidden =
    views.length + types.length === 0 ? [] : await session.rows<HiddenText>(HIDDEN, [views, types])
  return { objects: [...objects, ...checks], hidden }
}

const COLUMNS = `
SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type, a.atttypid AS type_oid,
       CASE WHEN a.attnum = 1 THEN pg_catalog.left(pg_catalog.pg_get_viewdef(a.attrelid), ${MOST_CANONICAL + 1}) END AS text
  FROM pg_catalog.pg_attribute a
 WHERE a.attrelid = 'pg_temp.${GUARD_VIEW}'::pg_catalog.regclass AND a.attnum > 0
 ORDER BY a.attnum`

/** Direct dependencies of the query; name is null for anything but a relation. */
interface Direct extends ReachedRelation {
  leads_on: string | null
}

const DIRECT = `
SELECT d.refobjid AS oid, n.nspname AS schema, c.relname AS name, c.relkind::text AS kind, NULL AS via, NULL AS via_kind,
       (c.relkind NOT IN ('r', 'c') OR c.relhassubclass)::text AS leads_on,
       bool_and(CASE d.refobjsubid WHEN 0 THEN pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
                ELSE pg_catalog.has_column_privilege(c.oid, d.refobjsubid::pg_catalog.int2, 'SELECT') END)::text AS readable
  FROM pg_catalog.pg_rewrite w
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
  LEFT JOIN pg_catalog.pg_class c ON d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.refobjid
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE w.ev_class = 'pg_temp.${GUARD_VIEW}'::pg_catalog.regclass
   AND (d.refclassid, d.refobjid) <> ('pg_catalog.pg_class'::pg_catalog.regclass, w.ev_class)
 GROUP BY d.refclassid, d.refobjid, n.nspname, c.relname, c.relkind, c.relhassubclass`

/** Follows view rules, and partitions and children: reading a parent reads them. */
const RELATIONS = `
WITH RECURSIVE edge(oid, via) AS (
  SELECT 'pg_temp.${GUARD_VIEW}'::pg_catalog.regclass::pg_catalog.oid, NULL::pg_catalog.oid
  UNION
  SELECT next.oid, e.oid FROM edge e CROSS JOIN LATERAL (
    SELECT d.refobjid
      FROM pg_catalog.pg_rewrite w
      JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
     WHERE w.ev_class = e.oid AND w.ev_type = '1' AND d.refobjid <> e.oid
       AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
     UNION ALL
    SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = e.oid) AS next(oid)
)
SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind::text AS kind,
       CASE WHEN e.via <> 'pg_temp.${GUARD_VIEW}'::pg_catalog.regclass THEN vn.nspname || '.' || v.relname END AS via,
       v.relkind::text AS via_kind,
       pg_catalog.has_any_column_privilege(c.oid, 'SELECT')::text AS readable
  FROM edge e
  JOIN pg_catalog.pg_class c ON c.oid = e.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class v ON v.oid = e.via JOIN pg_catalog.pg_namespace vn ON vn.oid = v.relnamespace
 ORDER BY via NULLS FIRST, schema, name`

const OBJECTS = `
SELECT DISTINCT d.refobjid AS oid, c.relname AS catalog, i.identity, i.schema, t.typtype::text AS type_kind,
       CASE WHEN v.oid <> 'pg_temp.${GUARD_VIEW}'::pg_catalog.regclass THEN vn.nspname || '.' || v.relname END AS via
  FROM pg_catalog.pg_rewrite w
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
  JOIN pg_catalog.pg_class c ON c.oid = d.refclassid AND c.relname <> 'pg_class'
  JOIN pg_catalog.pg_class v ON v.oid = w.ev_class JOIN pg_catalog.pg_namespace vn ON vn.oid = v.relnamespace
  LEFT JOIN pg_catalog.pg_type t ON c.relname = 'pg_type' AND t.oid = d.refobjid
 CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.refclassid, d.refobjid, 0) i
 WHERE w.ev_class = 'pg_temp.${GUARD_VIEW}'::pg_catalog.regclass OR w.ev_class = ANY ($1::pg_catalog.oid[])`

/** A domain may be based on a domain, and a type be an array of them: a cast runs the CHECK of each. */
const DOMAINS = (parameter: string) => `
WITH RECURSIVE domain(oid) AS (
  SELECT pg_catalog.unnest(${parameter}::pg_catalog.oid[])
  UNION
  SELECT next.oid
    FROM domain d JOIN pg_catalog.pg_type t ON t.oid = d.oid
   CROSS JOIN LATERAL (
     SELECT t.typbasetype UNION ALL SELECT t.typelem
      UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0) AS next(oid)
   WHERE next.oid <> 0
), rule AS (
  SELECT c.oid, c.conbin, n.nspname || '.' || t.typname AS owner
    FROM domain d JOIN pg_catalog.pg_type t ON t.oid = d.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    JOIN pg_catalog.pg_constraint c ON c.contypid = t.oid
   WHERE c.conbin IS NOT NULL
)`

const CHECK_ROUTINES = `${DOMAINS('$1')}
SELECT d.refobjid AS oid, c.relname AS catalog, i.identity, i.schema, NULL AS type_kind, rule.owner AS via
  FROM rule
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = rule.oid
  JOIN pg_catalog.pg_class c ON c.oid = d.refclassid AND c.relname IN ('pg_proc', 'pg_operator')
 CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.refclassid, d.refobjid, 0) i`

const HIDDEN = `${DOMAINS('$2')}
SELECT n.nspname || '.' || c.relname AS owner, pg_catalog.pg_get_viewdef(c.oid) AS text
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = ANY ($1::pg_catalog.oid[])
UNION ALL
SELECT owner, 'SELECT ' || pg_catalog.pg_get_expr(conbin, 0) FROM rule`
