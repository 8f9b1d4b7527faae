import type { Tree } from '../guard/index.js'
import { walk } from './tree.js'

/** `name(columns) AS MATERIALIZED (`, from the name on. */
const HEAD =
  /^((?:"(?:[^"]|"")+"|[^\s("]+)\s*(?:\((?:"(?:[^"]|"")+"|[^")])*\)\s*)?\bAS\s+)(?:NOT\s+)?(?:MATERIALIZED\s+)?\(/i

/**
 * The query with every WITH query NOT MATERIALIZED, so that the planner can push a scope into one that is named twice
 * (85 blocks instead of 1,281). The rows stay the same where no function is volatile, and a traced query has none.
 */
export function withInlinedQueries(text: string, statement: Tree): string {
  const bytes = Buffer.from(text)
  const places: number[] = []
  walk({ SelectStmt: statement }, (kind, node) => {
    if (kind === 'CommonTableExpr') places.push(Number(node.location ?? 0))
    return true
  })
  // From the end, so that earlier places stay valid. Places count bytes.
  return places
    .sort((one, other) => other - one)
    .reduce((rest, place) => {
      const before = rest.subarray(0, place)
      const after = rest.subarray(place).toString().replace(HEAD, '$1NOT MATERIALIZED (')
      return Buffer.concat([before, Buffer.from(after)])
    }, bytes)
    .toString()
}
