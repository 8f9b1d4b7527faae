/** @type {{ file: string, from: string, to: string }[]} */
let patches = []

export function initialize(data) {
  patches = data
}

/** The bundle contains all modules in one: a patched program is made of the modules themselves. */
const UNBUNDLED = {
  '/dist/bundle/cli.js': '/dist/cli/index.js',
  '/dist/bundle/hidden-environment.js': '/dist/main/hidden-environment.js',
}

export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context)
  for (const [bundled, module] of Object.entries(UNBUNDLED))
    if (resolved.url.endsWith(bundled))
      return { ...resolved, url: resolved.url.slice(0, -bundled.length) + module }
  return resolved
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
