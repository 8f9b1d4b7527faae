import { requireBelowBrake } from '../../model/brake.js'
import type { ClickHouseServer } from './client.js'
import { quoted } from './quoting.js'
import type { RowCodec } from './row-codec.js'
import type { MartNames } from './schema.js'

export interface AbsentRows {
  readonly server: ClickHouseServer
  readonly names: MartNames
  readonly codec: RowCodec
  /** The table with the mart's rows, and the table with the keys to keep. */
  readonly data: string
  readonly kept: string
}

/** Keys of both tables and where they occur. Grouping instead of a join: the server can do it on disk. */
function keysOfBoth({ names, codec, data, kept }: AbsentRows): string {
  const key = quoted(codec.key.map(({ name }) => name))
  return `(SELECT ${key}, max(_is_there) AS _is_there, max(_stays) AS _stays FROM (
      SELECT ${key}, 1 AS _is_there, 0 AS _stays FROM ${names.full(data)} FINAL
      UNION ALL SELECT ${key}, 0, 1 FROM ${names.full(kept)} FINAL) GROUP BY ${key})`
}

/** SELECT … FROM the keys that would be removed. */
export function absentSql(difference: AbsentRows, what: string): string {
  return `SELECT ${what} FROM ${keysOfBoth(difference)} WHERE _is_there = 1 AND _stays = 0`
}

/** Counts the rows to remove and to keep; throws BRAKE when too many would be removed. */
export async function requireBrake(
  difference: AbsentRows,
  brake: number,
): Promise<{ readonly gone: number; readonly kept: number }> {
  const { server, names } = difference
  const [row] = await server.rows({
    sql: `SELECT sum(_is_there), countIf(_is_there = 1 AND _stays = 0), sum(_stays) FROM ${keysOfBoth(difference)}`,
    doing: `Comparing the keys of ${names.shown()}`,
  })
  const [there = 0, gone = 0, kept = 0] = row!.map(Number)
  requireBelowBrake(`ch:${names.shown()}`, { deleted: gone, size: there, brake })
  return { gone, kept }
}
