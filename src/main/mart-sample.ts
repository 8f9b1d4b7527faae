import pg from 'pg'
import { loginUrl, readTable } from '../config/settings.js'
import { Cluster } from '../sinks/elasticsearch/cluster.js'
import { elasticsearch } from '../sinks/elasticsearch/index.js'
import { parseTable, quoteIdentifier, quoteTable } from '../sql/identifiers.js'
import { withClient } from './connect.js'
import type { MainSettings } from './environment.js'

/** The first rows of a mart, each value formatted for people. */
export interface MartSample {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface SampleRequest {
  readonly target: string
  readonly shows: readonly string[]
  readonly order: string
  readonly limit: number
}

/** How many rows have which value, the most frequent first. */
export async function tallyMart(settings: MainSettings, target: string, column: string): Promise<string[]> {
  return withClient(loginUrl(settings, 'meta'), async (client) => {
    const { rows } = await client.query<{ text: string }>(
      `SELECT concat(${quoteIdentifier(column)}, ' ', count(*)) AS text FROM ${quoteTable(parseTable(target))}
        GROUP BY ${quoteIdentifier(column)} ORDER BY count(*) DESC, 1`,
    )
    return rows.map(({ text }) => text)
  })
}

export async function readMartSample(settings: MainSettings, request: SampleRequest): Promise<MartSample> {
  return request.target.includes(':') ? firstDocuments(settings, request) : firstOfTable(settings, request)
}

async function firstOfTable(
  settings: MainSettings,
  { target, ...request }: SampleRequest,
): Promise<MartSample> {
  // Not as the administrator: this name may be a view, and run the code of its owner.
  return withClient(loginUrl(settings, 'meta'), async (client) => {
    const table = quoteTable(parseTable(target))
    const { fields } = await client.query(`SELECT * FROM ${table} LIMIT 0`)
    const there = new Set(fields.map((field) => field.name))
    // The pipeline may have been changed since: then the rows in any order.
    const isOurs = request.shows.every((name) => there.has(name))
    const found = await client.query({
      text: isOurs
        ? `SELECT ${request.shows.map((name) => quoteIdentifier(name)).join(', ')} FROM ${table} ORDER BY ${request.order} LIMIT ${request.limit}`
        : `SELECT * FROM ${table} LIMIT ${request.limit}`,
      rowMode: 'array',
      types: AS_TEXT,
    })
    const writers = found.fields.map(({ dataTypeID }) => WRITTEN[dataTypeID] ?? ((text: string) => text))
    return {
      columns: found.fields.map((field) => field.name),
      rows: (found.rows as (string | null)[][]).map((row) =>
        row.map((text, n) => (text === null ? NOTHING : writers[n]!(text))),
      ),
    }
  })
}

async function firstDocuments(
  settings: MainSettings,
  { target, shows, order, limit }: SampleRequest,
): Promise<MartSample> {
  const index = target.slice(target.indexOf(':') + 1)
  const never = new AbortController().signal
  const cluster = new Cluster(readTable(elasticsearch.settings, settings.environment), never)
  try {
    const path = `/${index}/_search?size=${limit}&sort=${order}&_source=${shows.join(',')}`
    const { body } = await cluster.ask<Hits>({ method: 'GET', path, target })
    const rows = body.hits.hits.map(({ _source }) => shows.map((name) => writeJson(_source[name])))
    return { columns: shows, rows }
  } finally {
    cluster.client.close()
  }
}

interface Hits {
  readonly hits: { readonly hits: readonly { readonly _source: Readonly<Record<string, unknown>> }[] }
}

const NOTHING = '–'
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string | Buffer) => text }
const TEXT_ARRAY = 1009
const UUID = 2950

/** By type. A mart is wide and a terminal narrow: no microseconds, eight characters of an id, four decimal places. */
const WRITTEN: Readonly<Record<number, (text: string) => string>> = {
  [UUID]: writeId,
  [pg.types.builtins.TIMESTAMPTZ]: writeTime,
  [pg.types.builtins.NUMERIC]: writeNumber,
  [TEXT_ARRAY]: (text) => text.slice(1, -1).replaceAll('"', '').replaceAll(',', ', '),
}

function writeId(text: string): string {
  return `${text.slice(0, 8)}…`
}

function writeTime(text: string): string {
  return text.slice(0, 16).replace('T', ' ')
}

function writeNumber(text: string): string {
  return /\.\d{5}/.test(text) ? Number(text).toFixed(4) : text
}

function writeJson(value: unknown): string {
  if (value === null || value === undefined) return NOTHING
  if (Array.isArray(value)) return value.join(', ')
  const text = String(value)
  if (typeof value === 'number') return writeNumber(text)
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text)) return writeId(text)
  return /^\d{4}-\d\d-\d\dT/.test(text) ? writeTime(text) : text
}
