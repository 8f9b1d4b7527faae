import { FOLDERS } from './layout.js'
import { type Manifest, stepOf } from './manifest.js'
import type { MartContext } from './mart-files.js'

const HOUR = 3_600_000
/** Names that this sink gives. Whatever else lies there is somebody else's. */
const OURS = /^(?:data|removed)\/[^/]+\/(?:[^/]+\/)?\d+-[\w-]+\.(?:parquet|json)$/

/** Who reads an older manifest must still find its files. */
export function stillRetired(
  retired: Manifest['retired'],
  { options, now }: MartContext,
): Manifest['retired'] {
  const oldest = now().getTime() - options.keep_hours * HOUR
  return retired.filter(({ at }) => Date.parse(at) >= oldest)
}

/** Removes objects that no manifest of the last hours names, and that no run can still be about to publish. */
export async function cleanUp(
  mart: MartContext,
  manifest: Manifest,
  marks: readonly string[],
): Promise<void> {
  const kept = new Set([
    ...manifest.files.map(({ path }) => path),
    ...manifest.retired.map(({ path }) => path),
    ...marks.map(pathOf),
  ])
  const oldest = mart.now().getTime() - mart.options.keep_hours * HOUR
  const garbage: string[] = []
  for (const folder of FOLDERS) {
    for await (const { key, modified } of mart.bucket.list(mart.prefix + folder)) {
      const path = key.slice(mart.prefix.length)
      if (OURS.test(path) && !kept.has(path) && modified.getTime() < oldest) garbage.push(key)
    }
  }
  await mart.bucket.delete(garbage)
}

function pathOf(mark: string): string {
  const step = stepOf(mark)
  return step.kind === 'rows' ? step.file.path : step.path
}
