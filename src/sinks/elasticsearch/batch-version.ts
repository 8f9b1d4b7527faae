import type { BatchId, PartBatchId } from '../../ports/sink.js'

const FENCE_BITS = 32n
const CLAIM_BITS = 8n
const MOST_BATCHES = 2 ** 24 - 1
const MOST_CLAIMS = 2 ** 8 - 1

/**
 * The later of two batches of a pipeline has the greater version, and so has the later of two claims of a part
 * (invariant 4). Beyond these limits, the last versions are equal.
 */
export function versionOf(id: BatchId | PartBatchId): bigint {
  const claim = 'claim' in id ? Math.min(id.claim, MOST_CLAIMS) : 0
  const number = Math.min(id.number, MOST_BATCHES)
  return (BigInt(id.fence) << FENCE_BITS) + (BigInt(number) << CLAIM_BITS) + BigInt(claim)
}

/** The fence of the holder that wrote a document with this version. */
export function fenceOf(version: bigint): bigint {
  return version >> FENCE_BITS
}
