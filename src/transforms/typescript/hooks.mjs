/**
 * How a task thread resolves and loads modules: "vitrina" is this package, whatever else is installed; a .ts file is
 * loaded without its types; an import of ./x.js finds ./x.ts, as is usual in TypeScript.
 */
import { readFile } from 'node:fs/promises'

let entry = ''

export function initialize(data) {
  entry = data.task
}

export async function resolve(specifier, context, nextResolve) {
  if (specifier === 'vitrina') return { url: entry, shortCircuit: true }
  try {
    return await nextResolve(specifier, context)
  } catch (error) {
    for (const other of spellings(specifier)) {
      const found = await Promise.resolve(nextResolve(other, context)).catch(() => null)
      if (found !== null) return found
    }
    throw error
  }
}

function spellings(specifier) {
  if (!/^(?:\.{0,2}\/|file:)/.test(specifier)) return []
  if (/\.[cm]?js$/.test(specifier)) return [specifier.replace(/js$/, 'ts')]
  return ['.ts', '.mts', '.js', '.mjs'].map((end) => specifier + end)
}

export async function load(url, context, nextLoad) {
  if (!/\.m?ts$/.test(new URL(url).pathname) || !url.startsWith('file:')) return nextLoad(url, context)
  return { format: 'module', shortCircuit: true, source: await withoutTypes(url) }
}

/** Types become blanks, so that lines and columns stay; anything more than a type, such as an enum, is compiled. */
async function withoutTypes(url) {
  const source = await readFile(new URL(url), 'utf8')
  const { default: swc } = await import('@swc/wasm-typescript')
  const options = { module: true, filename: url, sourceMap: false }
  try {
    return swc.transformSync(source, { ...options, mode: 'strip-only' }).code
  } catch (error) {
    if (error?.code !== 'UnsupportedSyntax') throw readable(error, url)
  }
  try {
    const { code, map } = swc.transformSync(source, { ...options, mode: 'transform', sourceMap: true })
    const inline = Buffer.from(map).toString('base64')
    return `${code}\n//# sourceMappingURL=data:application/json;base64,${inline}`
  } catch (error) {
    throw readable(error, url)
  }
}

function readable(error, url) {
  const name = url.slice(url.lastIndexOf('/') + 1)
  const { message = String(error), startLine } = error
  return new SyntaxError(startLine === undefined ? message : `${message} (${name}:${startLine})`)
}
