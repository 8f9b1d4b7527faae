import type { FastifyReply, FastifyRequest } from 'fastify'
import { VitrinaError } from '../../model/errors.js'
import { requestPath, sendProblem } from '../http/problem.js'
import type { Api } from '../schemas/type-provider.js'

interface Known {
  readonly methods: Set<string>
  readonly isOpen: boolean
}

/**
 * Requests that no route takes: 405 if only the method is wrong, else 404. Records every route that is added after
 * it.
 */
export class UnknownRoutes {
  readonly #known = new Map<string, Known>()

  constructor(app: Api) {
    app.addHook('onRoute', ({ url, method, config }) => {
      const methods = this.#known.get(url)?.methods ?? new Set()
      for (const each of [method].flat()) methods.add(each)
      this.#known.set(url, { methods, isOpen: config?.access === 'open' })
    })
  }

  /** Open paths report their methods to everyone. To be called before tokens are checked. */
  answerOpen(app: Api): void {
    app.addHook('onRequest', async (request, reply) => {
      if (!request.is404) return
      const routes = this.#at(requestPath(request))
      if (routes.length > 0 && routes.every(({ isOpen }) => isOpen)) return this.#answer(request, reply)
    })
  }

  /** Everything else, for callers with a token. */
  answer(app: Api): void {
    // Before the body is read: a missing body (QUERY must have one) would hide that no route takes the method.
    app.addHook('onRequest', async (request, reply) =>
      request.is404 || this.#isMistaken(request) ? this.#answer(request, reply) : undefined,
    )
    app.setNotFoundHandler((request, reply) => this.#answer(request, reply))
  }

  /** `PATCH /pipelines/overview` does not change a pipeline with the id "overview". */
  #isMistaken(request: FastifyRequest): boolean {
    return this.#known.get(requestPath(request))?.methods.has(request.method) === false
  }

  /** A path that equals a route literally is not matched as a pattern. */
  #at(path: string): Known[] {
    const exact = this.#known.get(path)
    if (exact !== undefined) return [exact]
    return [...this.#known].filter(([url]) => patternOf(url).test(path)).map(([, known]) => known)
  }

  #answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const path = requestPath(request)
    const allowed = [...new Set(this.#at(path).flatMap(({ methods }) => [...methods]))]
    if (allowed.length === 0) return sendProblem(request, reply, { status: 404, error: notFound(path) })
    reply.header('allow', allowed.join(', '))
    return sendProblem(request, reply, { status: 405, error: wrongMethod(request.method, path, allowed) })
  }
}

/** `/pipelines/:id/run` as a regular expression. The patterns are our own and contain nothing to escape. */
function patternOf(url: string): RegExp {
  return new RegExp(`^${url.replace(/:[^/]+/g, '[^/]+').replace('*', '.*')}$`)
}

function notFound(path: string): VitrinaError {
  return new VitrinaError(
    'ROUTE_NOT_FOUND',
    `The route ${path.slice(0, 200)} does not exist.`,
    'All routes begin with /api/v1.',
  )
}

function wrongMethod(method: string, path: string, allowed: string[]): VitrinaError {
  return new VitrinaError(
    'ROUTE_NOT_FOUND',
    `${path.slice(0, 200)} does not support ${method}.`,
    `Use ${allowed.join(' or ')}.`,
  )
}
