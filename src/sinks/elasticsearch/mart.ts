import { VitrinaError } from '../../model/errors.js'
import type { Examination } from '../../ports/sink.js'
import type { Column } from '../../sql/selection.js'
import type { Cluster } from './cluster.js'
import type { ElasticsearchOptions } from './config.js'
import { gone, type ServerError, sinkError } from './errors.js'
import { findProperty, lossFindings, nameFindings, type Properties, schemaFindings } from './schema.js'
import { fieldType } from './types.js'

/** The index behind a name, which may be the index's own name or an alias. */
export interface IndexState {
  readonly index: string
  readonly aliases: readonly string[]
  readonly properties: Properties
  readonly meta: Readonly<Record<string, unknown>>
  readonly settings: Readonly<Record<string, unknown>>
}

interface IndexBody {
  readonly aliases: Readonly<Record<string, unknown>>
  readonly mappings: { readonly properties?: Properties; readonly _meta?: Readonly<Record<string, unknown>> }
  readonly settings: Readonly<Record<string, unknown>>
  readonly data_stream?: string
}

/** How long deleted documents keep their version, so that a late writer cannot restore them. */
const REMEMBER_DELETED = '1h'

/**
 * Applies until the first run into a new index is complete. Each refresh leaves a segment, and an update searches all
 * of them for its document: refreshing every second costs the server a third of its time. Readers see documents of a
 * longer or unfinished load after half a minute.
 */
const WHILE_LOADING = { refresh_interval: '30s' }

/**
 * Elasticsearch creates a missing index on write, with types guessed from the first document: if the mart is deleted
 * during a run, the next bulk would create a wrong one. Writes therefore go through an alias that disappears with its
 * index, and require an alias.
 */
export function writeAlias(index: string): string {
  return `${index}.vitrina`
}

/** A mart as an index: its actual and its required definition. */
export class ElasticsearchMart {
  readonly name: string
  readonly target: string
  readonly columns: readonly Column[]
  readonly options: ElasticsearchOptions
  readonly #replaces: boolean
  readonly #cluster: Cluster

  constructor(parts: {
    name: string
    target: string
    columns: readonly Column[]
    options: ElasticsearchOptions
    replaces: boolean
    cluster: Cluster
  }) {
    this.name = parts.name
    this.target = parts.target
    this.columns = parts.columns
    this.options = parts.options
    this.#replaces = parts.replaces
    this.#cluster = parts.cluster
  }

  async examine(): Promise<Examination> {
    const mode = this.options.write_mode
    const state = await this.find()
    const fits =
      state === null || this.#replaces
        ? { errors: [], warnings: [] }
        : schemaFindings(this.columns, state.properties, mode)
    return {
      exists: state !== null,
      errors: [...nameFindings(this.columns), ...fits.errors],
      warnings: [...fits.warnings, ...lossFindings(this.columns, mode)],
    }
  }

  /** Null: no index or alias has this name. */
  async find(): Promise<IndexState | null> {
    const { status, body } = await this.#cluster.ask<Record<string, IndexBody>>({
      method: 'GET',
      path: `/${encodeURIComponent(this.name)}?flat_settings=true`,
      target: this.target,
      accept: [404],
    })
    if (status === 404) return null
    const found = Object.entries(body)
    const [[index, state] = ['', null]] = found
    if (found.length !== 1 || state === null || state.data_stream !== undefined)
      throw this.#noSingleIndex(found.length)
    const { aliases, mappings, settings } = state
    return {
      index,
      aliases: Object.keys(aliases),
      properties: mappings.properties ?? {},
      meta: mappings._meta ?? {},
      settings,
    }
  }

  /** Creates the index, or adds what is missing. Concurrent calls end up with the same index. */
  async prepare(): Promise<IndexState> {
    const state = (await this.find()) ?? (await this.#createOrFind())
    const { errors } = schemaFindings(this.columns, state.properties, this.options.write_mode)
    const [problem] = [...nameFindings(this.columns), ...errors]
    if (problem !== undefined)
      throw new VitrinaError('TARGET_MISMATCH', `${this.target}: ${problem.message}`, problem.hint)
    await this.#addFields(state)
    if (!state.aliases.includes(writeAlias(state.index))) await this.#addWriteAlias(state.index)
    return state
  }

  /** Returns false if it already exists. */
  async create(index: string, settings: object, meta: object = {}): Promise<boolean> {
    const { shards, replicas } = this.options
    const { status, body } = await this.#cluster.ask<{ error?: ServerError }>({
      method: 'PUT',
      path: `/${encodeURIComponent(index)}`,
      target: this.target,
      accept: [400],
      body: {
        settings: {
          ...(shards === undefined ? {} : { number_of_shards: shards }),
          ...(replicas === undefined ? {} : { number_of_replicas: replicas }),
          gc_deletes: REMEMBER_DELETED,
          ...settings,
        },
        mappings: {
          dynamic: 'strict',
          _meta: { vitrina: { mart: this.name, ...meta } },
          properties: this.#properties(this.columns),
        },
        aliases: { [writeAlias(index)]: { is_hidden: true } },
      },
    })
    if (body.error !== undefined && body.error.type !== 'resource_already_exists_exception')
      throw sinkError(status, body.error, this.target)
    return status === 200
  }

  /** Restores the server's usual refresh interval. */
  async endLoading(): Promise<void> {
    const state = await this.find()
    const { loading, ...vitrina } = (state?.meta.vitrina ?? {}) as { loading?: boolean }
    if (state === null || loading !== true) return
    const index = `/${encodeURIComponent(state.index)}`
    const ask = (path: string, body: object) =>
      this.#cluster.ask({ method: 'PUT', path: index + path, target: this.target, body })
    await ask('/_settings', { index: { refresh_interval: null } })
    await ask('/_mapping', { _meta: { ...state.meta, vitrina } })
  }

  async #createOrFind(): Promise<IndexState> {
    await this.create(this.name, WHILE_LOADING, { loading: true })
    const state = await this.find()
    if (state === null) throw gone(this.target, 'it was created but does not exist')
    return state
  }

  #properties(columns: readonly Column[]): Properties {
    const mode = this.options.write_mode
    return Object.fromEntries(columns.map(({ name, type }) => [name, fieldType(type, mode).mapping]))
  }

  async #addFields(state: IndexState): Promise<void> {
    const missing = this.columns.filter(({ name }) => findProperty(state.properties, name) === null)
    if (missing.length === 0) return
    await this.#cluster.ask({
      method: 'PUT',
      path: `/${encodeURIComponent(state.index)}/_mapping`,
      target: this.target,
      body: { properties: this.#properties(missing) },
    })
  }

  async #addWriteAlias(index: string): Promise<void> {
    await this.#cluster.ask({
      method: 'POST',
      path: '/_aliases',
      target: this.target,
      body: { actions: [{ add: { index, alias: writeAlias(index), is_hidden: true } }] },
    })
  }

  #noSingleIndex(count: number): VitrinaError {
    return new VitrinaError(
      'TARGET_MISMATCH',
      `${this.target} is ${count > 1 ? `an alias of ${count} indexes` : 'a data stream'}, but a mart must be one index.`,
      'Point the alias to one index, or choose another target.',
    )
  }
}
