import type { FastifyContextConfig } from 'fastify'
import type { z } from 'zod'
import type { Role } from '../../model/access.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the reference says about a route. */
    doc?: RouteDoc
  }
}

export interface RouteDoc {
  readonly tag: string
  readonly summary: string
  /** Refusals beyond those that every route knows. */
  readonly problems: readonly number[]
  /** A body that the service reads field by field, so that all mistakes are told at once. */
  readonly body?: z.ZodType
  /** What the answer is, when it is not JSON. */
  readonly media?: string
  /** Operations that take what this one answers: by their operationId, each parameter as a runtime expression. */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

interface Extra extends Partial<Pick<RouteDoc, 'problems' | 'body' | 'media' | 'links'>> {
  readonly quiet?: boolean
  readonly check?: FastifyContextConfig['check']
  readonly bearerOnly?: true
  readonly share?: FastifyContextConfig['share']
}

/** Who may call a route and what it does: no route starts without the first, none is documented without the second. */
export function rule(
  access: Role | 'open',
  tag: string,
  summary: string,
  { quiet = false, check, bearerOnly, share, problems = [], ...rest }: Extra = {},
): FastifyContextConfig {
  return {
    access,
    quiet,
    ...(check && { check }),
    ...(bearerOnly && { bearerOnly }),
    ...(share && { share }),
    doc: { tag, summary, problems, ...rest },
  }
}
