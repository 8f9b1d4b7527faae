import { z } from 'zod'
import { VitrinaError } from '../../model/errors.js'
import type { TextValues } from '../../sql/copy-text.js'
import { DeadRows, DigestSet, digestOfTexts } from './digests.js'
import type { FileEntry, Step } from './manifest.js'
import type { MartContext, MartFiles } from './mart-files.js'

/** Digests that are held at once: 64 MB. More keys than that are looked at in several rounds. */
const KEYS_AT_ONCE = 2_000_000

/** Which rows count when these steps are done, one after another, on these files. */
export interface Resolution {
  /** Files of the steps and older ones, whether or not a row of them counts. */
  readonly files: readonly FileEntry[]
  /** Rows that a later step wrote again or removed, by path. */
  readonly dead: ReadonlyMap<string, DeadRows>
  /** Rows of older files whose key no step names. */
  readonly untouched: number
}

/**
 * Goes through the steps from the last to the first: the first time that a key is met is the one that counts, and every
 * row with this key that comes after, in an earlier step or an older file, is dead. The same steps give the same answer
 * even when some of them were published before.
 */
export async function resolve(
  mart: MartContext,
  files: MartFiles,
  steps: readonly Step[],
  older: readonly FileEntry[],
): Promise<Resolution> {
  const written = steps.flatMap((step) => (step.kind === 'rows' ? [step.file] : []))
  const paths = new Set(written.map(({ path }) => path))
  const before = older.filter(({ path }) => !paths.has(path))
  const all = [...before, ...new Map(written.map((file) => [file.path, file])).values()]
  const dead = new Map(all.map((file) => [file.path, new DeadRows(file.rows)]))
  const count = written.reduce((sum, { rows }) => sum + rows, 0)
  const rounds = steps.length === 0 ? 0 : Math.ceil(Math.max(count, 1) / KEYS_AT_ONCE)
  let untouched = steps.length === 0 ? before.reduce((sum, { rows }) => sum + rows, 0) : 0
  for (let round = 0; round < rounds; round++) {
    const isOurs = (digest: Buffer) => digest[15]! % rounds === round
    const later = await laterKeys(mart, files, steps, dead, isOurs)
    for (const file of before) untouched += await settle(files, file, later, dead.get(file.path)!, isOurs)
  }
  return { files: all, dead, untouched }
}

/** The keys that the steps name, each counted where it is met last; earlier rows with it are noted as dead. */
async function laterKeys(
  mart: MartContext,
  files: MartFiles,
  steps: readonly Step[],
  dead: ReadonlyMap<string, DeadRows>,
  isOurs: (digest: Buffer) => boolean,
): Promise<DigestSet> {
  const later = new DigestSet()
  const seen = new Set<string>()
  for (const step of steps.toReversed()) {
    if (step.kind === 'removal') {
      for (const key of await removedKeys(mart, step.path)) {
        const digest = digestOfTexts(key)
        if (isOurs(digest)) later.add(digest)
      }
      continue
    }
    // A batch that was repeated under the same name is one file.
    if (seen.has(step.file.path)) continue
    seen.add(step.file.path)
    let row = 0
    for await (const digests of files.keyDigests(step.file)) {
      for (const digest of digests) {
        if (isOurs(digest) && !later.add(digest)) dead.get(step.file.path)!.add(row)
        row += 1
      }
    }
  }
  return later
}

/** Rows of one older file; returns how many no step names. */
async function settle(
  files: MartFiles,
  file: FileEntry,
  later: DigestSet,
  dead: DeadRows,
  isOurs: (digest: Buffer) => boolean,
): Promise<number> {
  let row = 0
  let untouched = 0
  for await (const digests of files.keyDigests(file)) {
    for (const digest of digests) {
      if (isOurs(digest)) {
        if (later.has(digest)) dead.add(row)
        else untouched += 1
      }
      row += 1
    }
  }
  return untouched
}

const removal = z.object({ keys: z.array(z.array(z.string().nullable())) })

async function removedKeys({ bucket, prefix }: MartContext, path: string): Promise<TextValues[]> {
  const object = await bucket.get(prefix + path)
  if (object === null)
    throw new VitrinaError(
      'SINK_GONE',
      `${prefix}${path} in bucket ${bucket.name} is not there.`,
      'Something else changes objects below the prefix. Reset the pipeline and run it in full.',
    )
  return removal.parse(JSON.parse(object.bytes.toString('utf8'))).keys
}

export function removalBody(keys: readonly TextValues[]): Buffer {
  return Buffer.from(JSON.stringify({ keys }))
}
