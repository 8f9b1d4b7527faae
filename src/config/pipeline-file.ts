import { type Document, LineCounter, parseAllDocuments } from 'yaml'
import { checkValue, isMapping, type JsonSchema } from './json-schema.js'
import { plainPasswords } from './plain-passwords.js'
import { ReferenceAccess, type ReferenceLimits } from './reference-access.js'
import { resolveReferences } from './references.js'
import { type FileMistake, type Place, SourceText } from './source-text.js'
import { YamlPlaces } from './yaml-places.js'

type Step = string | number

/** A pipeline from a file, with the field names of the API. */
export interface FilePipeline {
  readonly name: string
  /** Only the fields in the file; the text of source_query_file is in source_query. */
  readonly fields: Readonly<Record<string, unknown>>
  /** The place of a field, such as `tasks.0.body`, or a place in its text. */
  locate(field: string, position?: { line: number; column: number } | null): Place
}

export interface PipelineFile {
  readonly pipelines: readonly FilePipeline[]
  readonly mistakes: readonly FileMistake[]
}

export const API_VERSION = 'vitrina/v1'

/** Reads one file: a mapping, a list under `pipelines:`, or several documents. Reports all mistakes together. */
export async function readPipelineFile(
  source: SourceText,
  schema: JsonSchema,
  limits: ReferenceLimits = {},
): Promise<PipelineFile> {
  const access = new ReferenceAccess(source.file, limits)
  const parts = await Promise.all(
    parseDocuments(source).map((parsed) =>
      'message' in parsed
        ? onlyMistake(source.place(1, 1), parsed.message)
        : readDocument({ source, schema, access, places: parsed.places }, parsed),
    ),
  )
  return {
    pipelines: parts.flatMap((part) => part.pipelines),
    mistakes: parts.flatMap((part) => part.mistakes),
  }
}

interface Parsed {
  readonly document: Document
  readonly content: unknown
  readonly places: YamlPlaces
}

/** A file that expands without end, by aliases or nesting, is reported like any other mistake. */
function parseDocuments(source: SourceText): (Parsed | { readonly message: string })[] {
  try {
    const lines = new LineCounter()
    const documents = parseAllDocuments(source.text, { lineCounter: lines, merge: true })
    return (Array.isArray(documents) ? documents : []).map((document: Document) => ({
      document,
      content: document.errors.length > 0 ? null : (document.toJS() as unknown),
      places: new YamlPlaces(source, lines, document),
    }))
  } catch (error) {
    if (error instanceof RangeError) return [{ message: 'is nested too deeply' }]
    if (error instanceof ReferenceError) return [{ message: `cannot be expanded: ${error.message}` }]
    throw error
  }
}

async function readDocument(reading: Reading, { document, content }: Parsed): Promise<PipelineFile> {
  const { source, places } = reading
  if (document.errors.length > 0)
    return { pipelines: [], mistakes: document.errors.map((error) => syntaxMistake(source, error)) }
  if (content === null || content === undefined) return { pipelines: [], mistakes: [] }
  if (!isMapping(content))
    return onlyMistake(
      places.ofValue([]),
      'must be a mapping: a pipeline, or a list of them under "pipelines:"',
    )
  if (!Object.hasOwn(content, 'pipelines')) return readEntry(reading, content, [])
  return readList(reading, content)
}

interface Reading {
  readonly source: SourceText
  readonly places: YamlPlaces
  readonly schema: JsonSchema
  readonly access: ReferenceAccess
}

async function readList(reading: Reading, content: Record<string, unknown>): Promise<PipelineFile> {
  const { pipelines: list, apiVersion, ...unknown } = content
  const frame = checkValue(FRAME, {
    pipelines: list,
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...unknown,
  })
  const mistakes = frame.map(({ path, message, isKey }) => ({
    place: isKey ? reading.places.ofKey(path) : reading.places.ofValue(path),
    message,
  }))
  const entries = Array.isArray(list) ? list : []
  const parts = await Promise.all(
    entries.map((entry, n) => (isMapping(entry) ? readEntry(reading, entry, ['pipelines', n]) : NOTHING)),
  )
  return {
    pipelines: parts.flatMap((part) => part.pipelines),
    mistakes: [...mistakes, ...parts.flatMap((part) => part.mistakes)],
  }
}

const NOTHING: PipelineFile = { pipelines: [], mistakes: [] }
const FRAME: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['pipelines'],
  properties: {
    apiVersion: { type: 'string', enum: [API_VERSION] },
    pipelines: { type: 'array', items: { type: 'object' } },
  },
}

async function readEntry(
  reading: Reading,
  written: Record<string, unknown>,
  at: readonly Step[],
): Promise<PipelineFile> {
  const { places, schema } = reading
  const resolved = await resolveReferences(written, schema, reading.access)
  const raw = resolved.value as Record<string, unknown>
  const unresolved = resolved.mistakes.map(({ path, message }) => ({
    place: places.ofValue([...at, ...path]),
    message: `${path.join('.')}: ${message}`,
  }))
  // A value that could not be resolved would be reported a second time, as invalid.
  const wrong = unresolved.length > 0 ? [] : shapeMistakes(reading, raw, at)
  const mistakes: FileMistake[] = [...unresolved, ...wrong]
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
  return { pipelines: [pipeline], mistakes: [...mistakes, ...passwordMistakes(pipeline)] }
}

const SOURCES = ['source_query', 'source_query_file', 'source_table'] as const

/** A pipeline has one source; a second one is reported at its place. */
function doubledSources(
  { places, at }: { readonly places: YamlPlaces; readonly at: readonly Step[] },
  raw: Readonly<Record<string, unknown>>,
): FileMistake[] {
  const [first, ...more] = SOURCES.filter((field) => (raw[field] ?? null) !== null)
  return more.map((field) => ({
    place: places.ofKey([...at, field]),
    message: `give ${first} or ${field}, not both`,
  }))
}

function shapeMistakes(
  { places, schema }: Reading,
  raw: Record<string, unknown>,
  at: readonly Step[],
): FileMistake[] {
  return checkValue(schema, raw).map(({ path, message, isKey }) => {
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
  at: readonly Step[],
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
  { places, access }: Reading,
  name: unknown,
  at: readonly Step[],
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

function onlyMistake(place: Place, message: string): PipelineFile {
  return { pipelines: [], mistakes: [{ place, message }] }
}
