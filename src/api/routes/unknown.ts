import { VitrinaError } from '../../model/errors.js'
import { pathOf, sendProblem } from '../problem.js'
import type { Api } from '../schemas/type-provider.js'

/** Answers what no route takes: 405 when only the method is wrong, else 404. Must come before the routes it learns of. */
export function unknownRoutes(app: Api): void {
  const known = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = known.get(url) ?? new Set()
    known.set(url, new Set([...methods, ...[method].flat()]))
  })
  app.setNotFoundHandler(async (request, reply) => {
    const path = pathOf(request)
    const allowed = [...known]
      .filter(([url]) => patternOf(url).test(path))
      .flatMap(([, methods]) => [...methods])
    if (allowed.length === 0) return sendProblem(request, reply, { status: 404, error: notFound(path) })
    reply.header('allow', allowed.join(', '))
    return sendProblem(request, reply, { status: 405, error: wrongMethod(request.method, path, allowed) })
  })
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
