/**
 * Rejects words of the former dialect where people read them.
 *
 *   node scripts/check-words.mjs              documents, and the source folders that are enforced
 *   node scripts/check-words.mjs --all        how many are left in each folder
 *   node scripts/check-words.mjs src/runner   every place in these folders or files
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { proseOf } from './lib/prose.mjs'
import { main, ROOT, say } from './lib/run.mjs'
import { wordsIn } from './lib/words.mjs'

/** Source folders and generated files whose texts are enforced too. Add a folder once its texts are rewritten. */
const ENFORCED = [
  '.env.sample',
  'bench',
  'console',
  'deploy',
  'docs/reference',
  'examples',
  'python',
  'schemas',
  'scripts',
  'src',
  'tests',
]

const PLACES = [
  'docs',
  'console',
  'deploy',
  'examples',
  'python',
  'schemas',
  'src',
  'tests',
  'scripts',
  'bench',
]
const READABLE =
  /\.(?:md|ts|tsx|mts|mjs|py|sh|sql|ya?ml|service|sample|json)$|(?:^|\/)(?:Makefile|Dockerfile)$/
const SKIPPED = /(?:^|\/)(?:node_modules|dist|__pycache__)$/
/**
 * Released migrations are never edited, and the plots of films are fiction. The others are made from texts that are
 * checked themselves, or list the words.
 */
const EXEMPT =
  /^src\/store\/(?:migrations\/|schema\.sql)|openapi\.json$|^src\/client\/api-types\.ts$|^examples\/cinema\/sql\/|^src\/cinema\/films\.json$|tsconfig|package\.json$|^scripts\/lib\/words\.mjs$|^tests\/documents\/words\.test\.ts$/
const DOCUMENT = /\.md$|^Makefile$/
const GENERATED = /^docs\/reference\/|^\.env\.sample$/

await main(async () => {
  const given = process.argv.slice(2)
  if (given.includes('--all')) return count()
  const isWanted = given.length > 0 ? (file) => isBelow(given, file) : isEnforced
  const found = files().filter(isWanted).flatMap(lookInto)
  for (const { file, line, word, instead } of found) say(`${file}:${line}: "${word}": write ${instead}`)
  if (found.length > 0) say(`\n${found.length} words to replace.`)
  return found.length > 0 ? 1 : 0
})

function isEnforced(file) {
  return (DOCUMENT.test(file) && !GENERATED.test(file)) || isBelow(ENFORCED, file)
}

function isBelow(folders, file) {
  return folders.some((folder) => file === folder || file.startsWith(`${folder.replace(/\/$/, '')}/`))
}

function count() {
  const counts = new Map()
  for (const file of files())
    counts.set(folderOf(file), (counts.get(folderOf(file)) ?? 0) + lookInto(file).length)
  for (const [folder, words] of [...counts].sort()) console.log(`${String(words).padStart(6)}  ${folder}`)
  console.log(`${String([...counts.values()].reduce((sum, words) => sum + words, 0)).padStart(6)}  in all`)
  return 0
}

function folderOf(file) {
  const [first, second, ...rest] = file.split('/')
  return rest.length > 0 ? `${first}/${second}` : second === undefined ? '.' : first
}

function lookInto(file) {
  const content = readFileSync(join(ROOT, file), 'utf8')
  return wordsIn(proseOf(file, content)).map((found) => ({ file, ...found }))
}

function files() {
  const top = readdirSync(ROOT).filter(
    (name) => !PLACES.includes(name) && statSync(join(ROOT, name)).isFile(),
  )
  return [...top, ...PLACES.flatMap(filesBelow)].filter((file) => READABLE.test(file) && !EXEMPT.test(file))
}

function filesBelow(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (SKIPPED.test(path)) return []
    return entry.isDirectory() ? filesBelow(path) : [path]
  })
}
