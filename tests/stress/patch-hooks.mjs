/** @type {{ file: string, from: string, to: string }[]} */
let patches = []

export function initialize(data) {
  patches = data
}

export async function load(url, context, next) {
  const loaded = await next(url, context)
  const own = patches.filter(({ file }) => url.endsWith(`/dist/${file}`))
  if (own.length === 0) return loaded
  const source = own.reduce(patched, String(loaded.source))
  return { ...loaded, source }
}

function patched(source, { file, from, to }) {
  if (source.split(from).length !== 2) throw new Error(`${file} does not contain this once: ${from}`)
  return source.replace(from, () => to)
}
