/** What a run did: nothing, some scopes, or every row and why. */
export function wayOf(found, rows) {
  if (rows === null) return 'nothing'
  if (rows.scopes !== null) return 'scopes'
  return `full: ${found.full ?? 'not traced, or cheaper'}`
}

/** Inside the transaction of the rows, so that what a runner did that lost its lease is not recorded. */
export async function probe({ source, session, claim, examined }, way) {
  const columns = examined.columns.map(({ name }) => `"${name}"`).join(', ')
  const all = (from) =>
    `SELECT count(*)::text || ' ' || md5(coalesce(string_agg(r::text, E'\\n' ORDER BY r::text COLLATE "C"), '')) AS rows FROM (SELECT ${columns} FROM ${from}) r`
  let compared = [null, null]
  if (source !== session) {
    const inMart = (await session.rows(all(claim.pipeline.targetTable)))[0].rows
    const inSource = (await source.rows(all(`(${examined.query}) q`)))[0].rows
    if ((await source.rows(HAS_MOVED))[0].moved === 'f') compared = [inMart, inSource]
  }
  await session.rows(
    'INSERT INTO public.probes (pipeline, run, way, mart, source) VALUES ($1, $2, $3, $4, $5)',
    [claim.pipeline.name, claim.runId, way, ...compared],
  )
}

/**
 * Snapshots do not protect against TRUNCATE, ATTACH and DETACH: statements see them at once. Then the query means something
 * else than it did when the run computed its rows, and the next run finds another structure and computes all of them.
 */
const HAS_MOVED = `
  SELECT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = 'lab'::regnamespace AND c.relkind = 'r'
                    AND pg_relation_filenode(c.oid) IS DISTINCT FROM c.relfilenode)
      OR (SELECT count(*) FROM pg_partition_tree('lab.visit')) <> (SELECT 1 + count(*) FROM pg_inherits WHERE inhparent = 'lab.visit'::regclass) AS moved`
