const EPOCH = 4_294_967_296n
const HALF = EPOCH / 2n

/**
 * The 64-bit number of a decoded transaction. The stream carries 32 bits; the nearest number to `xmax` of a current
 * snapshot is the right one, because PostgreSQL never lets transactions that matter lie further apart. Without the
 * epoch, an open transaction of a cluster that has wrapped once looks older than everything, and so visible.
 */
export function fullXid(xid: number, xmax: bigint): bigint {
  const full = xmax - (xmax % EPOCH) + BigInt(xid)
  if (full > xmax + HALF) return full - EPOCH
  return full < xmax - HALF ? full + EPOCH : full
}
