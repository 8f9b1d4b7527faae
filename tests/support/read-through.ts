import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { TestDatabase } from './database.js'
import { type Block, blocksOf, ROOT, shows } from './document-blocks.js'
import { checkExcerpt, checkPipeline } from './excerpt.js'
import { MARK, type SpawnedVitrina, spawnProgram } from './processes.js'
import { waitFor } from './wait.js'

/** What the addresses of a document are replaced with in a test. */
export interface Stage {
  readonly folder: string
  readonly database: TestDatabase
  /** Text of the document, and its replacement in a test. */
  readonly instead: readonly (readonly [string | RegExp, string])[]
  readonly env: Record<string, string>
  /** Runs the document's SQL where it is not meant for psql. */
  readonly sql?: (text: string) => Promise<string>
}

/** Executes every block of a document in order, and compares the output with the document. */
export async function readThrough(file: string, stage: Stage): Promise<void> {
  const reader = new Reader(stage)
  const wrong: string[] = []
  for (const block of blocksOf(file)) {
    if (block.notRun !== null) continue
    const output = await reader.follow(block).catch((error: Error) => {
      wrong.push(`${file}:${block.line}: ${error.message}`)
      return null
    })
    if (output !== null && block.answer !== null && !shows(reader.meant(block.answer), output))
      wrong.push(`${file}:${block.line} shows\n${block.answer}\nand gives\n${output}`)
  }
  await reader.close()
  if (wrong.length > 0) throw new Error(wrong.join('\n\n'))
}

/** `npx vitrina up`, possibly with settings before it, as the last line of a block. */
const SERVER = /^(?:[A-Z0-9_]+=\S+ )*npx vitrina (?:up|api|runner)\b.*$/
const SETTING = /^([A-Z][A-Z0-9_]*)=(\S*)$/

/** Follows a document exactly: runs its commands, saves its files, puts its settings into the environment. */
class Reader {
  readonly #stage: Stage
  readonly #env: Record<string, string>
  readonly #psql = new Map<string, Promise<pg.Client>>()

  constructor(stage: Stage) {
    this.#stage = stage
    this.#env = { HOME: stage.folder, ...stage.env }
  }

  /** The output on the screen. */
  async follow({ language, text, answer, source }: Block): Promise<string> {
    const meant = this.meant(text)
    if (source !== null) await checkExcerpt(language, text, source)
    else if (language === 'sql') return (this.#stage.sql ?? ((sql) => this.#query(sql, answer)))(meant)
    else if (language === 'bash') return this.#shell(meant)
    else if (language === 'yaml') {
      checkPipeline(meant)
      await this.#save(meant)
    } else if (!(await this.#save(meant)))
      throw new Error(
        `The purpose of this ${language} block is unknown: it has no name, no source and no command.`,
      )
    return ''
  }

  async close(): Promise<void> {
    for (const client of this.#psql.values()) await (await client).end()
  }

  meant(text: string): string {
    let meant = text
    for (const [from, to] of this.#stage.instead) meant = meant.replaceAll(from, to)
    return meant
  }

  async #query(text: string, answer: string | null): Promise<string> {
    await this.#untilNothingRuns()
    const client = await this.#session(text)
    try {
      const answers = [await client.query({ text: text.replace(/^\\.*$/gm, ''), rowMode: 'array' })].flat()
      // The last table on the screen: a COMMIT may follow it.
      const { fields = [], rows = [] } = answers.findLast((one) => one.fields?.length > 0) ?? {}
      return asTable([fields.map(({ name }) => name), ...rows])
    } catch (error) {
      if (answer?.startsWith('ERROR:') && error instanceof pg.DatabaseError) return refusal(error)
      throw error
    }
  }

  /** A document that needs two terminals has `-- psql 2` in the first line. */
  #session(text: string): Promise<pg.Client> {
    const name = /^-- psql \d$/m.exec(text)?.[0] ?? '-- psql 1'
    const client = this.#psql.get(name) ?? connected(this.#stage.database.url)
    this.#psql.set(name, client)
    return client
  }

  /**
   * Assignments alone are settings: they go into the environment. A server keeps running; everything else has to
   * succeed.
   */
  async #shell(text: string): Promise<string> {
    const lines = text.split('\n').filter((line) => line !== '')
    if (lines.every((line) => SETTING.test(line))) {
      for (const [, name, value] of lines.map((line) => SETTING.exec(line)!)) this.#env[name!] = value!
      return ''
    }
    const server = SERVER.test(lines.at(-1)!) ? lines.pop() : undefined
    const output = lines.length === 0 ? '' : await this.#run(lines.join('\n'))
    if (server === undefined) return output
    const program = await this.#start(server.replace('npx vitrina', 'exec npx vitrina'))
    return output + (await program.waitForOutput(/API\s+http\S+[\s\S]*/))[0]
  }

  async #run(text: string): Promise<string> {
    const program = await this.#start(withVariables(text))
    const code = await program.exited
    if (code !== 0) throw new Error(`The commands exited with ${code}:\n${text}\n${program.stdout}`)
    return program.stdout
  }

  async #start(script: string): Promise<SpawnedVitrina> {
    // One stream, as on a screen.
    return spawnProgram(['bash', '-ec', `exec 2>&1\n${script}`], await this.#environment(), {
      cwd: this.#stage.folder,
    })
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

  /** A file has its path in its first line. Returns whether it did. */
  async #save(text: string): Promise<boolean> {
    const path = /^(?:#|\/\/|--) (\S+\/\S+)/.exec(text)?.[1]
    if (path === undefined) return false
    const file = join(this.#stage.folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
    return true
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
    await waitFor(rests, { what: 'every run to end', timeoutMs: 180_000 })
  }
}

/** Variables that one block exports are known to the next ones: a reader has one terminal. */
function withVariables(text: string): string {
  return `touch variables; . ./variables\n${text}\nexport -p | grep -E ' (API|TOKEN|ID)=' > variables || true`
}

/** Cells as psql shows them, close enough for `shows`. */
export function asTable(rows: readonly (readonly unknown[])[]): string {
  return rows.map((cells) => cells.map((cell) => cell ?? '').join(' | ')).join('\n')
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
