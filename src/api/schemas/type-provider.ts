import '../../model/plain-issues.js'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifySchemaCompiler,
  FastifyTypeProvider,
  RawServerDefault,
} from 'fastify'
import type { z } from 'zod'
import { type FieldError, RequestInvalid } from './request-invalid.js'

/** Infers the type of a handler from the zod schemas of its route. */
export interface ZodTypeProvider extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
  serializer: this['schema'] extends z.ZodType ? z.input<this['schema']> : unknown
}

/** The server as routes see it. */
export type Api = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>

export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const parsed = schema.safeParse(data)
    return parsed.success
      ? { value: parsed.data }
      : { error: new RequestInvalid(parsed.error.issues.flatMap(fieldErrors)) }
  }

/**
 * The type guarantees the shape of a response; validating each one would turn a mistake of ours into a failed
 * request.
 */
export const serializerCompiler = () => (data: unknown) => JSON.stringify(data)

export function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  // zod reports unknown fields as one issue of the enclosing object; users look for the field.
  const fields =
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
  const message = issue.code === 'unrecognized_keys' ? 'Unknown field' : issue.message
  return fields.map((path) => ({ field: path.join('.'), code: issue.code, message }))
}
