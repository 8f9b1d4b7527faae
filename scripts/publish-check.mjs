/**
 * `npm publish` runs this first: a published package names the repository that it was built from, so that its users find
 * the source and the policy for reporting vulnerabilities. A clone does not know the address under which it is published,
 * and an invented one would lead users to another project.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const problem = problemOf(JSON.parse(readFileSync('package.json', 'utf8')).repository)
if (problem !== null) {
  process.stderr.write(`✗ ${problem.text}\n  → ${problem.remedy}\n`)
  process.exitCode = 1
}

function problemOf(repository) {
  const url = typeof repository === 'string' ? repository : repository?.url
  const origin = originOf()
  if (!url)
    return {
      text: 'package.json does not name the repository of this package.',
      remedy: `npm pkg set repository.type=git repository.url=${origin === null ? 'git+https://…' : `git+https://${origin}.git`}`,
    }
  if (origin === null || placeOf(url) === origin) return null
  return {
    text: `package.json names the repository ${placeOf(url)}, but this clone comes from ${origin}.`,
    remedy: 'Correct "repository" in package.json, or publish from a clone of that repository.',
  }
}

/** Where this clone comes from; null: it has no remote, or one that only this machine can reach. */
function originOf() {
  const { status, stdout } = spawnSync('git', ['remote', 'get-url', 'origin'], { encoding: 'utf8' })
  const url = stdout.trim()
  return status === 0 && !/^(file:|\.{0,2}\/)/.test(url) ? placeOf(url) : null
}

/** Host and path, without protocol and credentials: `git@host:a/b.git` and `https://user:secret@host/a/b` are the same. */
function placeOf(url) {
  return url
    .replace(/^(git\+)?[a-z]+:\/\//, '')
    .replace(/^[^/@]*@/, '')
    .replace(/^([^/:]+):(?!\d+\/)/, '$1/')
    .replace(/(\.git)?\/?$/, '')
}
