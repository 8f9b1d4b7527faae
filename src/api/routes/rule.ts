import type { FastifyContextConfig } from 'fastify'
import type { z } from 'zod'
import type { Role } from '../../model/access.js'
import type { Tag } from '../openapi/tags.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the reference says about a route. */
    doc?: RouteDoc
  }
}

export interface RouteDoc {
  readonly tag: Tag
  readonly summary: string
  /** Errors beyond those that every route can return. */
  readonly problems: readonly number[]
  /** A body that the service reads field by field, so that all mistakes are reported at once. */
  readonly body?: z.ZodType
  /** The type of the response if it is not JSON. */
  readonly media?: string
  /** What the response contains, if `media` has a structure. For a stream: the data of each event. */
  readonly content?: z.ZodType
  /** Operations that take values of this response: by operationId, each parameter as a runtime expression. */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

interface RuleOptions extends Omit<RouteDoc, 'problems'>, Partial<Pick<RouteDoc, 'problems'>> {
  readonly quiet?: boolean
  readonly check?: FastifyContextConfig['check']
  readonly bearerOnly?: true
  readonly share?: FastifyContextConfig['share']
}

/**
 * Who may call a route and what it does: no route starts without the former, and none is documented without the
 * latter.
 */
export function rule(
  access: Role | 'open',
  { quiet = false, check, bearerOnly, share, problems = [], ...doc }: RuleOptions,
): FastifyContextConfig {
  return {
    access,
    quiet,
    ...(check && { check }),
    ...(bearerOnly && { bearerOnly }),
    ...(share && { share }),
    doc: { problems, ...doc },
  }
}
