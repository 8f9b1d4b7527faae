import { aboutWire, settingsToWire, settingsWire } from '../schemas/about.js'
import { connectionsWire, lookToWire } from '../schemas/connection.js'
import type { Api } from '../schemas/type-provider.js'
import type { AboutService } from '../services/about.js'
import type { ConnectionService } from '../services/connections.js'
import { rule } from './rule.js'

const TAG = 'operation'

export function aboutRoutes(app: Api, about: AboutService, connections: ConnectionService): void {
  app.get(
    '/connections',
    {
      config: rule(
        'viewer',
        TAG,
        'Tries every server that the API knows, each for at most a few seconds, and tells who uses it.',
      ),
      schema: { response: { 200: connectionsWire } },
    },
    async () => lookToWire(await connections.look()),
  )

  app.get(
    '/about',
    {
      config: rule('viewer', TAG, 'Tells what this server is: versions, migrations, how long it runs.'),
      schema: { response: { 200: aboutWire } },
    },
    async () => about.about(),
  )

  app.get(
    '/settings',
    {
      config: rule('admin', TAG, 'Lists the settings in force in the API, without secrets.'),
      schema: { response: { 200: settingsWire } },
    },
    async () => settingsToWire(about.settings),
  )
}
