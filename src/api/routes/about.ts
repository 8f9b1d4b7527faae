import { aboutWire, settingsToWire, settingsWire } from '../schemas/about.js'
import { connectionsToWire, connectionsWire } from '../schemas/connection.js'
import type { Api } from '../schemas/type-provider.js'
import type { AboutService } from '../services/about.js'
import type { ConnectionService } from '../services/connections.js'
import { rule } from './rule.js'

const TAG = 'operation'

export function aboutRoutes(app: Api, about: AboutService, connections: ConnectionService): void {
  app.get(
    '/connections',
    {
      config: rule('viewer', {
        tag: TAG,
        summary:
          'Test the connection to every server known to the API, each for at most a few seconds, and list the pipelines that use it.',
      }),
      schema: { response: { 200: connectionsWire } },
    },
    async () => connectionsToWire(await connections.test()),
  )

  app.get(
    '/about',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Get information about this server: versions, migrations, uptime.',
      }),
      schema: { response: { 200: aboutWire } },
    },
    async () => about.about(),
  )

  app.get(
    '/settings',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'List the effective settings of the API, without secrets.',
      }),
      schema: { response: { 200: settingsWire } },
    },
    async () => settingsToWire(about.settings),
  )
}
