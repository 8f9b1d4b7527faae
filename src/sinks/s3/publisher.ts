import { requireBelowBrake } from '../../model/brake.js'
import { VitrinaError } from '../../model/errors.js'
import type { BatchId } from '../../ports/sink.js'
import { cleanUp, stillRetired } from './cleanup.js'
import { emptyFile, martAddress } from './layout.js'
import {
  digestOfMarks,
  type FileEntry,
  type Manifest,
  type ReadManifest,
  readManifest,
  requireHolder,
  stepOf,
  writeManifest,
} from './manifest.js'
import type { MartContext, MartFiles } from './mart-files.js'
import { mergeFiles } from './merging.js'
import { type Resolution, resolveSteps } from './resolution.js'
import { describeColumns } from './schema.js'

/** Two pipelines may fill one mart; the one that loses the race starts over from the other's manifest. */
const TRIES = 5

interface Publication {
  readonly kind: 'append' | 'replace'
  readonly marks: readonly string[]
  readonly id: BatchId
  /** Checks what would be published, and throws if it must not be. */
  readonly inspect: (resolution: Resolution, seen: ReadManifest | null) => void
}

/**
 * Writes manifests. Readers see the rows of a run once its manifest exists, and not before: it is a single object, and
 * it is replaced only if it has not changed since it was read.
 */
export class Publisher {
  readonly #mart: MartContext
  readonly #files: MartFiles

  constructor(mart: MartContext, files: MartFiles) {
    this.#mart = mart
    this.#files = files
  }

  async append(marks: readonly string[], id: BatchId): Promise<void> {
    await this.#publish({ kind: 'append', marks, id, inspect: () => {} })
  }

  /** Publishes exactly the files of these marks. Returns how many rows of the old mart this removes. */
  async replace(
    marks: readonly string[],
    id: BatchId,
    written: { readonly rows: number; readonly rewritten: number },
  ): Promise<number> {
    const { prefix, brake } = this.#mart
    return this.#publish({
      kind: 'replace',
      marks,
      id,
      inspect: ({ untouched }, seen) => {
        requireCount(prefix, marks, written)
        requireBelowBrake(martAddress(prefix), {
          deleted: untouched,
          size: seen?.manifest.rows ?? 0,
          brake,
        })
      },
    })
  }

  async #publish(publication: Publication): Promise<number> {
    for (let tries = 0; tries < TRIES; tries++) {
      const seen = await readManifest(this.#mart.bucket, this.#mart.prefix)
      requireHolder(seen, publication.id)
      const before = publishedBefore(seen, publication)
      if (before !== null) return before
      const { manifest, deleted } = await this.#next(publication, seen)
      if (!(await writeManifest(this.#mart, manifest, seen))) continue
      // The run is already visible to readers; leftovers only take space until the next run.
      await cleanUp(this.#mart, manifest, publication.marks).catch(() => {})
      return deleted
    }
    throw new VitrinaError(
      'SINK_GONE',
      `The manifest of ${this.#mart.prefix} was changed by other sessions during each of ${TRIES} attempts to write it.`,
      'Check whether several pipelines write to this prefix.',
    )
  }

  async #next(
    publication: Publication,
    seen: ReadManifest | null,
  ): Promise<{ manifest: Manifest; deleted: number }> {
    const { kind, marks, id, inspect } = publication
    const older = seen?.manifest.files ?? []
    const steps = marks.map(stepOf)
    await this.#files.requireThere(steps.flatMap((step) => (step.kind === 'rows' ? [step.file] : [])))
    const resolution = await resolveSteps(this.#mart, this.#files, { steps, older })
    inspect(resolution, seen)
    const deleted = kind === 'replace' ? resolution.untouched : 0
    const merged = await mergeFiles(this.#mart, this.#files, {
      resolution: kind === 'replace' ? withoutOlder(resolution, marks) : resolution,
      id,
    })
    const files = merged.length > 0 ? merged : [await this.#emptyFile(id)]
    const writers = {
      ...seen?.manifest.writers,
      [id.pipelineId]: { run: id.runId, fence: id.fence, published: digestOfMarks(kind, id, marks), deleted },
    }
    return { manifest: { ...this.#head(files, seen), files, writers }, deleted }
  }

  #head(files: readonly FileEntry[], seen: ReadManifest | null): Omit<Manifest, 'files' | 'writers'> {
    const { bucket, prefix, storages, keys, options, now } = this.#mart
    const at = now().toISOString()
    const listed = new Set(files.map(({ path }) => path))
    const retired = (seen?.manifest.files ?? []).map(({ path }) => ({ path, at }))
    return {
      format: 'vitrina-manifest',
      version: 1,
      location: `s3://${bucket.name}/${prefix}`,
      sequence: (seen?.manifest.sequence ?? 0) + 1,
      published_at: at,
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      key: keys.map(({ name }) => name),
      partition_by: options.partition_by,
      columns: describeColumns(storages, this.#mart.columns),
      retired: [...stillRetired(seen?.manifest.retired ?? [], this.#mart), ...retired].filter(
        ({ path }) => !listed.has(path),
      ),
    }
  }

  /** Ensures a file with the columns, even when there are no rows. */
  #emptyFile(id: BatchId): Promise<FileEntry> {
    return this.#files.put(emptyFile(id), this.#files.newWriter(), null)
  }
}

/** The result of an earlier publication, or null. It is needed again after a crash that followed the manifest's write. */
function publishedBefore(seen: ReadManifest | null, { kind, marks, id }: Publication): number | null {
  if (seen === null) return null
  if (kind === 'append' && marks.length === 0) return 0
  const last = seen.manifest.writers[id.pipelineId]
  return last?.published === digestOfMarks(kind, id, marks) ? last.deleted : null
}

function withoutOlder(resolution: Resolution, marks: readonly string[]): Resolution {
  const written = new Set(marks.map(stepOf).flatMap((step) => (step.kind === 'rows' ? [step.file.path] : [])))
  return { ...resolution, files: resolution.files.filter(({ path }) => written.has(path)) }
}

/** A replacement that lost a file would look like a mart with fewer rows. */
function requireCount(
  prefix: string,
  marks: readonly string[],
  { rows, rewritten }: { readonly rows: number; readonly rewritten: number },
): void {
  const held = new Map(
    marks.map(stepOf).flatMap((step) => (step.kind === 'rows' ? [[step.file.path, step.file.rows]] : [])),
  )
  const count = [...held.values()].reduce((sum, one) => sum + one, 0)
  if (count <= rows && count >= rows - rewritten) return
  throw new VitrinaError(
    'SINK_GONE',
    `The new files of ${prefix} contain ${count} rows, but ${rows} were written.`,
    'Run the pipeline again to rebuild the mart.',
  )
}
