import { z } from 'zod'
import { mapFields, type PipelineValues } from '../../model/pipeline-fields.js'

/** The schema of every field in responses. */
export const FIELD_RESPONSES = mapFields(
  ({ schema, response }) => response ?? withoutLimits(schema).describe(schema.description ?? ''),
) as { [F in keyof PipelineValues]: z.ZodType<PipelineValues[F]> }

/** Limits and defaults apply to requests: a stored value may be older than a limit. */
function withoutLimits(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return withoutLimits(inner(schema))
  if (schema instanceof z.ZodNullable) return withoutLimits(inner(schema)).nullable()
  if (schema instanceof z.ZodArray) return z.array(withoutLimits(schema.element as z.ZodType))
  if (schema instanceof z.ZodUnion) return z.union((schema.options as z.ZodType[]).map(withoutLimits))
  if (schema instanceof z.ZodRecord) return z.record(z.string(), schema.valueType as z.ZodType)
  if (schema instanceof z.ZodString) return z.string()
  return schema instanceof z.ZodNumber ? z.number() : schema
}

function inner(schema: z.ZodDefault | z.ZodOptional | z.ZodNullable): z.ZodType {
  return schema.unwrap() as z.ZodType
}
