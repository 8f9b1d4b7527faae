import { randomBytes } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import { readTable } from '../../src/config/settings.js'
import type { BatchId, Sink, SinkKind } from '../../src/ports/sink.js'
import { elasticsearch } from '../../src/sinks/elasticsearch/index.js'
import type { Column } from '../../src/sql/selection.js'
import type { SearchServer } from './elasticsearch-server.js'

/** The one server of this run, started when the first file requests it; or why it is missing. */
export async function searchServer(): Promise<SearchServer> {
  return (await (await fetch(inject('searchServer'))).json()) as SearchServer
}

/** Sends requests as a user with curl would. */
export class SearchLab {
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  /** A unique name. Everything with this prefix is deleted with the test. */
  name(): string {
    const name = `t${randomBytes(5).toString('hex')}`
    onTestFinished(() => this.remove(name))
    return name
  }

  /** The mart of this name, and what was built for it. */
  async remove(name: string): Promise<void> {
    const path = `/${name},${name}-*?ignore_unavailable=true`
    for (const index of Object.keys(await this.call<object>('GET', path)))
      await this.call('DELETE', `/${index}`)
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    return (await answer.json()) as T
  }

  /** The document on the server, as text: numbers as they are written. */
  async source(name: string, id: string): Promise<string | null> {
    const answer = await fetch(`${this.url}/${name}/_source/${encodeURIComponent(id)}`)
    return answer.ok ? answer.text() : null
  }

  async count(name: string): Promise<number> {
    await this.call('POST', `/${name}/_refresh`)
    return (await this.call<{ count: number }>('GET', `/${name}/_count`)).count
  }

  async ids(name: string): Promise<string[]> {
    await this.call('POST', `/${name}/_refresh`)
    const found = await this.call<{ hits: { hits: { _id: string }[] } }>(
      'GET',
      `/${name}/_search?size=1000&_source=false`,
    )
    return found.hits.hits.map(({ _id }) => _id).sort()
  }

  async exists(name: string): Promise<boolean> {
    return (await fetch(`${this.url}/${name}`)).ok
  }
}

export function elasticsearchKind(url: string, environment: NodeJS.ProcessEnv = {}): SinkKind {
  return elasticsearch.create(readTable(elasticsearch.settings, { ELASTICSEARCH_URL: url, ...environment }))
}

interface SinkRequest {
  readonly url: string
  readonly name: string
  /** Columns as `name type`. */
  readonly columns: readonly string[]
  readonly key?: readonly string[]
  readonly options?: Readonly<Record<string, unknown>>
  readonly environment?: NodeJS.ProcessEnv
  readonly brake?: number
  readonly replaces?: boolean
  readonly signal?: AbortSignal
}

/** A sink for one test, closed with it. The first column is the key unless another is given. */
export async function openTestSink(request: SinkRequest): Promise<Sink> {
  const kind = elasticsearchKind(request.url, request.environment)
  const read = kind.readOptions(request.options ?? {})
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  const columns = request.columns.map(toColumn)
  const sink = await kind.open({
    name: request.name,
    columns,
    key: request.key ?? [columns[0]!.name],
    options: read.options,
    brake: request.brake ?? 1,
    signal: request.signal ?? new AbortController().signal,
    ...(request.replaces === undefined ? {} : { replaces: request.replaces }),
  })
  onTestFinished(() => sink.close())
  return sink
}

export function toColumn(text: string): Column {
  const [name = '', ...type] = text.split(' ')
  return { name, type: type.join(' '), typeOid: 0, base: null, notNull: false }
}

export function batchId(number = 1, fence = 1): BatchId {
  return { pipelineId: 'p', runId: 'r', fence, number }
}
