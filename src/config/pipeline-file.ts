import { type Document, isNode, isScalar, LineCounter, type Node, parseAllDocuments, visit } from 'yaml'
import { checkValue, isMapping, type JsonSchema } from './json-schema.js'
import { plainPasswords } from './plain-passwords.js'
import { ReferenceAccess, type ReferenceLimits } from './reference-access.js'
import { resolveReferences } from './references.js'
import { type FileMistake, type FilePosition, SourceText } from './source-text.js'
import { YamlPlaces } from './yaml-places.js'

type PathSegment = string | number

/** A pipeline or a notification rule from a file, with the field names of the API. */
export interface FilePipeline {
  readonly name: string
  /** Only the fields in the file; the text of source_query_file is in source_query. */
  readonly fields: Readonly<Record<string, unknown>>
  /** The place of a field, such as `tasks.0.body`, or a place in its text. */
  locate(field: string, position?: { line: number; column: number } | null): FilePosition
}

export interface PipelineFile {
  readonly pipelines: readonly FilePipeline[]
  /** The rules under `notifications:`; null: no file has such a list. */
  readonly notifications: readonly FilePipeline[] | null
  readonly mistakes: readonly FileMistake[]
}

export const API_VERSION = 'vitrina/v1'

export interface FileOptions extends ReferenceLimits {
  /** The schema of a notification rule. Not given: a file must not contain any. */
  readonly notification?: JsonSchema
}

/** Reads one file: a mapping, a list under `pipelines:`, or several documents. Reports all mistakes together. */
export async function readPipelineFile(
  source: SourceText,
  schema: JsonSchema,
  options: FileOptions = {},
): Promise<PipelineFile> {
  const access = new ReferenceAccess(source.file, options)
  const { notification = null } = options
  const parts = await Promise.all(
    parseDocuments(source).map((parsed) =>
      'message' in parsed
        ? onlyMistake(source.place(1, 1), parsed.message)
        : readDocument({ source, schema, notification, access, places: parsed.places }, parsed),
    ),
  )
  const all = joined(parts)
  return { ...all, mistakes: all.mistakes.slice(0, MOST_MISTAKES) }
}

/** What several files, documents or entries contain. */
export function joined(parts: readonly PipelineFile[]): PipelineFile {
  const lists = parts.flatMap(({ notifications }) => (notifications === null ? [] : [notifications]))
  return {
    pipelines: parts.flatMap((part) => part.pipelines),
    notifications: lists.length === 0 ? null : lists.flat(),
    mistakes: parts.flatMap((part) => part.mistakes),
  }
}

interface ParsedFile {
  readonly document: Document
  readonly content: unknown
  readonly places: YamlPlaces
}

/** A file that expands without end, by aliases or nesting, is reported like any other mistake. */
function parseDocuments(source: SourceText): (ParsedFile | { readonly message: string })[] {
  try {
    const lines = new LineCounter()
    // The library would compare each key with all others: a mapping with 100,000 of them took minutes.
    const options = { lineCounter: lines, merge: true, uniqueKeys: false } as const
    const documents = parseAllDocuments(source.text, options)
    return (Array.isArray(documents) ? documents : []).map((document: Document) => ({
      document,
      content: document.errors.length > 0 ? null : contentOf(document),
      places: new YamlPlaces(source, lines, document),
    }))
  } catch (error) {
    if (error instanceof RangeError) return [{ message: 'is nested too deeply' }]
    if (error instanceof ReferenceError) return [{ message: `cannot be expanded: ${error.message}` }]
    throw error
  }
}

/** The library resolves an alias within its own anchor to a value that contains itself. */
function contentOf(document: Document): unknown {
  visit(document, {
    Alias: (_, alias, path) => {
      const names = path.some((node) => isNode(node) && 'anchor' in node && node.anchor === alias.source)
      const target = names ? alias.resolve(document) : undefined
      if (target !== undefined && path.includes(target))
        throw new ReferenceError(`the alias *${alias.source} refers to itself`)
    },
  })
  return document.toJS() as unknown
}

async function readDocument(reading: FileReading, { document, content }: ParsedFile): Promise<PipelineFile> {
  const { source, places } = reading
  if (document.errors.length > 0)
    return {
      ...NOTHING,
      mistakes: document.errors.slice(0, MOST_MISTAKES).map((error) => syntaxMistake(source, error)),
    }
  const doubled = doubledKeys(document)
  if (doubled.length > 0)
    return {
      ...NOTHING,
      mistakes: doubled.map((key) => ({
        place: places.ofNode(key),
        message: 'not valid YAML: Map keys must be unique',
      })),
    }
  if (content === null || content === undefined) return NOTHING
  if (!isMapping(content))
    return onlyMistake(
      places.ofValue([]),
      'must be a mapping: a pipeline, or a list of them under "pipelines:"',
    )
  const isList = Object.hasOwn(content, 'pipelines') || Object.hasOwn(content, 'notifications')
  return isList ? readList(reading, content) : readEntry(reading, content, [])
}

/** More would not help, and each is searched for its place. */
const MOST_MISTAKES = 100

function doubledKeys(document: Document): Node[] {
  const found: Node[] = []
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key) || key.value === '<<') continue
        if (seen.has(key.value) && found.length < MOST_MISTAKES) found.push(key)
        seen.add(key.value)
      }
    },
  })
  return found
}

interface FileReading {
  readonly source: SourceText
  readonly places: YamlPlaces
  readonly schema: JsonSchema
  /** Null: rules are not expected. */
  readonly notification: JsonSchema | null
  readonly access: ReferenceAccess
}

async function readList(reading: FileReading, content: Record<string, unknown>): Promise<PipelineFile> {
  const { pipelines, notifications } = content
  const found = checkValue(frameOf(reading), content).slice(0, MOST_MISTAKES)
  const mistakes = found.map(({ path, message, isKey }) => ({
    place: isKey ? reading.places.ofKey(path) : reading.places.ofValue(path),
    message,
  }))
  const { notification } = reading
  const parts = await Promise.all([
    ...mappingsIn(pipelines).map(([entry, n]) => readEntry(reading, entry, ['pipelines', n])),
    ...(notification === null
      ? []
      : mappingsIn(notifications).map(([entry, n]) =>
          readRule({ ...reading, schema: notification }, entry, ['notifications', n]),
        )),
  ])
  const own = { ...NOTHING, mistakes, notifications: Array.isArray(notifications) ? [] : null }
  return joined([own, ...parts])
}

/** The mappings of a list with their places; anything else is reported by the schema. */
function mappingsIn(list: unknown): [Record<string, unknown>, number][] {
  const entries: unknown[] = Array.isArray(list) ? list : []
  return entries.flatMap((entry, n) =>
    isMapping(entry) ? [[entry, n] as [Record<string, unknown>, number]] : [],
  )
}

const NOTHING: PipelineFile = { pipelines: [], notifications: null, mistakes: [] }

function frameOf({ notification }: FileReading): JsonSchema {
  const list: JsonSchema = { type: 'array', items: { type: 'object' } }
  return {
    type: 'object',
    additionalProperties: false,
    required: notification === null ? ['pipelines'] : [],
    properties: {
      apiVersion: { type: 'string', enum: [API_VERSION] },
      pipelines: list,
      ...(notification === null ? {} : { notifications: list }),
    },
  }
}

async function readRule(
  reading: FileReading,
  written: Record<string, unknown>,
  at: readonly PathSegment[],
): Promise<PipelineFile> {
  const { raw, mistakes } = await resolved(reading, written, at)
  const rule = {
    name: typeof raw.name === 'string' ? raw.name : '',
    fields: raw,
    locate: locator(reading.places, at, null),
  }
  return { pipelines: [], notifications: [rule], mistakes }
}

/** An entry with its references replaced, and what is wrong with it by its schema. */
async function resolved(
  reading: FileReading,
  written: Record<string, unknown>,
  at: readonly PathSegment[],
): Promise<{ readonly raw: Record<string, unknown>; readonly mistakes: readonly FileMistake[] }> {
  const { value, mistakes } = await resolveReferences(written, reading.schema, reading.access)
  const raw = value as Record<string, unknown>
  const unresolved = mistakes.map(({ path, message }) => ({
    place: reading.places.ofValue([...at, ...path]),
    message: `${path.join('.')}: ${message}`,
  }))
  // A value that could not be resolved would be reported a second time, as invalid.
  return { raw, mistakes: unresolved.length > 0 ? unresolved : shapeMistakes(reading, raw, at) }
}

async function readEntry(
  reading: FileReading,
  written: Record<string, unknown>,
  at: readonly PathSegment[],
): Promise<PipelineFile> {
  const { places } = reading
  const { raw, mistakes: wrong } = await resolved(reading, written, at)
  const mistakes: FileMistake[] = [...wrong]
  const { apiVersion: _, source_query_file: queryFile, ...fields } = raw
  const query = await readQuery(reading, queryFile, [...at, 'source_query_file'])
  mistakes.push(...doubledSources({ places, at }, raw))
  if (query !== null && !(query instanceof SourceText)) mistakes.push(query)
  const text = query instanceof SourceText ? query : null
  const pipeline = {
    name: typeof raw.name === 'string' ? raw.name : '',
    fields: text === null ? fields : { ...fields, source_query: text.text },
    locate: locator(places, at, text),
  }
  return {
    pipelines: [pipeline],
    notifications: null,
    mistakes: [...mistakes, ...passwordMistakes(pipeline)],
  }
}

const SOURCES = ['source_query', 'source_query_file', 'source_table'] as const

/** A pipeline has one source; a second one is reported at its place. */
function doubledSources(
  { places, at }: { readonly places: YamlPlaces; readonly at: readonly PathSegment[] },
  raw: Readonly<Record<string, unknown>>,
): FileMistake[] {
  const [first, ...more] = SOURCES.filter((field) => (raw[field] ?? null) !== null)
  return more.map((field) => ({
    place: places.ofKey([...at, field]),
    message: `give ${first} or ${field}, not both`,
  }))
}

function shapeMistakes(
  { places, schema }: FileReading,
  raw: Record<string, unknown>,
  at: readonly PathSegment[],
): FileMistake[] {
  const found = checkValue(schema, raw).slice(0, MOST_MISTAKES)
  return found.map(({ path, message, isKey }) => {
    const name = path.at(-1)
    const text = isKey || name === undefined ? message : `${path.join('.')} ${message}`
    return { place: isKey ? places.ofKey([...at, ...path]) : places.ofValue([...at, ...path]), message: text }
  })
}

function passwordMistakes({ fields, locate }: FilePipeline): FileMistake[] {
  return plainPasswords(fields).map((path) => {
    const field = path.join('.')
    return {
      // Without the line: a reader of the deployment log must not see the password.
      place: { ...locate(field), excerpt: [] },
      message: `${field} contains a password: set the address of a database on the server as VITRINA_CONNECTION_<NAME>_URL, and use its name as source_connection or target_connection`,
    }
  })
}

function locator(
  places: YamlPlaces,
  at: readonly PathSegment[],
  queryFile: SourceText | null,
): FilePipeline['locate'] {
  return (field, position = null) => {
    if (field === 'source_query' && queryFile !== null)
      return queryFile.place(position?.line ?? 1, position?.column ?? 1)
    const path = [...at, ...field.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step))]
    return position === null ? places.ofValue(path) : places.inText(path, position.line, position.column)
  }
}

/** Null if the query is in the file itself. */
async function readQuery(
  { places, access }: FileReading,
  name: unknown,
  at: readonly PathSegment[],
): Promise<SourceText | FileMistake | null> {
  if (typeof name !== 'string') return null
  const query = await access.file(name)
  if (query.text !== undefined) return new SourceText(query.path, query.text)
  return { place: places.ofValue(at), message: `source_query_file cannot be read: ${query.message}` }
}

function syntaxMistake(source: SourceText, error: Document['errors'][number]): FileMistake {
  const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
  // The library adds the place and an excerpt of the file; we show both ourselves.
  const message = error.message.split(/ at line \d+/)[0] ?? error.message
  return { place: source.place(line, col), message: `not valid YAML: ${message}` }
}

function onlyMistake(place: FilePosition, message: string): PipelineFile {
  return { ...NOTHING, mistakes: [{ place, message }] }
}
