import { requireBelowBrake } from '../../model/brake.js'
import type { BatchId, Removal } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import { DigestSet, digestOfTexts } from './digests.js'
import { martAddress, removalFile } from './layout.js'
import { readManifest, stepOf } from './manifest.js'
import type { MartContext, MartFiles } from './mart-files.js'
import { type Resolution, removalBody, resolveSteps } from './resolution.js'
import { S3ValueError } from './value-error.js'

const KEYS_IN_PART = 100_000

/** Records the keys to remove; they disappear when the run is published. */
export class Remover {
  readonly #mart: MartContext
  readonly #files: MartFiles

  constructor(mart: MartContext, files: MartFiles) {
    this.#mart = mart
    this.#files = files
  }

  /** Does not check which of them exist: that would read the keys of the whole mart. */
  async remove(keys: readonly TextValues[], id: BatchId): Promise<Removal> {
    const wanted = keys.flatMap((key) => this.#canonical(key) ?? [])
    return { deleted: wanted.length, marks: await this.#note(wanted, id) }
  }

  async removeAbsent(
    present: AsyncIterable<readonly TextValues[]>,
    id: BatchId,
    marks: readonly string[],
  ): Promise<Removal> {
    const seen = await readManifest(this.#mart.bucket, this.#mart.prefix)
    const resolution = await resolveSteps(this.#mart, this.#files, {
      steps: marks.map(stepOf),
      older: seen?.manifest.files ?? [],
    })
    const absent = await this.#absent(resolution, await this.#digests(present))
    const { prefix, brake } = this.#mart
    requireBelowBrake(martAddress(prefix), {
      deleted: absent.length,
      size: livingRows(resolution),
      brake,
    })
    return { deleted: absent.length, marks: await this.#note(absent, id) }
  }

  async #digests(present: AsyncIterable<readonly TextValues[]>): Promise<DigestSet> {
    const digests = new DigestSet()
    for await (const keys of present) {
      for (const key of keys) {
        const canonical = this.#canonical(key)
        if (canonical !== null) digests.add(digestOfTexts(canonical[0]))
      }
    }
    return digests
  }

  async #absent({ files, dead }: Resolution, present: DigestSet): Promise<TextValues[]> {
    const absent: TextValues[] = []
    for (const file of files) {
      const gone = dead.get(file.path)!
      for await (const { row, key } of this.#files.keys(file)) {
        if (!gone.has(row) && !present.has(digestOfTexts(key))) absent.push(key)
      }
    }
    return absent
  }

  /** The key as stored in the files; null: no row can have it. */
  #canonical(key: TextValues): [TextValues] | null {
    try {
      return [this.#mart.keys.map((storage, index) => storage.text(storage.read(key[index]!)))]
    } catch (error) {
      if (error instanceof S3ValueError) return null
      throw error
    }
  }

  async #note(keys: readonly TextValues[], id: BatchId): Promise<string[]> {
    const marks: string[] = []
    for (let start = 0; start < keys.length; start += KEYS_IN_PART) {
      const path = removalFile(id, marks.length + 1)
      const body = removalBody(keys.slice(start, start + KEYS_IN_PART))
      await this.#mart.bucket.put(this.#mart.prefix + path, body, 'application/json')
      marks.push(path)
    }
    return marks
  }
}

function livingRows({ files, dead }: Resolution): number {
  return files.reduce((sum, { path, rows }) => sum + rows - dead.get(path)!.count, 0)
}
