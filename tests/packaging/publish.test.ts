import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { aFolder } from '../support/folders.js'

const run = promisify(execFile)
const CHECK = new URL('../../scripts/publish-check.mjs', import.meta.url).pathname

/** What `npm publish` would print before it stops; null: it continues. */
async function refusal(repository: unknown, origin: string | null): Promise<string | null> {
  const folder = await aFolder()
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'vitrina', repository }))
  await run('git', ['init', '-q'], { cwd: folder })
  if (origin !== null) await run('git', ['remote', 'add', 'origin', origin], { cwd: folder })
  try {
    await run(process.execPath, [CHECK], { cwd: folder })
    return null
  } catch (error) {
    return (error as { stderr: string }).stderr
  }
}

describe('publishing the package', () => {
  it('runs the check first', () => {
    expect(manifest.scripts.prepublishOnly).toBe('node scripts/publish-check.mjs')
  })

  it('is refused without the address of the repository, and the command that sets it is named', async () => {
    expect(await refusal(undefined, null)).toContain('does not name the repository')
    expect(await refusal({}, 'git@git.example:team/vitrina.git')).toContain(
      'npm pkg set repository.type=git repository.url=git+https://git.example/team/vitrina.git',
    )
  })

  it('does not show the password of a remote', async () => {
    const text = await refusal(undefined, 'https://user:secret@git.example/team/vitrina.git')
    expect(text).toContain('git.example/team/vitrina')
    expect(text).not.toContain('secret')
  })

  it.each([
    ['https://git.example/team/vitrina.git', 'git@git.example:team/vitrina.git'],
    ['git+https://git.example/team/vitrina.git', 'https://token@git.example/team/vitrina'],
    ['git+ssh://git@git.example:2222/team/vitrina.git', 'ssh://git@git.example:2222/team/vitrina.git'],
    ['git+https://git.example/team/vitrina.git', null],
    ['git+https://git.example/team/vitrina.git', '/srv/mirrors/vitrina.git'],
  ])('accepts %s in a clone of %s', async (url, origin) => {
    expect(await refusal({ type: 'git', url }, origin)).toBeNull()
    expect(await refusal(url, origin)).toBeNull()
  })

  it('is refused from a clone of another repository', async () => {
    expect(
      await refusal({ url: 'git+https://git.example/team/vitrina.git' }, 'git@git.example:fork/vitrina.git'),
    ).toContain(
      'names the repository git.example/team/vitrina, but this clone comes from git.example/fork/vitrina',
    )
  })
})
