import type { HostColumn } from '../host.js'
import { got, InvalidResult } from './invalid-result.js'
import type { Row } from './task.js'

/** The result of a function as rows with exactly these columns. */
export async function checkedRows(result: unknown, columns: readonly HostColumn[]): Promise<Row[]> {
  const rows = await asList(await result)
  const names = columns.map(({ name }) => name)
  for (let place = 0; place < rows.length; place++) checkRow(rows[place], place, names)
  return rows as Row[]
}

async function asList(result: unknown): Promise<unknown[]> {
  if (Array.isArray(result)) return result
  if (typeof result === 'object' && result !== null) {
    if (Symbol.iterator in result) return [...(result as Iterable<unknown>)]
    if (Symbol.asyncIterator in result) return collect(result as AsyncIterable<unknown>)
  }
  throw new InvalidResult(`it returned ${got(result)}, not a list of rows`, {
    hint: 'Return an array of objects; "=> {" needs a return.',
  })
}

async function collect(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const list: unknown[] = []
  for await (const row of rows) list.push(row)
  return list
}

function checkRow(row: unknown, place: number, names: readonly string[]): void {
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    throw new InvalidResult(`a row is ${got(row)}, not an object`, {
      row: place,
      hint: 'Return an array of objects.',
    })
  const missing = names.find((name) => (row as Row)[name] === undefined)
  if (missing !== undefined)
    throw new InvalidResult(`a row has no column "${missing}"`, {
      row: place,
      sample: row,
      hint: `Include it in every row, or declare that it is dropped: { drops: ['${missing}'] }.`,
    })
  const keys = Object.keys(row)
  const extra = keys.length > names.length ? keys.find((key) => !names.includes(key)) : undefined
  if (extra !== undefined)
    throw new InvalidResult(`a row has the column "${extra}", which is not declared`, {
      row: place,
      sample: row,
      hint: `Declare it with its PostgreSQL type: { adds: { ${extra}: 'text' } }.`,
    })
}
