import { VitrinaError } from '../model/errors.js'
import { type Pipeline, transformNames } from '../model/pipeline.js'
import type { Finding, Preview } from '../model/validation.js'
import type { TransformChain, TransformHosts } from '../ports/transforms.js'
import type { Session } from '../postgres/session.js'
import { RowBatch } from '../sql/row-batch.js'
import { asRelation, type Column, columnList } from '../sql/selection.js'
import { cutValues, type FirstRows, inASnapshot, type PreviewTimeouts } from './read-first-rows.js'

/** A preview reads at most this much, however large the values are. */
const MOST_BYTES = 32 * 1024 * 1024
const NEWLINE = 0x0a

interface Opening {
  readonly hosts: TransformHosts
  readonly pipeline: Pipeline
  readonly signal: AbortSignal
  readonly timeouts: PreviewTimeouts
}

interface ReadColumns extends FirstRows {
  readonly columns: readonly Column[]
}

/** Opens the transforms of a pipeline as a run would, for the duration of `use`. Null: it has none. */
export async function withTransforms<T>(
  { hosts, pipeline, signal, timeouts: { transforms: timeoutMs } }: Opening,
  columns: readonly Column[],
  use: (chain: TransformChain | null) => Promise<T>,
): Promise<T> {
  const names = transformNames(pipeline)
  if (names.length === 0) return use(null)
  const timeout = AbortSignal.timeout(timeoutMs)
  const options = { signal: AbortSignal.any([signal, timeout]), onOutput: () => {} }
  let chain: TransformChain | null = null
  try {
    chain = await hosts.open(names, columns, options)
    return await use(chain)
  } catch (error) {
    throw timeout.aborted ? tooSlow(names, timeoutMs) : error
  } finally {
    await chain?.close()
  }
}

/** The first rows as they would be written: read as in a run, and sent through the transforms. */
export async function transformFirstRows(
  session: Session,
  canonical: string,
  { chain, ...read }: ReadColumns & { readonly chain: TransformChain },
): Promise<Preview> {
  const batch = await readBatch(session, canonical, read)
  const rows = (await chain.run(batch)).rows.slice(0, read.limit)
  // COPY writes t where a cast to text writes true; show the latter.
  const isBoolean = chain.columns.map(({ type }) => type === 'boolean')
  const readable = rows.map((row) =>
    row.map((text, n) => (isBoolean[n] && text !== null ? String(text === 't') : text)),
  )
  return { columns: chain.columns.map(({ name, type }) => ({ name, type })), ...cutValues(readable) }
}

async function readBatch(
  session: Session,
  canonical: string,
  { columns, limit, timeouts }: ReadColumns,
): Promise<RowBatch> {
  await session.run(inASnapshot(timeouts))
  const selection = `SELECT ${columnList(columns)} FROM ${asRelation(canonical)} LIMIT ${limit}`
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of session.copyOut(`COPY (${selection}) TO STDOUT`)) {
    if (length > MOST_BYTES) continue
    pieces.push(piece)
    length += piece.length
  }
  await session.run('ROLLBACK')
  const bytes = Buffer.concat(pieces)
  const lines = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
  return RowBatch.ofLines(lines, countOf(lines))
}

function countOf(lines: Buffer): number {
  let count = 0
  for (let at = lines.indexOf(NEWLINE); at >= 0; at = lines.indexOf(NEWLINE, at + 1)) count += 1
  return count
}

/** One finding for each name that is not registered, at its task; null for any other error. */
export function unknownTransforms(error: unknown, pipeline: Pipeline): Finding[] | null {
  if (!(error instanceof VitrinaError) || error.code !== 'TRANSFORM_UNKNOWN') return null
  const unknown = (error.facts.unknown ?? []) as readonly { transform: string; detail: string }[]
  return pipeline.tasks.flatMap((task, n) => {
    const found = unknown.find(({ transform }) => task.taskType === 'PYTHON' && transform === task.body)
    if (found === undefined) return []
    const { code, hint } = error
    return [{ code, message: found.detail, hint, field: `tasks.${n}.body`, position: null }]
  })
}

/** The task that an error of a transform refers to: the first one, unless the message contains its name. */
export function transformField(error: unknown, pipeline: Pipeline): string | null {
  if (!(error instanceof VitrinaError) || !error.code.startsWith('TRANSFORM_')) return null
  const named = pipeline.tasks.findIndex(
    (task) => task.taskType === 'PYTHON' && error.message.includes(`"${task.body}"`),
  )
  return `tasks.${named < 0 ? 1 : named}.body`
}

function tooSlow(names: readonly string[], timeoutMs: number): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `The transforms ${names.join(', ')} did not return the first rows within ${timeoutMs / 1000} s and were stopped.`,
    'A run allows VITRINA_TASK_TIMEOUT_SECONDS for each batch; look for a loop or a wait in the functions.',
  )
}
