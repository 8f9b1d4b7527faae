import { z } from 'zod'
import { VitrinaError } from '../../model/errors.js'
import type { TextValues } from '../../sql/copy-text.js'
import { DeadRows, DigestSet, digestOfTexts } from './digests.js'
import { type FileKeyRange, KeySpans, rangeOf } from './key-spans.js'
import type { FileEntry, MarkedStep } from './manifest.js'
import type { MartContext, MartFiles } from './mart-files.js'
import type { Scalar } from './types.js'

/** Digests in memory at once: 64 MB. More keys are processed in several rounds. */
const KEYS_AT_ONCE = 2_000_000

/** The rows that remain current after these steps are applied, in order, to these files. */
export interface Resolution {
  /** Files of the steps and older ones, even those without a current row. */
  readonly files: readonly FileEntry[]
  /** Rows that a later step replaced or removed, by path. */
  readonly dead: ReadonlyMap<string, DeadRows>
  /** Rows of older files whose key occurs in no step. */
  readonly untouched: number
}

/**
 * Processes the steps from the last to the first: the first occurrence of a key is the current one, and every further
 * row with this key, in an earlier step or an older file, is dead. The result is the same even when some of the steps
 * were published before.
 */
export async function resolveSteps(
  mart: MartContext,
  files: MartFiles,
  { steps, older }: { readonly steps: readonly MarkedStep[]; readonly older: readonly FileEntry[] },
): Promise<Resolution> {
  const work = await prepare(mart, steps, older)
  const dead = new Map(work.files.map((file) => [file.path, new DeadRows(file.rows)]))
  const count = work.steps.reduce(
    (sum, step) => sum + (step.kind === 'rows' ? step.file.rows : step.keys.length),
    0,
  )
  const rounds = Math.ceil(count / KEYS_AT_ONCE)
  let untouched = rowsOf(work.apart) + (rounds === 0 ? rowsOf(work.older) : 0)
  for (let round = 0; round < rounds; round++) {
    const isOurs = (digest: Buffer) => digest[15]! % rounds === round
    const later = await laterKeys(files, work.steps, { dead, isOurs })
    for (const file of work.older)
      untouched += await settle(files, file, { later, dead: dead.get(file.path)!, isOurs })
  }
  return { files: work.files, dead, untouched }
}

type ReadStep =
  | { readonly kind: 'rows'; readonly file: FileEntry; readonly range: FileKeyRange | null }
  | { readonly kind: 'removal'; readonly keys: readonly TextValues[]; readonly range: FileKeyRange | null }

interface ResolutionWork {
  readonly files: readonly FileEntry[]
  /** Steps that may share a key with another step or an older file. */
  readonly steps: readonly ReadStep[]
  /** Older files that may hold a key of a step, and those that cannot. */
  readonly older: readonly FileEntry[]
  readonly apart: readonly FileEntry[]
}

/** Skips files that need not be read: a full pass in key order reads nothing again. */
async function prepare(
  mart: MartContext,
  steps: readonly MarkedStep[],
  older: readonly FileEntry[],
): Promise<ResolutionWork> {
  const first = mart.keys[0]!
  const read = await readSteps(mart, steps)
  const written = new Map(read.flatMap((step) => (step.kind === 'rows' ? [[step.file.path, step.file]] : [])))
  const before = older.filter(({ path, rows }) => rows > 0 && !written.has(path))
  const beside = new KeySpans(
    first,
    before.map(({ range }) => range ?? null),
  )
  const named = new KeySpans(
    first,
    read.map(({ range }) => range),
  )
  const apart = before.filter(({ range }) => !named.touch(range ?? null))
  const alone = loners(mart, read)
  return {
    files: [...before, ...written.values()],
    steps: read.filter((step) => !alone.has(step) || beside.touch(step.range)),
    older: before.filter((file) => !apart.includes(file)),
    apart,
  }
}

async function readSteps(mart: MartContext, steps: readonly MarkedStep[]): Promise<ReadStep[]> {
  const read: ReadStep[] = []
  const seen = new Set<string>()
  for (const step of steps) {
    const path = step.kind === 'rows' ? step.file.path : step.path
    // A batch repeated under the same name is one file.
    if (seen.has(path)) continue
    seen.add(path)
    if (step.kind === 'rows') read.push({ ...step, range: step.file.range ?? null })
    else read.push(await readRemoval(mart, step.path))
  }
  return read
}

/** Steps that share no key with another step. */
function loners(mart: MartContext, steps: readonly ReadStep[]): ReadonlySet<ReadStep> {
  const compare = mart.keys[0]!.compare
  if (compare === null || steps.some(({ range }) => range === null)) return new Set()
  const spans = steps
    .map((step) => ({
      step,
      least: bound(mart, step.range!.least),
      greatest: bound(mart, step.range!.greatest),
    }))
    .sort((left, right) => compare(left.least, right.least))
  const alone = new Set<ReadStep>()
  let reached: Scalar | null = null
  for (const [index, { step, least, greatest }] of spans.entries()) {
    const next = spans[index + 1]
    const isClear = reached === null || compare(reached, least) < 0
    if (isClear && (next === undefined || compare(greatest, next.least) < 0)) alone.add(step)
    if (reached === null || compare(greatest, reached) > 0) reached = greatest
  }
  return alone
}

const bound = (mart: MartContext, text: string) => mart.keys[0]!.read(text) as Scalar
const rowsOf = (files: readonly FileEntry[]) => files.reduce((sum, { rows }) => sum + rows, 0)

/** The keys of the steps, each with its last occurrence; earlier rows with the same key are marked as dead. */
async function laterKeys(
  files: MartFiles,
  steps: readonly ReadStep[],
  {
    dead,
    isOurs,
  }: { readonly dead: ReadonlyMap<string, DeadRows>; readonly isOurs: (digest: Buffer) => boolean },
): Promise<DigestSet> {
  const later = new DigestSet()
  for (const step of steps.toReversed()) {
    if (step.kind === 'removal') {
      for (const key of step.keys) {
        const digest = digestOfTexts(key)
        if (isOurs(digest)) later.add(digest)
      }
      continue
    }
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

/** Reads one older file; returns how many rows have a key that occurs in no step. */
interface Settling {
  readonly later: DigestSet
  readonly dead: DeadRows
  readonly isOurs: (digest: Buffer) => boolean
}

async function settle(files: MartFiles, file: FileEntry, { later, dead, isOurs }: Settling): Promise<number> {
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

async function readRemoval({ bucket, prefix, keys: [first] }: MartContext, path: string): Promise<ReadStep> {
  const object = await bucket.get(prefix + path)
  if (object === null)
    throw new VitrinaError(
      'SINK_GONE',
      `${prefix}${path} in bucket ${bucket.name} does not exist.`,
      'Another program changes objects below the prefix. Reset the pipeline and run it in full.',
    )
  const { keys } = removal.parse(JSON.parse(object.bytes.toString('utf8')))
  const range = rangeOf(
    first!,
    keys.map(([text]) => first!.read(text!)),
  )
  return { kind: 'removal', keys, range }
}

export function removalBody(keys: readonly TextValues[]): Buffer {
  return Buffer.from(JSON.stringify({ keys }))
}
