import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/document-blocks.js'
import { codeIn, documents, proseOf } from '../support/prose.js'

const FOLDERS = 'src|tests|scripts|bench|console|examples|python|deploy|docs|schemas|bin'
const PATH = new RegExp(`^(?:${FOLDERS})(?:/[\\w.@-]+)+/?$`)
const FILE_NAME = /^[\w-]+\.(?:ts|tsx|mjs|cjs)$/
/** `name` (`src/file.ts`), `name` in `src/file.ts`: the file must contain the name. */
const ANCHOR = /`([A-Za-z_]\w*(?:\.\w+)*)`(?: \(| in )`((?:src|console)\/[^`]+\.\w+)`/g
/** What is made by a build, or by the reader. */
const NOT_HERE = new Set(['console/dist', 'deploy/.env', 'src/sinks/jsonl', 'utils.ts'])
const TEMPLATE = /NNNN/

const names = new Set(
  ['src', 'tests', 'scripts', 'console/src'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(
      (path) => path.split('/').at(-1)!,
    ),
  ),
)

/** As GitHub makes them. */
function slugOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')
}

function headingsOf(file: string): string[] {
  return [...proseOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slugOf(heading!.trim()))
}

/** Null: it leads somewhere. */
function problemOf(file: string, link: string): string | null {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? file : normalize(join(dirname(file), path))
  if (!existsSync(join(ROOT, target))) return `${link} leads nowhere`
  if (anchor === undefined || headingsOf(target).includes(decodeURIComponent(anchor))) return null
  return `${link}: ${target} has no such heading`
}

/** The console's own page refers to its own folders. */
function exists(file: string, path: string): boolean {
  return [path, join(dirname(file), path)].some((place) => existsSync(join(ROOT, place)))
}

describe.each(documents())('R7.7 %s', (file) => {
  it('has links that lead to documents, pictures and headings', () => {
    const links = [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)
    const local = links.filter((link) => !/^[a-z]+:/.test(link))
    expect(local.map((link) => problemOf(file, link)).filter(Boolean)).toEqual([])
  })

  it('names existing files and folders', () => {
    const named = codeIn(file).filter((code) => !NOT_HERE.has(code) && !TEMPLATE.test(code))
    const gone = named.filter((code) =>
      PATH.test(code) ? !exists(file, code) : FILE_NAME.test(code) && !names.has(code) && !exists(file, code),
    )
    expect(gone).toEqual([])
  })

  it('names only what the file next to it contains', () => {
    const anchors = [...proseOf(file).matchAll(ANCHOR)]
    const gone = anchors.filter(([, name, path]) => {
      const code = readFileSync(join(ROOT, path!), 'utf8')
      return name!.split('.').some((part) => !new RegExp(`\\b${part}\\b`).test(code))
    })
    expect(gone.map(([anchor]) => anchor)).toEqual([])
  })
})

describe('R7.7 docs/architecture.md', () => {
  const code = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|sql|mjs)$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'))
    .join('\n')
  const words = new Set(code.match(/\w+/g))

  it('names functions, classes and columns of the code', () => {
    const spoken = codeIn('docs/architecture.md').filter((text) => !text.includes('/'))
    const named = spoken
      .flatMap((text) => text.match(/\w+/g) ?? [])
      .filter((word) => /[a-z][A-Z]|_/.test(word))
    expect(named.filter((word) => !words.has(word))).toEqual([])
  })

  it('has a line for every room, with what it may import', () => {
    const rules = readFileSync(join(ROOT, '.dependency-cruiser.cjs'), 'utf8')
    const rooms = [...rules.matchAll(/^ {2}(\w+): \[([^\]]*)\],$/gm)].map(([, room, list]) => {
      // The formatter breaks long lists.
      const allowed = [...list!.matchAll(/'([^']+)'/g)].map(([, name]) => name).join(', ')
      return [room, allowed === '' ? 'nothing' : allowed === '*' ? 'every room but cli' : allowed]
    })
    const section = proseOf('docs/architecture.md').split('\n## Rooms\n')[1]!.split('\n## ')[0]!
    const lines = [...section.matchAll(/^\| ([a-z]+) \| [^|]+ \| ([^|]+) \|$/gm)]
    const named = lines.slice(1).map(([, room, allowed]) => [room, allowed])
    expect(Object.fromEntries(named)).toEqual(Object.fromEntries(rooms))
  })

  it('has every table of the meta store', () => {
    const schema = readFileSync(join(ROOT, 'src/store/schema.sql'), 'utf8')
    const tables = [...schema.matchAll(/^CREATE TABLE etl\.(\w+)/gm)].map(([, table]) => table)
    const named = new Set(codeIn('docs/architecture.md'))
    expect(tables.filter((table) => !named.has(table!))).toEqual([])
  })
})
