import { VitrinaError } from '../../model/errors.js'
import type { RunRequest } from '../../ports/run-control.js'
import type { Queryable } from '../database.js'

/**
 * The run of an earlier request with this key; null if this is the first. Of several concurrent requests, one inserts
 * the key, and the others wait here until it is committed, then find it.
 */
export async function repeated(
  session: Queryable,
  { author, idempotency }: RunRequest,
): Promise<string | null> {
  if (idempotency === undefined) return null
  const { key, fingerprint } = idempotency
  const first = await session.query(
    `INSERT INTO etl.etl_idempotency AS i (actor, key, fingerprint) VALUES ($1, $2, $3)
     ON CONFLICT (actor, key) DO UPDATE SET fingerprint = excluded.fingerprint, run_id = NULL, at = excluded.at
      WHERE i.at < clock_timestamp() - interval '24 hours' OR i.run_id IS NULL RETURNING key`,
    [author.id, key, fingerprint],
  )
  if (first.length === 1) return null
  const [known] = await session.query<{ fingerprint: string; run_id: string }>(
    'SELECT fingerprint, run_id FROM etl.etl_idempotency WHERE actor = $1 AND key = $2',
    [author.id, key],
  )
  if (known?.fingerprint === fingerprint) return known.run_id
  throw new VitrinaError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was used for another request within the last 24 hours.',
    'Use a new key for each request; repeat a key only with an identical request.',
  )
}

/** In the transaction of the request: a rejected request does not use up its key. `wave`: all runs of it. */
export async function remember(
  session: Queryable,
  { author, idempotency }: RunRequest,
  { runId, wave = null }: { readonly runId: string; readonly wave?: readonly string[] | null },
): Promise<void> {
  if (idempotency === undefined) return
  await session.query('UPDATE etl.etl_idempotency SET run_id = $3, runs = $4 WHERE actor = $1 AND key = $2', [
    author.id,
    idempotency.key,
    runId,
    wave,
  ])
}

/** The runs of the wave that a request with this key had requested. */
export async function rememberedWave(
  session: Queryable,
  { author, idempotency }: RunRequest,
): Promise<readonly string[]> {
  const [row] = await session.query<{ runs: string[] | null }>(
    'SELECT runs FROM etl.etl_idempotency WHERE actor = $1 AND key = $2',
    [author.id, idempotency?.key],
  )
  return row?.runs ?? []
}
