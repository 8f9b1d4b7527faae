import type { FastifyReply, FastifyRequest } from 'fastify'
import { VitrinaError } from '../../model/errors.js'
import { pathOf, sendProblem } from '../problem.js'
import type { Api } from '../schemas/type-provider.js'

interface Known {
  readonly methods: Set<string>
  readonly isOpen: boolean
}

/** What no route takes: 405 when only the method is wrong, else 404. Learns of every route that is added after it. */
export class UnknownRoutes {
  readonly #known = new Map<string, Known>()

  constructor(app: Api) {
    app.addHook('onRoute', ({ url, method, config }) => {
      const methods = this.#known.get(url)?.methods ?? new Set()
      for (const each of [method].flat()) methods.add(each)
      this.#known.set(url, { methods, isOpen: config?.access === 'open' })
    })
  }

  /** Where anybody may ask, anybody may learn how. To be called before tokens are looked at. */
  answerOpen(app: Api): void {
    app.addHook('onRequest', async (request, reply) => {
      if (!request.is404) return
      const routes = this.#at(pathOf(request))
      if (routes.length > 0 && routes.every(({ isOpen }) => isOpen)) return this.#answer(request, reply)
    })
  }

  /** Everything else, for those who have a token. */
  answer(app: Api): void {
    // Before the body is looked at: one that is missing (QUERY must have one) would hide that nobody takes it.
    app.addHook('onRequest', async (request, reply) =>
      request.is404 || this.#isMistaken(request) ? this.#answer(request, reply) : undefined,
    )
    app.setNotFoundHandler((request, reply) => this.#answer(request, reply))
  }

  /** `PATCH /pipelines/overview` is no change of a pipeline with the id "overview". */
  #isMistaken(request: FastifyRequest): boolean {
    return this.#known.get(pathOf(request))?.methods.has(request.method) === false
  }

  /** A path that a route has word for word is not taken for a pattern. */
  #at(path: string): Known[] {
    const exact = this.#known.get(path)
    if (exact !== undefined) return [exact]
    return [...this.#known].filter(([url]) => patternOf(url).test(path)).map(([, known]) => known)
  }

  #answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const path = pathOf(request)
    const allowed = [...new Set(this.#at(path).flatMap(({ methods }) => [...methods]))]
    if (allowed.length === 0) return sendProblem(request, reply, { status: 404, error: notFound(path) })
    reply.header('allow', allowed.join(', '))
    return sendProblem(request, reply, { status: 405, error: wrongMethod(request.method, path, allowed) })
  }
}

/** `/pipelines/:id/run` as an expression. The patterns are our own, and hold nothing that would have to be escaped. */
function patternOf(url: string): RegExp {
  return new RegExp(`^${url.replace(/:[^/]+/g, '[^/]+').replace('*', '.*')}$`)
}

function notFound(path: string): VitrinaError {
  return new VitrinaError(
    'ROUTE_NOT_FOUND',
    `There is no route ${path.slice(0, 200)}.`,
    'All routes begin with /api/v1.',
  )
}

function wrongMethod(method: string, path: string, allowed: string[]): VitrinaError {
  return new VitrinaError(
    'ROUTE_NOT_FOUND',
    `${path.slice(0, 200)} does not answer ${method}.`,
    `Use ${allowed.join(' or ')}.`,
  )
}
