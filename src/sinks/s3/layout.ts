import type { BatchId, PartBatchId } from '../../ports/sink.js'

/*
 * <prefix>/manifest.json                                   what readers see
 * <prefix>/data/<run>/[<column>=<value>/]<fence>-<batch>.parquet   rows of one batch
 * <prefix>/data/<run>/[<column>=<value>/]<fence>-p<part>-<claim>-<portion>.parquet   rows of a part
 * <prefix>/data/<run>/[<column>=<value>/]<fence>-m<sha>.parquet    rows of older files, merged
 * <prefix>/removed/<run>/<fence>-<batch>-<part>.json       keys that a run removes
 */
export const MANIFEST = 'manifest.json'
export const FOLDERS = ['data/', 'removed/'] as const

/** `s3:marts/film_dim`, as in the pipeline. */
export function martAddress(prefix: string): string {
  return `s3:${prefix.slice(0, -1)}`
}

/** Hive's and DuckDB's notation of a missing value. */
const NONE = '__HIVE_DEFAULT_PARTITION__'
/** An S3 key is limited to 1,024 bytes, including the prefix. */
export const LONGEST_PARTITION = 255

/** The folder of one value of the partition column; null: the value is too long. */
export function partitionFolder(column: string, value: string | null): string | null {
  const folder = `${nameOf(column)}=${value === null ? NONE : valueName(value)}/`
  return folder.length > LONGEST_PARTITION ? null : folder
}

/** The partition value in a path; undefined: the path has none. */
export function partitionOf(path: string): string | null | undefined {
  const value = /\/[^/=]+=([^/]*)\/[^/]+$/.exec(path)?.[1]
  if (value === undefined) return undefined
  return value === NONE ? null : decodeURIComponent(value)
}

function valueName(value: string): string {
  // A text that equals the notation for NULL must not be read as NULL.
  return value === NONE ? `%5F${NONE.slice(1)}` : nameOf(value)
}

function nameOf(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/**
 * Deterministic, so a repeated batch replaces its own file; with the fence, and in a part with the number of its claim,
 * so that one that is stale replaces no other file.
 */
export function batchFile(id: BatchId | PartBatchId, folder: string): string {
  const name = 'claim' in id ? `p${id.part}-${id.claim}-${id.portion}` : String(id.number)
  return `data/${id.runId}/${folder}${id.fence}-${name}.parquet`
}

export function mergedFile(id: BatchId, folder: string, digest: string): string {
  return `data/${id.runId}/${folder}${id.fence}-m${digest}.parquet`
}

export function emptyFile(id: BatchId): string {
  return `data/${id.runId}/${id.fence}-empty.parquet`
}

export function removalFile(id: BatchId, part: number): string {
  return `removed/${id.runId}/${id.fence}-${id.number}-${part}.json`
}

/** The folder between run and file name, with its slash; empty without partitions. */
export function folderOf(path: string): string {
  return /^data\/[^/]+\/(.*\/)?[^/]+$/.exec(path)?.[1] ?? ''
}
