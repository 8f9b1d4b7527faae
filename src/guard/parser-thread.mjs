import { setFlagsFromString } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { loadModule, parseSync, SqlError } from 'libpg-query'

/*
 * PostgreSQL's own parser, in a disposable thread. A text that overflows its stack damages the WebAssembly memory:
 * after 29 such texts (measured) the parser no longer answers at all.
 */

// The optimizing compiler takes 60 MB that are not returned to the process when the thread ends, and the first long
// texts are parsed four times faster without it. Nothing else here is WebAssembly.
setFlagsFromString('--liftoff-only')
await loadModule()
parentPort.on('message', ({ sql, limits }) => parentPort.postMessage(answer(sql, limits)))
parentPort.postMessage({ kind: 'ready' })

function answer(sql, limits) {
  try {
    const { stmts } = parseSync(sql)
    return exceeds(stmts, limits) ? { kind: 'deep' } : { kind: 'tree', statements: stmts }
  } catch (error) {
    if (!(error instanceof SqlError)) return { kind: 'broken', reason: String(error) }
    const { message, sqlDetails } = error
    return { kind: 'syntax', message, character: sqlDetails?.cursorPosition ?? 0 }
  }
}

/** Without recursion, because depth is one of the limits. */
function exceeds(tree, { depth: maxDepth, nodes: maxNodes }) {
  let level = [tree]
  let nodes = 0
  for (let depth = 0; level.length > 0; depth++) {
    nodes += level.length
    if (depth > maxDepth || nodes > maxNodes) return true
    level = level.flatMap((value) =>
      Object.values(value).filter((inner) => inner !== null && typeof inner === 'object'),
    )
  }
  return false
}
