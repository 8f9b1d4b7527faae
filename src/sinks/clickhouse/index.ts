import { VitrinaError } from '../../model/errors.js'
import type { MartDefinition, Sink, SinkKind } from '../../ports/sink.js'
import {
  CLIENT_PACKAGE,
  ClickHouseServer,
  findClient,
  loadClickHouseClient,
  requireVersion,
} from './client.js'
import {
  addressOf,
  CLICKHOUSE_SETTINGS,
  type ClickHouseSettings,
  nameProblem,
  otherNames,
  readOptions,
} from './config.js'
import { ClickHouseSink } from './sink.js'

/** Targets `ch:<table>` and `ch:<database>.<table>`. */
class ClickHouseKind implements SinkKind {
  readonly kind = 'clickhouse'
  readonly prefix = 'ch:'
  readonly allowList: SinkKind['allowList']
  readonly address: string | null
  readonly readOptions = readOptions
  readonly nameProblem = nameProblem
  readonly otherNames: (name: string) => readonly string[]
  readonly #settings: ClickHouseSettings
  readonly #load: typeof loadClickHouseClient

  constructor(settings: ClickHouseSettings, load: typeof loadClickHouseClient) {
    this.#settings = settings
    this.#load = load
    this.address = addressOf(settings)?.origin ?? null
    this.otherNames = (name) => otherNames(name, addressOf(settings)?.database ?? null)
    this.allowList = { setting: 'ALLOWED_CH_TABLES', names: settings.ALLOWED_CH_TABLES }
  }

  async missing(): ReturnType<SinkKind['missing']> {
    if (addressOf(this.#settings) === null)
      return {
        message: 'CLICKHOUSE_URL is not set; no ClickHouse is configured.',
        hint: 'Set CLICKHOUSE_URL to its HTTP interface, for example http://etl:secret@clickhouse:8123/analytics.',
      }
    if ((await findClient(this.#load)) === null)
      return {
        message: 'The ClickHouse client is not installed.',
        hint: `Install it next to Vitrina: npm install --save-exact ${CLIENT_PACKAGE}`,
      }
    return null
  }

  async version(signal: AbortSignal): Promise<string> {
    const server = await this.#connect(signal)
    try {
      return await requireVersion(server)
    } finally {
      await server.close()
    }
  }

  datasetName(name: string) {
    const address = addressOf(this.#settings)
    if (address === null) return null
    const { host } = new URL(address.origin)
    return {
      namespace: `clickhouse://${host}`,
      name: name.includes('.') ? name : `${address.database}.${name}`,
    }
  }

  async ping(signal: AbortSignal): Promise<string> {
    const server = await this.#connect(signal)
    try {
      return `ClickHouse ${await requireVersion(server)} at ${server.origin}`
    } finally {
      await server.close()
    }
  }

  async open(mart: MartDefinition): Promise<Sink> {
    const server = await this.#connect(mart.signal)
    return new ClickHouseSink(mart, server, addressOf(this.#settings)!.database)
  }

  async #connect(signal: AbortSignal): Promise<ClickHouseServer> {
    const missing = await this.missing()
    if (missing !== null) throw new VitrinaError('SINK_MISSING', missing.message, missing.hint)
    const client = await findClient(this.#load)
    return new ClickHouseServer(client!, addressOf(this.#settings)!, signal)
  }
}

export const clickhouse = {
  settings: CLICKHOUSE_SETTINGS,
  create: (settings: ClickHouseSettings, load = loadClickHouseClient): SinkKind =>
    new ClickHouseKind(settings, load),
}
