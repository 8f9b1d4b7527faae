import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Outside the project, so that a fresh clone finds what an earlier one fetched. As root not in the home folder, because
 * servers run under another account, which cannot enter it. VITRINA_TEST_CACHE names another folder.
 */
export function cacheFolder() {
  if (process.env.VITRINA_TEST_CACHE) return process.env.VITRINA_TEST_CACHE
  if (process.getuid?.() === 0) return '/var/cache/vitrina'
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
}

/**
 * Fills a new folder and renames it to its place in one step: an interrupted installation leaves nothing that looks
 * complete, and two test runs that install at the same time do not disturb each other.
 */
export async function makeFolder(folder, fill) {
  if (existsSync(folder)) return
  await mkdir(cacheFolder(), { recursive: true })
  await removeAbandoned()
  const work = await mkdtemp(join(cacheFolder(), `installing-${process.pid}-`))
  try {
    await chmod(work, 0o755)
    await rename(await fill(work), folder).catch((error) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** What a run that was killed has left: up to half a gigabyte. */
async function removeAbandoned() {
  for (const name of await readdir(cacheFolder())) {
    const pid = /^installing-(\d+)-/.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(cacheFolder(), name), { recursive: true, force: true })
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
