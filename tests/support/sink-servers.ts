import type { SinkModule } from '../../src/sinks/index.js'
import type { TestClickHouse } from './clickhouse.js'
import type { TestDatabase } from './database.js'
import { searchServer } from './elasticsearch.js'
import type { startS3 } from './s3.js'
import { readWithDuckdb, rewriteWithDuckdb } from './s3-mart.js'

/** A row of the mart as its readers see it, each value as text. */
export interface SeenRow {
  readonly id: string
  readonly title: string | null
  readonly n: string | null
}

/** A server that marts live on, and an eye that does not look through the code under test. */
export interface SinkServer {
  readonly env: Readonly<Record<string, string>>
  /** Sinks that are not part of the product. */
  readonly sinks?: readonly SinkModule[]
  /** A function that every pipeline sends its rows through: tables then pass through the same engine as sinks. */
  readonly transform?: string
  readonly options?: Readonly<Record<string, unknown>>
  /** Its server does not refuse what is sent late: see the guide of the sink. */
  readonly acceptsLate?: boolean
  /** Rows are found by a part of their key. */
  readonly findsGroups?: boolean
  /** The address of a mart with this name. */
  target(name: string): string
  /** Null: there is no such mart. */
  read(database: TestDatabase, name: string): Promise<SeenRow[] | null>
  /** Removes row 1, changes the title of row 2 to `wrong` and adds row 9999, without the pipeline noticing. */
  tamper(database: TestDatabase, name: string): Promise<void>
  close(): Promise<void>
}

type Found = SinkServer | { readonly missing: string }

export async function elasticsearchMarts(write_mode: string): Promise<Found> {
  const server = await searchServer()
  if ('missing' in server) return server
  return {
    env: { ELASTICSEARCH_URL: server.url, ALLOWED_ES_INDEXES: 'm_*' },
    options: { write_mode },
    acceptsLate: write_mode === 'update',
    target: (name) => `es:${name}`,
    read: (_database, name) => readDocuments(server.url, name),
    tamper: (_database, name) => tamperDocuments(server.url, name),
    close: async () => {},
  }
}

/** Documents as a person with curl sees them. */
async function readDocuments(url: string, index: string): Promise<SeenRow[] | null> {
  if (!(await fetch(`${url}/${index}`)).ok) return null
  await fetch(`${url}/${index}/_refresh`, { method: 'POST' })
  const answer = await fetch(`${url}/${index}/_search?size=10000`)
  if (!answer.ok) return null
  const { hits } = (await answer.json()) as {
    hits: { hits: { _source: { id: number; title: string | null; n: number | null } }[] }
  }
  return hits.hits.map(({ _source: { id, title, n } }) => ({
    id: String(id),
    title,
    n: n === null ? null : String(n),
  }))
}

async function tamperDocuments(url: string, index: string): Promise<void> {
  const call = (method: string, path: string, body?: unknown) =>
    fetch(`${url}/${index}/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
  await call('DELETE', '_doc/1')
  await call('POST', '_update/2', { doc: { title: 'wrong' } })
  const { _source } = (await (await call('GET', '_doc/3')).json()) as { _source: object }
  await call('PUT', '_doc/9999', { ..._source, id: 9999 })
}

export function clickhouseMarts(server: TestClickHouse): SinkServer {
  return {
    env: { CLICKHOUSE_URL: server.url, ALLOWED_CH_TABLES: '*' },
    findsGroups: true,
    target: (name) => `ch:${name}`,
    read: async (_database, name) => {
      const found = await server.rows(`SELECT count() FROM system.tables WHERE name = '${name}'`)
      if (found[0]![0] === '0') return null
      const rows = await server.rows(
        `SELECT toString(id), if(isNull(title), 'N', concat('T', hex(title))), toString(n) FROM ${name} ORDER BY id`,
      )
      return rows.map(([id, title, n]) => ({
        id: id!,
        title: title === 'N' ? null : Buffer.from(title!.slice(1), 'hex').toString('utf8'),
        n: n === '\\N' ? null : n!,
      }))
    },
    tamper: async (_database, name) => {
      await server.rows(`DELETE FROM ${name}__data WHERE id = 1`)
      await server.rows(
        `ALTER TABLE ${name}__data UPDATE title = 'wrong' WHERE id = 2 SETTINGS mutations_sync = 1`,
      )
      await server.rows(`INSERT INTO ${name}__data SELECT * REPLACE (9999 AS id) FROM ${name}__data LIMIT 1`)
    },
    close: async () => {},
  }
}

export function s3Marts(s3: Awaited<ReturnType<typeof startS3>>): Found {
  if ('missing' in s3) return s3
  return {
    env: {
      S3_BUCKET: s3.bucket,
      S3_ENDPOINT: s3.endpoint,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    },
    target: (name) => `s3:marts/${name}`,
    read: async (_database, name) => {
      const rows = await readWithDuckdb(
        s3,
        `marts/${name}`,
        'SELECT id::VARCHAR, title, n::VARCHAR FROM mart',
      )
      return rows?.map(([id, title, n]) => ({ id, title, n }) as SeenRow) ?? null
    },
    tamper: (_database, name) =>
      rewriteWithDuckdb(
        s3,
        `marts/${name}`,
        `SELECT * REPLACE (CASE id WHEN 2 THEN 'wrong' ELSE title END AS title) FROM mart WHERE id <> 1
           UNION ALL SELECT * REPLACE (9999 AS id) FROM mart WHERE id = 3`,
      ),
    close: async () => {},
  }
}
