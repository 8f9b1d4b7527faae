import { failpoint } from '../../model/failpoints.js'
import { databaseError, type Side } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { RowBatch } from '../../sql/row-batch.js'

const NEWLINE = 0x0a

/** The rows of a selection as COPY text, streamed. Must be read to the end, or the session is lost. */
export async function* linesOf(
  source: Session,
  selection: string,
  side: Side = 'source',
): AsyncGenerator<Buffer> {
  const endTurn = await source.turn()
  try {
    for await (const chunk of source.copyOut(`COPY (${selection}) TO STDOUT`)) yield chunk as Buffer
  } catch (error) {
    throw databaseError(error, `Reading the ${side}`, side)
  } finally {
    endTurn()
  }
  failpoint('pass.collected')
}

/** All rows at once: for selections of bounded size. */
export async function readLines(source: Session, selection: string, side?: Side): Promise<RowBatch> {
  const chunks: Buffer[] = []
  for await (const chunk of linesOf(source, selection, side)) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  return RowBatch.ofLines(bytes, countLines(bytes))
}

/** The same if they are not larger than this. Otherwise they are read to the end, and only counted. */
export async function readLinesUpTo(
  source: Session,
  selection: string,
  mostBytes: number,
): Promise<{ rows: RowBatch | null; count: number; bytes: number }> {
  let chunks: Buffer[] = []
  let [count, bytes] = [0, 0]
  for await (const chunk of linesOf(source, selection)) {
    count += countLines(chunk)
    bytes += chunk.length
    if (bytes > mostBytes) chunks = []
    else chunks.push(chunk)
  }
  const rows = bytes > mostBytes ? null : RowBatch.ofLines(Buffer.concat(chunks), count)
  return { rows, count, bytes }
}

/** In portions of whole rows, for selections of any size. */
export async function* readPortions(
  source: Session,
  selection: string,
  side?: Side,
): AsyncGenerator<RowBatch> {
  let rest: Buffer[] = []
  for await (const chunk of linesOf(source, selection, side)) {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end === 0) {
      rest.push(chunk)
      continue
    }
    const bytes = Buffer.concat([...rest, chunk.subarray(0, end)])
    rest = [chunk.subarray(end)]
    yield RowBatch.ofLines(bytes, countLines(bytes))
  }
}

/** A newline inside a value is escaped, so each one ends a row. */
function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return count
}
