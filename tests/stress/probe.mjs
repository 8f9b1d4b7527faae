/** What a run did: nothing, some scopes, or every row and why. */
export function wayOf(found, rows) {
  if (rows === null) return 'nothing'
  if (rows.scopes !== null) return 'scopes'
  return `full: ${found.full ?? 'not traced, or cheaper'}`
}

/** Inside the transaction of the rows, so that what a runner did that lost its lease is not recorded. */
export async function probe({ source, session, claim, examined }, way) {
  const isOneSession = source === session
  const columns = examined.columns.map(({ name }) => `"${name}"`).join(', ')
  const all = (from) =>
    `SELECT count(*)::text || ' ' || md5(coalesce(string_agg(r::text, E'\\n' ORDER BY r::text COLLATE "C"), '')) AS rows FROM (SELECT ${columns} FROM ${from}) r`
  const inMart = isOneSession ? null : (await session.rows(all(claim.pipeline.targetTable)))[0].rows
  const inSource = isOneSession ? null : (await source.rows(all(`(${examined.query}) q`)))[0].rows
  await session.rows(
    'INSERT INTO public.probes (pipeline, run, way, mart, source) VALUES ($1, $2, $3, $4, $5)',
    [claim.pipeline.name, claim.runId, way, inMart, inSource],
  )
}
