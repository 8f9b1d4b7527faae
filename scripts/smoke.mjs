import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CHECKS } from './lib/smoke-checks.mjs'
import { SmokeClient } from './lib/smoke-client.mjs'
import { Finding } from './lib/smoke-finding.mjs'

const USAGE = `Checks a running installation of Vitrina. Reads only, unless --write is given.

Usage: npm run smoke -- [options]

  --url <url>         address of the server (VITRINA_URL, else http://127.0.0.1:8080)
  --token <token>     bearer token; viewer is enough, --write needs admin (VITRINA_API_TOKEN,
                      else .vitrina/api-token when the server is on this machine)
  --pipeline <name>   the pipeline to validate; default: the first enabled one
  --write             also create a pipeline of three rows, run it, compare it and delete it
  --target <table>    mart of that pipeline; it stays (default analytics.smoke_test_mart)
  --timeout <s>       how long to wait for one answer (default 10)
  --help              this text

Exit code 0: every check passed; 1: a check failed; 2: wrong usage.
`

const OPTIONS = /** @type {const} */ ({
  url: { type: 'string' },
  token: { type: 'string' },
  pipeline: { type: 'string' },
  write: { type: 'boolean', default: false },
  target: { type: 'string', default: 'analytics.smoke_test_mart' },
  timeout: { type: 'string', default: '10' },
  help: { type: 'boolean', default: false },
})

process.exitCode = await main()

async function main() {
  const options = readOptions()
  if (typeof options === 'string') {
    process.stderr.write(`✗ ${options}\n  → npm run smoke -- --help lists the options.\n`)
    return 2
  }
  if (options.help) {
    process.stdout.write(USAGE)
    return 0
  }
  return check(options)
}

/** The options, or what is wrong with them. */
function readOptions() {
  const given = parse()
  if (typeof given === 'string' || given.help) return given
  const url = baseOf(
    given.url ?? process.env.VITRINA_URL ?? `http://127.0.0.1:${process.env.VITRINA_PORT || 8080}`,
  )
  if (url === null) return `"${given.url ?? process.env.VITRINA_URL}" is not the address of a server.`
  const timeoutMs = Number(given.timeout) * 1000
  if (!(timeoutMs > 0)) return `--timeout takes a number of seconds, not "${given.timeout}".`
  const token = given.token || process.env.VITRINA_API_TOKEN || keptToken(url)
  if (!token) return `No token for ${url}: pass --token or set VITRINA_API_TOKEN.`
  return { ...given, url, token, timeoutMs }
}

function parse() {
  try {
    return parseArgs({ options: OPTIONS, args: withDashes(process.argv.slice(2)) }).values
  } catch (error) {
    return error.message
  }
}

/** `--token -x` as `--token=-x`: a token may begin with a dash, which parseArgs would take for an option. */
function withDashes(args) {
  const at = args.indexOf('--token')
  if (at < 0 || at + 1 >= args.length || args[at + 1].startsWith('--')) return args
  return [...args.slice(0, at), `--token=${args[at + 1]}`, ...args.slice(at + 2)]
}

/** Addresses are copied from where people see them: with /ui/ or /api/v1. */
function baseOf(text) {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null
  return text.replace(/\/(ui|api\/v1)?\/*$/, '').replace(/\/+$/, '')
}

/** A token that was made for the server of this folder is not sent to another machine. */
function keptToken(url) {
  const file = resolve(process.env.VITRINA_HOME || '.vitrina', 'api-token')
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
  return isLocal && existsSync(file) ? readFileSync(file, 'utf8').trim() : null
}

async function check(options) {
  const client = new SmokeClient(options)
  const facts = { passed: new Set(), pipelines: [], version: null }
  const since = performance.now()
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const one of CHECKS) {
    const finding = await find(one, { client, facts, options })
    counts[finding.outcome] += 1
    if (finding.outcome === 'passed') facts.passed.add(one.name)
    print(one.name, finding)
  }
  process.stdout.write(`${summary(counts)} in ${((performance.now() - since) / 1000).toFixed(1)} s.\n`)
  return counts.failed === 0 ? 0 : 1
}

async function find({ name, needs = [], run }, context) {
  const missing = needs.find((need) => !context.facts.passed.has(need))
  if (missing !== undefined) return Finding.skipped(`needs "${missing}"`)
  try {
    return await run(context)
  } catch (error) {
    if (error instanceof Finding) return error
    return Finding.failed(
      `${name}: ${error.message}`,
      'Unexpected answer. Check that the address is a Vitrina API.',
    )
  }
}

function print(name, { mark, sentence, hint }) {
  process.stdout.write(`${mark} ${name.padEnd(15)} ${sentence}\n`)
  if (hint !== null) process.stdout.write(`${' '.repeat(18)}→ ${hint}\n`)
}

function summary({ passed, failed, skipped }) {
  const rest = skipped === 0 ? '' : `, ${skipped} not run`
  return failed === 0
    ? `All ${passed} checks passed${rest}`
    : `${failed} of ${passed + failed} checks failed${rest}`
}
