import { z } from 'zod'
import { authorOf } from '../auth/bearer.js'
import {
  changedSpec,
  channelsWire,
  channelToWire,
  deadPage,
  deadToWire,
  ruleChange,
  ruleInput,
  ruleSpecOf,
  rulesWire,
  ruleToWire,
  ruleWire,
  testInput,
  testToWire,
  testWire,
} from '../schemas/notification.js'
import { plainPage } from '../schemas/page.js'
import { byId } from '../schemas/params.js'
import type { Api } from '../schemas/type-provider.js'
import type { NotificationService } from '../services/notifications.js'
import { API_PREFIX, pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'notifications'
const NOTHING = z.null().describe('Nothing.')

export function notificationRoutes(app: Api, notifications: NotificationService): void {
  ruleRoutes(app, notifications)
  deliveryRoutes(app, notifications)
}

function ruleRoutes(app: Api, notifications: NotificationService): void {
  app.get(
    '/notifications',
    {
      config: rule('viewer', { tag: TAG, summary: 'List the notification rules by name.' }),
      schema: { response: { 200: rulesWire } },
    },
    async () => ({ items: (await notifications.listRules()).map(ruleToWire), next_cursor: null }),
  )

  app.post(
    '/notifications',
    {
      config: rule('admin', { tag: TAG, summary: 'Create a notification rule.', problems: [409] }),
      schema: { body: ruleInput, response: { 201: ruleWire } },
    },
    async (request, reply) => {
      const made = await notifications.create(ruleSpecOf(request.body), authorOf(request))
      reply.code(201).header('location', `${API_PREFIX}/notifications/${made.id}`)
      return ruleToWire(made)
    },
  )

  app.patch(
    '/notifications/:id',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'Change a notification rule. Absent fields keep their values.',
        problems: [404, 409],
      }),
      schema: { params: byId, body: ruleChange, response: { 200: ruleWire } },
    },
    async (request) => {
      const change = request.body
      const { id } = request.params
      return ruleToWire(
        await notifications.change(id, (before) => changedSpec(before, change), authorOf(request)),
      )
    },
  )

  app.delete(
    '/notifications/:id',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'Delete a notification rule. Messages that were composed are still delivered.',
        problems: [404],
      }),
      schema: { params: byId, response: { 204: NOTHING } },
    },
    async (request, reply) => {
      await notifications.delete(request.params.id, authorOf(request))
      return reply.code(204).send(null)
    },
  )
}

function deliveryRoutes(app: Api, notifications: NotificationService): void {
  app.get(
    '/notifications/channels',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the channels with the state of their deliveries, without addresses and secrets.',
      }),
      schema: { response: { 200: channelsWire } },
    },
    async () => ({ items: (await notifications.listChannels()).map(channelToWire) }),
  )

  app.post(
    '/notifications/test',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Send a test message to a channel, and return the response of the receiver.',
      }),
      schema: { body: testInput, response: { 200: testWire } },
    },
    async ({ body: { channel } }) => testToWire(channel, await notifications.test(channel)),
  )

  app.get(
    '/notifications/dead',
    {
      config: rule('viewer', {
        tag: TAG,
        summary:
          'List notifications that were given up after VITRINA_NOTIFY_ATTEMPTS attempts, newest first.',
      }),
      schema: { querystring: plainPage, response: { 200: deadPage } },
    },
    async (request, reply) => {
      const page = await notifications.listDead(request.query)
      return pageToWire(page, deadToWire, { request, reply })
    },
  )

  for (const [as, summary] of [
    ['retry', 'Deliver a notification that was given up again.'],
    ['discard', 'Remove a notification that was given up from the list.'],
  ] as const)
    app.post(
      `/notifications/dead/:id/${as}`,
      {
        config: rule('operator', { tag: TAG, summary, problems: [404] }),
        schema: { params: byId, response: { 204: NOTHING } },
      },
      async (request, reply) => {
        await notifications.settleDead(request.params.id, as, authorOf(request))
        return reply.code(204).send(null)
      },
    )
}
