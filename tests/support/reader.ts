import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { TestDatabase } from './database.js'
import { type Block, blocksOf, ROOT, shows } from './document.js'
import { MARK, spawnProgram } from './processes.js'
import { waitFor } from './wait.js'

/** Where a document's own addresses lead to in a test. */
export interface Stage {
  readonly folder: string
  readonly database: TestDatabase
  /** Text of the document, and what a test puts in its place. */
  readonly instead: readonly (readonly [string | RegExp, string])[]
  readonly env: Record<string, string>
}

/** Carries out every block of a document, in its order, and compares what is seen with what it shows. */
export async function readThrough(file: string, stage: Stage): Promise<void> {
  const reader = new Reader(stage)
  const wrong: string[] = []
  for (const block of blocksOf(file)) {
    const output = await reader.follow(block).catch((error: Error) => {
      wrong.push(`${file}:${block.line}: ${error.message}`)
      return null
    })
    if (output !== null && block.answer !== null && !shows(block.answer, output))
      wrong.push(`${file}:${block.line} shows\n${block.answer}\nand gives\n${output}`)
  }
  await reader.close()
  if (wrong.length > 0) throw new Error(wrong.join('\n\n'))
}

/** Follows a document to the letter: types its commands, saves its files, puts its settings into the environment. */
class Reader {
  readonly #stage: Stage
  readonly #env: Record<string, string>
  readonly #psql = new Map<string, Promise<pg.Client>>()

  constructor(stage: Stage) {
    this.#stage = stage
    this.#env = { HOME: stage.folder, ...stage.env }
  }

  /** What is seen on the screen. */
  async follow({ language, text, answer }: Block): Promise<string> {
    const meant = this.#meant(text)
    if (language === 'sql')
      return this.#query(meant).catch((error) => {
        if (answer?.startsWith('ERROR:') && error instanceof pg.DatabaseError) return refusal(error)
        throw error
      })
    if (language === 'bash' || language === 'sh') return this.#shell(meant)
    await this.#save(meant)
    return ''
  }

  async close(): Promise<void> {
    for (const client of this.#psql.values()) await (await client).end()
  }

  #meant(text: string): string {
    let meant = text
    for (const [from, to] of this.#stage.instead) meant = meant.replaceAll(from, to)
    return meant
  }

  async #query(text: string): Promise<string> {
    await this.#untilNothingRuns()
    const client = await this.#session(text)
    const answers = [await client.query({ text: text.replace(/^\\.*$/gm, ''), rowMode: 'array' })].flat()
    // The last table on the screen: what follows it may be a COMMIT.
    const { fields = [], rows = [] } = answers.findLast((answer) => answer.fields?.length > 0) ?? {}
    const names = fields.map(({ name }) => name)
    return [names, ...rows].map((cells) => cells.map((cell) => cell ?? '').join(' | ')).join('\n')
  }

  /** A document that needs two terminals says `-- psql 2` in the first line. */
  #session(text: string): Promise<pg.Client> {
    const name = /^-- psql \d$/m.exec(text)?.[0] ?? '-- psql 1'
    const client = this.#psql.get(name) ?? connected(this.#stage.database.url)
    this.#psql.set(name, client)
    return client
  }

  /** Assignments alone are settings: they go into the environment. A server stays; everything else has to end well. */
  async #shell(text: string): Promise<string> {
    if (text.split('\n').every((line) => /^[A-Z_]+=\S*$|^$|^#/.test(line))) {
      for (const [, name, value] of text.matchAll(/^([A-Z_]+)=(.*)$/gm)) this.#env[name!] = value!
      return ''
    }
    const isServer = /^npx vitrina (up|api|runner)\b/.test(text)
    const script = isServer ? `exec ${text}` : withVariables(text)
    const program = spawnProgram(['bash', '-ec', script], await this.#environment(), {
      cwd: this.#stage.folder,
    })
    if (isServer) return (await program.waitForOutput(/API\s+http\S+[\s\S]*/))[0]
    const code = await program.exited
    const output = program.stdout + program.stderr
    if (code !== 0) throw new Error(`The commands end with ${code}:\n${text}\n${output}`)
    return output
  }

  async #environment(): Promise<Record<string, string>> {
    const bin = join(this.#stage.folder, 'bin')
    await mkdir(bin, { recursive: true })
    const npx = join(bin, 'npx')
    const program = join(ROOT, 'bin', 'vitrina.js')
    await writeFile(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${program}" "$@"\n`)
    await chmod(npx, 0o755)
    return { ...this.#env, PATH: `${bin}:${process.env.PATH}`, [MARK.variable]: MARK.value }
  }

  /** A file says in its first line where it belongs. */
  async #save(text: string): Promise<void> {
    const path = /^(?:#|\/\/|--) (\S+\/\S+)/.exec(text)?.[1]
    if (path === undefined) return
    const file = join(this.#stage.folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }

  /** "A moment later", a document says. */
  async #untilNothingRuns(): Promise<void> {
    const { database } = this.#stage
    const [store] = await database.query<{ there: boolean }>(
      `SELECT to_regclass('etl.etl_pipelines') IS NOT NULL AS there`,
    )
    if (!store!.there) return
    const rests = async () => {
      const busy = await database.query(
        `SELECT FROM etl.etl_pipelines WHERE status IN ('RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED')`,
      )
      return busy.length === 0
    }
    await waitFor(rests, { what: 'every run to end', timeoutMs: 60_000 })
  }
}

/** What one block exports, the next ones know: a reader has one terminal. */
function withVariables(text: string): string {
  return `touch variables; . ./variables\n${text}\nexport -p | grep -E ' (API|TOKEN|ID)=' > variables || true`
}

/** As psql shows an error. */
function refusal({ message, hint, where }: pg.DatabaseError): string {
  return `ERROR:  ${message}\nHINT:  ${hint}\nCONTEXT:  ${where}`
}

/** Shows values as psql does: the text that the server writes. */
async function connected(url: string): Promise<pg.Client> {
  const types = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig
  const client = new pg.Client({ connectionString: url, application_name: 'psql', types })
  client.on('error', () => {})
  await client.connect()
  return client
}
