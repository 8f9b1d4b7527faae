import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { createServer } from '../../src/api/server.js'
import { CatalogRepository } from '../../src/store/catalog.repository.js'
import { Database } from '../../src/store/database.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'

export const TOKEN = 'a-token-for-tests-only'

/** The API as it is served, over the real store; only the socket is left out. */
export interface TestApi {
  readonly app: FastifyInstance
  /** Every line it logged, as an object. */
  readonly lines: Record<string, unknown>[]
  /** As the administrator, unless `headers` say otherwise. */
  call(request: InjectOptions): Promise<LightMyRequestResponse>
  get(url: string): Promise<LightMyRequestResponse>
  post(url: string, body?: object): Promise<LightMyRequestResponse>
  close(): Promise<void>
}

export interface ApiOptions {
  readonly consoleDir?: string
}

/** `url` is that of the API's own login, so that a right it lacks fails a test and not a user. Whoever makes it closes it. */
export function anApi(url: string, { consoleDir }: ApiOptions = {}): TestApi {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLog({
    service: 'api',
    version: '0.0.0-test',
    level: 'debug',
    format: 'json',
    destination,
  })
  const database = new Database(url, { name: 'vitrina-api', size: 4 })
  const catalog = new CatalogRepository(database)
  const meter = createMeter({ version: '0.0.0-test' })
  const app = createServer({ catalog, log, meter, token: TOKEN, version: '0.0.0-test', consoleDir })
  const call = (request: InjectOptions) =>
    app.inject({ headers: { authorization: `Bearer ${TOKEN}` }, ...request })
  return {
    app,
    lines,
    call,
    get: (path) => call({ method: 'GET', url: path }),
    post: (path, body) =>
      call({ method: 'POST', url: path, ...(body === undefined ? {} : { payload: body }) }),
    close: async () => {
      await app.close()
      await database.close()
    },
  }
}
