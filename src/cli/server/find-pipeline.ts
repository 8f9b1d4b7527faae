import { didYouMean } from '../../config/did-you-mean.js'
import { VitrinaError } from '../../model/errors.js'
import { isId } from '../../model/id.js'
import { allPages } from './pages.js'
import type { Server } from './server.js'
import type { Pipeline } from './wire.js'

/** A pipeline by its name or its id. */
export async function findPipeline(server: Server, nameOrId: string): Promise<Pipeline> {
  if (isId(nameOrId)) {
    const byId = await server.api.GET('/pipelines/{id}', { params: { path: { id: nameOrId } } })
    if (byId.response.status !== 404) return server.ask(Promise.resolve(byId))
  }
  const near = nameOrId === '' ? [] : await listPipelines(server, { q: nameOrId })
  return near.find(({ name }) => name === nameOrId) ?? (await failToFind(server, nameOrId))
}

/** How a pipeline is named in a path. */
export async function pipelinePath(server: Server, nameOrId: string): Promise<{ path: { id: string } }> {
  return { path: { id: (await findPipeline(server, nameOrId)).id } }
}

export function listPipelines(server: Server, query: { q?: string } = {}): Promise<Pipeline[]> {
  return allPages((page) =>
    server.ask(server.api.GET('/pipelines', { params: { query: { ...query, ...page } } })),
  )
}

async function failToFind(server: Server, wanted: string): Promise<never> {
  const names = (await listPipelines(server)).map(({ name }) => name)
  throw new VitrinaError(
    'PIPELINE_NOT_FOUND',
    `Pipeline "${wanted}" does not exist on ${server.url}.${didYouMean(wanted, names)}`,
    'Run "vitrina pipelines list" to list the pipelines.',
  )
}
