import { type CamelCase, camelCase } from './camel-case.js'
import {
  type FieldDefinition,
  PIPELINE_FIELD_NAMES,
  PIPELINE_FIELDS,
  type PipelineField,
  type PipelineValues,
} from './pipeline-fields.js'

/**
 * The configuration: a query or a table, a target and a key. All that a run does is fill the target. Each field is
 * described in `PIPELINE_FIELDS`.
 */
export type PipelineSpec = { readonly [F in PipelineField as CamelCase<F>]: PipelineColumns[F] }

/** The fields as `etl.etl_pipelines` stores them. */
export type PipelineColumns = { readonly [F in PipelineField]: Frozen<Stored<F>> }

type Stored<F extends PipelineField> = (typeof PIPELINE_FIELDS)[F] extends { nullMeans: infer Value }
  ? Exclude<PipelineValues[F], Value | EmptyValue<F>> | null
  : PipelineValues[F]

type EmptyValue<F extends PipelineField> = (typeof PIPELINE_FIELDS)[F] extends { emptyMeans: infer Value }
  ? Value
  : never

type Frozen<T> = T extends readonly (infer Item)[] ? readonly Item[] : T extends object ? Readonly<T> : T

const PROPERTIES = PIPELINE_FIELD_NAMES.map((name) => {
  const { nullMeans, emptyMeans }: FieldDefinition = PIPELINE_FIELDS[name]
  return { name, property: camelCase(name), nullMeans, emptyMeans }
})

/** A row of the database as the program uses it. */
export function specOf(columns: PipelineColumns): PipelineSpec {
  return Object.fromEntries(PROPERTIES.map(({ name, property }) => [property, columns[name]])) as never
}

export function columnsOf(spec: PipelineSpec): PipelineColumns {
  return Object.fromEntries(PROPERTIES.map(({ name, property }) => [name, spec[property]])) as never
}

/** A request or a file as the program uses it. */
export function specOfValues(values: PipelineValues): PipelineSpec {
  const entries = PROPERTIES.map(({ name, property, nullMeans, emptyMeans }) => {
    const value = values[name]
    if (emptyMeans !== undefined && value === emptyMeans) return [property, []]
    return [property, nullMeans !== undefined && value === nullMeans ? null : value]
  })
  return Object.fromEntries(entries) as never
}

export function valuesOfSpec(spec: PipelineSpec): PipelineValues {
  const entries = PROPERTIES.map(({ name, property, nullMeans, emptyMeans }) => {
    const value = spec[property]
    if (emptyMeans !== undefined && Array.isArray(value) && value.length === 0) return [name, emptyMeans]
    return [name, value ?? nullMeans ?? null]
  })
  return Object.fromEntries(entries) as never
}
