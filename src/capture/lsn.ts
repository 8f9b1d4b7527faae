/** A position in the WAL of a source, as PostgreSQL writes it (`16/B374D848`) and as a number that can be compared. */
export type Lsn = bigint

export const NO_LSN: Lsn = 0n

export function parseLsn(text: string): Lsn {
  const [high, low] = text.split('/')
  if (high === undefined || low === undefined) throw new TypeError(`"${text}" is not a WAL position.`)
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

export function formatLsn(lsn: Lsn): string {
  return `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffffffffn).toString(16).toUpperCase()}`
}

export function laterLsn(one: Lsn, other: Lsn): Lsn {
  return one > other ? one : other
}
