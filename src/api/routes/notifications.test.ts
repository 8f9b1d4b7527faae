import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aDispatcher, aReportingPipeline, aRule, webhookEnv } from '../../../tests/support/notifications.js'
import { anHttpReceiver } from '../../../tests/support/receivers.js'

const RULE = { name: 'failures', events: ['failed', 'recovered'], channel: 'hook' }

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'), { env: webhookEnv('http://127.0.0.1:1') })
})

const remove = (id: string) => api.call({ method: 'DELETE', url: `/notifications/${id}` })

describe('rules', () => {
  it('are created with defaults, changed field by field, listed and deleted', async () => {
    const made = await api.post('/notifications', RULE)
    expect(made.statusCode).toBe(201)
    const { id, created_at, updated_at, ...fields } = made.json()
    expect(fields).toEqual({
      ...RULE,
      ...{
        enabled: true,
        pipelines: [],
        tags: [],
        quiet_hours: null,
        group_seconds: 10,
        repeat_seconds: 600,
      },
      ...{ max_per_hour: 20, held_back_seconds: 900 },
    })
    const quiet = { from: '22:00', to: '07:00', timezone: 'Europe/Moscow' }
    const changed = await api.patch(`/notifications/${id}`, { quiet_hours: quiet, pipelines: ['film_*'] })
    expect(changed.json()).toMatchObject({ ...RULE, quiet_hours: quiet, pipelines: ['film_*'] })
    expect((await api.patch(`/notifications/${id}`, { quiet_hours: null })).json()).toMatchObject({
      quiet_hours: null,
      pipelines: ['film_*'],
    })
    expect((await api.get('/notifications')).json().items.map(({ name }: { name: string }) => name)).toEqual([
      'failures',
    ])
    expect((await remove(id)).statusCode).toBe(204)
    expect((await remove(id)).json().code).toBe('NOTIFICATION_NOT_FOUND')
    expect((await api.patch(`/notifications/${id}`, {})).statusCode).toBe(404)
    const audit = (await api.get('/audit?action=notification.')).json().items
    expect(audit.map(({ action }: { action: string }) => action)).toEqual([
      'notification.delete',
      'notification.update',
      'notification.update',
      'notification.create',
    ])
    expect(audit[2].diff.pipelines).toEqual({ old: [], new: ['film_*'] })
    expect([created_at, updated_at]).toEqual([expect.any(String), expect.any(String)])
  })

  it.each([
    [{ events: [] }, 'events'],
    [{ events: ['exploded'] }, 'events.0'],
    [{ events: ['recovered'] }, 'events'],
    [{ channel: 'nowhere' }, 'channel'],
    [{ quiet_hours: { from: '25:00', to: '07:00' } }, 'quiet_hours.from'],
    [{ quiet_hours: { from: '07:00', to: '07:00' } }, 'quiet_hours'],
    [{ quiet_hours: { from: '22:00', to: '07:00', timezone: 'Mars/Base' } }, 'quiet_hours.timezone'],
    [{ max_per_hour: 0 }, 'max_per_hour'],
    [{ colour: 'red' }, 'colour'],
  ])('are rejected with %j', async (wrong, field) => {
    const answer = await api.post('/notifications', { ...RULE, name: randomUUID(), ...wrong })
    expect(answer.statusCode).toBe(422)
    expect(answer.json().errors.map((error: { field: string }) => error.field)).toContain(field)
  })

  it('have different names', async () => {
    const first = (await api.post('/notifications', { ...RULE, name: 'one' })).json()
    const second = (await api.post('/notifications', { ...RULE, name: 'two' })).json()
    expect((await api.post('/notifications', { ...RULE, name: 'one' })).json().code).toBe(
      'NOTIFICATION_NAME_TAKEN',
    )
    expect((await api.patch(`/notifications/${second.id}`, { name: 'one' })).statusCode).toBe(409)
    expect((await api.patch(`/notifications/${second.id}`, { name: 'two' })).statusCode).toBe(200)
    for (const { id } of [first, second]) await remove(id)
  })
})

describe('a test message', () => {
  it('returns the response of the receiver', async () => {
    const receiver = await anHttpReceiver()
    const own = anApi(database.loginUrl('meta'), { env: webhookEnv(receiver.url) })
    try {
      receiver.answer = (response) => response.writeHead(200).end('ok')
      expect((await own.post('/notifications/test', { channel: 'hook' })).json()).toEqual({
        channel: 'hook',
        delivered: true,
        detail: '127.0.0.1 responded with 200: ok',
        hint: null,
      })
      expect(JSON.parse(receiver.posts[0]!.body)).toMatchObject({ type: 'vitrina.test' })
      receiver.answer = (response) => response.writeHead(403).end('invalid_token')
      expect((await own.post('/notifications/test', { channel: 'hook' })).json()).toMatchObject({
        delivered: false,
        detail: '127.0.0.1 responded with 403: invalid_token',
        hint: 'The receiver rejected the secret or the token of the channel.',
      })
    } finally {
      await own.close()
    }
  })

  it('reports why there is no response', async () => {
    expect((await api.post('/notifications/test', { channel: 'hook' })).json()).toMatchObject({
      delivered: false,
      detail: '127.0.0.1 could not be reached (ECONNREFUSED).',
    })
    const unknown = await api.post('/notifications/test', { channel: 'nowhere' })
    expect(unknown.statusCode).toBe(422)
    expect(unknown.json()).toMatchObject({ code: 'CHANNEL_UNKNOWN', hint: expect.stringContaining('hook') })
  })
})

describe('undelivered notifications', () => {
  it('are listed, delivered again and discarded, and counted with their channel', async () => {
    const receiver = await anHttpReceiver()
    receiver.answer = (response) => response.writeHead(500).end('broken')
    const env = webhookEnv(receiver.url)
    const dispatcher = aDispatcher(database, { env, mostAttempts: 1 })
    await aRule(database, { name: 'dying' })
    const pipeline = await aReportingPipeline(database, 'film_dim')
    await pipeline.fail('CODE_1')
    await pipeline.fail('CODE_2')
    await dispatcher.deliver()
    const dead = (await api.get('/notifications/dead')).json().items
    expect(dead).toHaveLength(2)
    expect(dead[1]).toMatchObject({
      ...{ rule: 'dying', channel: 'hook', event: 'failed', code: 'CODE_1', events: 1, attempts: 1 },
      pipelines: ['film_dim'],
      error: expect.stringContaining('responded with 500: broken'),
    })
    expect((await api.get('/notifications/channels')).json().items).toEqual([
      {
        ...{ name: 'hook', type: 'webhook', host: '127.0.0.1:1', pending: 0, dead: 2 },
        ...{ last_sent_at: null, last_error: expect.any(String), last_error_at: expect.any(String) },
      },
    ])
    expect((await api.get('/metrics')).body).toContain(
      'vitrina_notifications_waiting{channel="hook",state="dead"} 2',
    )
    const page = (await api.get('/notifications/dead?limit=1')).json()
    expect((await api.get(`/notifications/dead?limit=1&cursor=${page.next_cursor}`)).json().items).toEqual([
      dead[1],
    ])
    receiver.answer = (response) => response.writeHead(204).end()
    expect((await api.post(`/notifications/dead/${dead[0].id}/retry`)).statusCode).toBe(204)
    expect((await api.post(`/notifications/dead/${dead[1].id}/discard`)).statusCode).toBe(204)
    await dispatcher.deliver()
    expect(receiver.posts.map(({ body }) => JSON.parse(body).data.code).sort()).toEqual([
      ...['CODE_1', 'CODE_2', 'CODE_2'],
    ])
    expect((await api.get('/notifications/dead')).json().items).toEqual([])
    const [channel] = (await api.get('/notifications/channels')).json().items
    expect(channel).toMatchObject({ pending: 0, dead: 0, last_sent_at: expect.any(String) })
    for (const id of [dead[0].id, randomUUID(), 'nonsense'])
      expect((await api.post(`/notifications/dead/${id}/retry`)).json().code).toBe('MESSAGE_NOT_FOUND')
  })
})
