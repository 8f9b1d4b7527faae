import { createHash } from 'node:crypto'
import { z } from 'zod'
import { VitrinaError } from '../../model/errors.js'
import type { BatchId } from '../../ports/sink.js'
import type { Bucket, WriteCondition } from './client.js'
import type { FileKeyRange } from './key-spans.js'
import { MANIFEST, partitionOf } from './layout.js'

const file = z.object({
  /** Below the prefix of the mart. */
  path: z.string(),
  rows: z.number().int().nonnegative(),
  bytes: z.number().int().nonnegative(),
  sha256: z.string(),
  /** The value of the partition column, as PostgreSQL writes it; absent in marts without partitions. */
  partition: z.string().nullable().optional(),
  /** Range of the first key column; absent if unknown. Files that cannot contain a new key are not read again. */
  range: z.object({ least: z.string(), greatest: z.string() }).optional(),
})

const manifest = z.object({
  format: z.literal('vitrina-manifest'),
  version: z.literal(1),
  /** Base of the paths: s3://bucket/prefix/ */
  location: z.string(),
  /** Version number of this manifest. */
  sequence: z.number().int().positive(),
  published_at: z.string(),
  rows: z.number().int().nonnegative(),
  key: z.array(z.string()),
  partition_by: z.string().nullable(),
  columns: z.array(z.object({ name: z.string(), type: z.string(), stored: z.string() })),
  files: z.array(file),
  /** No longer part of the mart, kept for a while for readers of an older manifest. */
  retired: z.array(z.object({ path: z.string(), at: z.string() })),
  /** The last publication of each pipeline. A holder with a smaller fence is stale. */
  writers: z.record(
    z.string(),
    z.object({ run: z.string(), fence: z.number(), published: z.string(), deleted: z.number() }),
  ),
})

export type FileEntry = Readonly<z.output<typeof file>>
export type Manifest = z.output<typeof manifest>

/** The manifest of one mart, and the version that was read. */
export interface ReadManifest {
  readonly manifest: Manifest
  readonly etag: string
}

export async function readManifest(bucket: Bucket, prefix: string): Promise<ReadManifest | null> {
  const object = await bucket.get(prefix + MANIFEST)
  if (object === null) return null
  return { manifest: parse(object.bytes, prefix), etag: object.etag }
}

/** Returns false if another session published meanwhile. */
export function writeManifest(
  { bucket, prefix }: { readonly bucket: Bucket; readonly prefix: string },
  next: Manifest,
  seen: ReadManifest | null,
): Promise<boolean> {
  const condition: WriteCondition = seen === null ? 'absent' : { etag: seen.etag }
  const body = Buffer.from(`${JSON.stringify(next, null, 1)}\n`)
  return bucket.putIf({ key: prefix + MANIFEST, body, type: 'application/json' }, condition)
}

function parse(bytes: Buffer, prefix: string): Manifest {
  const parsed = manifest.safeParse(json(bytes))
  if (parsed.success) return parsed.data
  throw new VitrinaError(
    'SINK_REFUSED',
    `${prefix}${MANIFEST} is not a manifest of this version: ${z.prettifyError(parsed.error)}`,
    'Choose another prefix, or remove the object and run the pipeline in full.',
  )
}

function json(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
}

/** Invariant 4: a holder that was overtaken publishes nothing. */
export function requireHolder(seen: ReadManifest | null, id: BatchId): void {
  const last = seen?.manifest.writers[id.pipelineId]
  if (last === undefined || last.fence <= id.fence) return
  throw new VitrinaError(
    'LEASE_LOST',
    `Another runner published the mart meanwhile (fence ${last.fence}, ours is ${id.fence}).`,
    'No action needed: the other runner continues.',
  )
}

/** A mark that is kept until publication: the file and its future entry in the manifest. */
export function fileMark({ path, rows, bytes, sha256, range }: FileEntry): string {
  const facts = new URLSearchParams({ rows: String(rows), bytes: String(bytes), sha256, ...range })
  return `${path}?${facts}`
}

export type MarkedStep =
  | { readonly kind: 'rows'; readonly file: FileEntry }
  | { readonly kind: 'removal'; readonly path: string }

export function stepOf(mark: string): MarkedStep {
  if (/^removed\/.+\.json$/.test(mark)) return { kind: 'removal', path: mark }
  const [path = '', query = ''] = mark.split('?')
  const facts = new URLSearchParams(query)
  const [rows, bytes, sha256] = [Number(facts.get('rows')), Number(facts.get('bytes')), facts.get('sha256')]
  if (!path.startsWith('data/') || !(rows > 0) || !(bytes > 0) || sha256 === null) throw strangeMark(mark)
  const [least, greatest] = [facts.get('least'), facts.get('greatest')]
  const range = least === null || greatest === null ? null : { least, greatest }
  return { kind: 'rows', file: entryOf({ path, rows, bytes, sha256 }, range) }
}

function strangeMark(mark: string): VitrinaError {
  return new VitrinaError(
    'SINK_GONE',
    `The checkpoint contains an invalid file entry: ${mark.slice(0, 200)}`,
    'Reset the pipeline and run it in full.',
  )
}

export function entryOf(file: FileEntry, range: FileKeyRange | null): FileEntry {
  const partition = partitionOf(file.path)
  return { ...file, ...(partition === undefined ? {} : { partition }), ...(range === null ? {} : { range }) }
}

export function digestOfMarks(kind: 'append' | 'replace', id: BatchId, marks: readonly string[]): string {
  return createHash('sha256')
    .update([kind, id.runId, ...marks].join('\n'))
    .digest('hex')
}
