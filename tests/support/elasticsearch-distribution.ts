import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Elastic's own build for tests: the server without its optional modules. Runs on Java 17 and newer. */
const VERSION = '8.19.21'
const ARTIFACT = `org.elasticsearch.distribution.integ-test-zip:elasticsearch:${VERSION}:zip`
const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'
/** With all modules; 900 MB to fetch, which only bench/elasticsearch.mjs does. */
const FULL = 'elasticsearch-full-8.16.6'

const run = promisify(execFile)

export interface Distribution {
  readonly folder: string
  readonly java: string
}

export async function distribution(): Promise<Distribution | { readonly missing: string }> {
  const java = await javaHome()
  if (java === null) return { missing: 'there is no Java 17 or newer' }
  const folder = join(cacheFolder(), `elasticsearch-${VERSION}`)
  if (existsSync(folder)) return { folder, java }
  try {
    await fetchDistribution(folder)
    return { folder, java }
  } catch (error) {
    return { missing: `Elasticsearch could not be fetched with Maven: ${String(error).split('\n')[0]}` }
  }
}

/** Only this one can make API keys: where it is not there, the other has to do. */
export async function fullDistribution(): Promise<Distribution | { readonly missing: string }> {
  const folder = join(cacheFolder(), FULL)
  const java = await javaHome()
  if (java === null || !existsSync(folder)) return { missing: `${folder} is not there` }
  return { folder, java }
}

/** Outside of the project, so that a fresh clone finds it; where the account of the server may read it. */
function cacheFolder(): string {
  if (process.getuid?.() === 0) return '/var/cache/vitrina'
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
}

async function javaHome(): Promise<string | null> {
  try {
    const { stderr } = await run('java', ['-XshowSettings:properties', '-version'])
    const home = /java\.home = (.+)/.exec(stderr)?.[1]
    const version = Number(/java\.specification\.version = (\d+)/.exec(stderr)?.[1])
    return home !== undefined && version >= 17 ? home : null
  } catch {
    return null
  }
}

async function fetchDistribution(folder: string): Promise<void> {
  const cache = cacheFolder()
  await mkdir(cache, { recursive: true })
  const work = await mkdtemp(join(cache, 'fetching-'))
  try {
    await run('mvn', ['-q', '-B', UNPACK, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${work}`], {
      cwd: work,
      timeout: 300_000,
    })
    // In one step: another run may fetch it too.
    await rename(join(work, `elasticsearch-${VERSION}`), folder).catch((error) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
