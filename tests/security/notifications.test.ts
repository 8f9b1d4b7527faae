import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { createChannels } from '../../src/main/notifications.js'
import type { NotificationMessage } from '../../src/model/notification.js'
import { reachOf } from '../../src/notify/addresses.js'
import { anApi } from '../support/api.js'
import { aDatabase } from '../support/database.js'
import { aDispatcher, aReportingPipeline, aRule, SECRET, webhookEnv } from '../support/notifications.js'
import { anHttpReceiver, anSmtpReceiver } from '../support/receivers.js'

const MESSAGE: NotificationMessage = {
  ...{
    id: 'm1',
    ruleName: 'r',
    channel: 'hook',
    event: 'failed',
    key: 'X',
    createdAt: '2026-01-01T00:00:00Z',
  },
  events: [],
}

function send(env: Record<string, string>): Promise<string> {
  return createChannels(readSettings(env)).send(MESSAGE)
}

const hook = (url: string, allowed?: string) => ({
  VITRINA_CHANNELS: JSON.stringify({ hook: { type: 'webhook', url, secret: SECRET } }),
  ...(allowed === undefined ? {} : { VITRINA_NOTIFY_ALLOWED_HOSTS: allowed }),
})

/** Continues the answer to EHLO without end, a line at a time. */
function dripping(socket: Socket): void {
  socket.write('220 hello\r\n')
  socket.once('data', () => {
    const timer = setInterval(() => socket.write('250-more\r\n'), 200)
    socket.on('close', () => clearInterval(timer))
  })
}

/** A line without an end. */
function flooding(socket: Socket): void {
  const more = () => {
    while (!socket.destroyed && socket.write('x'.repeat(65_536))) {}
  }
  socket.on('drain', more)
  more()
}

/** Rejects a login and repeats what it was sent. Returns its port. */
async function aMailServerThatRepeats(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('220 hello\r\n')
    socket.on('data', (data) => {
      const line = data.toString().trim()
      socket.write(
        line.startsWith('EHLO')
          ? '250-hello\r\n250 AUTH PLAIN\r\n'
          : `535 you sent ${line} and secret-pw\r\n`,
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

describe('addresses', () => {
  it.each([
    '169.254.169.254',
    '169.254.0.1',
    '0.0.0.0',
    '0.1.2.3',
    '224.0.0.1',
    '255.255.255.255',
    '100.100.100.200',
    '168.63.129.16',
    '::',
    'fe80::1',
    'ff02::1',
    'fd00:ec2::254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '2001:0:5ef5:79fb::1',
    '64:ff9b:1::a00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '::ffff:1',
    'fec0::1',
    '100::1',
    'not an address',
  ])('%s is never a receiver', (address) => expect(reachOf(address)).toBe('never'))

  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fc00::1',
  ])('%s is internal', (address) => {
    expect(reachOf(address)).toBe('internal')
    if (address.includes('.')) expect(reachOf(`::ffff:${address}`)).toBe('internal')
  })

  it.each(['8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '::ffff:808:808'])(
    '%s is public',
    (address) => expect(reachOf(address)).toBe('public'),
  )
})

describe('a channel', () => {
  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:169.254.169.254]/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0/',
    'http://[fe80::1]/',
  ])('never connects to %s, not even if its host is listed', async (url) => {
    const { hostname } = new URL(url)
    for (const allowed of [undefined, hostname])
      await expect(send(hook(url, allowed))).rejects.toMatchObject({ code: 'CHANNEL_REFUSED' })
  })

  it.each([
    'http://127.0.0.1',
    'http://localhost',
    'http://2130706433',
    'http://[::ffff:127.0.0.1]',
    'http://127.1',
  ])('connects to %s only if the host is listed', async (url) => {
    const receiver = await anHttpReceiver()
    const { port } = new URL(receiver.url)
    const { hostname } = new URL(url)
    await expect(send(hook(`${url}:${port}/`))).rejects.toMatchObject({
      code: 'CHANNEL_REFUSED',
      hint: expect.stringContaining('VITRINA_NOTIFY_ALLOWED_HOSTS'),
    })
    expect(receiver.posts).toEqual([])
    await expect(send(hook(`${url}:${port}/`, hostname))).resolves.toContain('responded with 204')
    expect(receiver.posts).toHaveLength(1)
  })

  it('does not connect to a host that is missing in the list', async () => {
    const receiver = await anHttpReceiver()
    await expect(send(hook(receiver.url, 'hooks.slack.com'))).rejects.toMatchObject({
      code: 'CHANNEL_REFUSED',
      message: 'The host 127.0.0.1 is not in VITRINA_NOTIFY_ALLOWED_HOSTS.',
    })
    expect(receiver.posts).toEqual([])
  })

  it('does not follow redirects', async () => {
    const [inner, outer] = [await anHttpReceiver(), await anHttpReceiver()]
    for (const status of [301, 302, 303, 307, 308]) {
      outer.answer = (response) => response.writeHead(status, { location: inner.url }).end()
      await expect(send(hook(outer.url, '127.0.0.1'))).rejects.toMatchObject({
        code: 'CHANNEL_FAILED',
        hint: 'Redirects are not followed. Set the final address in the channel.',
      })
    }
    expect(inner.posts).toEqual([])
  })

  it('contains no mention, no disguised link and no forged line, where Markdown is read too', async () => {
    const receiver = await anHttpReceiver()
    const event = {
      ...{ id: 1, at: MESSAGE.createdAt, event: 'failed', key: 'X', pipelineId: 'p', pipelineName: 'films' },
      runId: null,
      data: {
        error: '@channel, <!here>: [read this](http://evil.example)\nHint: ask @all, not a@example.com',
      },
    }
    const env = {
      VITRINA_CHANNELS: JSON.stringify({ hook: { type: 'slack', url: `${receiver.url}/services/T0` } }),
      VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
    }
    await createChannels(readSettings(env)).send({ ...MESSAGE, events: [event] })
    const { text } = JSON.parse(receiver.posts[0]!.body)
    expect(text).not.toMatch(/(?<!\w)@\w|<!|\]\(/)
    expect(text.split('\n')).toHaveLength(3)
    expect(text).toContain('not a@example.com')
  })

  it('reads no more of a response than it needs', async () => {
    const receiver = await anHttpReceiver()
    let closed = false
    receiver.answer = (response) => {
      response.on('close', () => {
        closed = true
      })
      response.writeHead(200)
      const more = () => {
        while (!closed && response.write('x'.repeat(65_536))) {}
      }
      response.on('drain', more)
      more()
    }
    const answer = await send(hook(receiver.url, '127.0.0.1'))
    expect(answer.length).toBeLessThan(400)
  })

  it('does not send mail to a host that is not allowed', async () => {
    const mail = await anSmtpReceiver()
    const channel = {
      type: 'email',
      url: `smtp://127.0.0.1:${mail.port}`,
      from: 'a@example.com',
      to: 'b@example.com',
    }
    const env = { VITRINA_CHANNELS: JSON.stringify({ hook: channel }) }
    await expect(send(env)).rejects.toMatchObject({ code: 'CHANNEL_REFUSED' })
    expect(mail.mails).toEqual([])
    await send({ ...env, VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1' })
    expect(mail.mails).toHaveLength(1)
  })

  it('gives up on a mail server that never greets or never ends its response', async () => {
    const channel = { type: 'email', from: 'a@example.com', to: 'b@example.com' }
    const servers = { silent: () => {}, drips: dripping, floods: flooding }
    const attempts = Object.entries(servers).map(async ([name, talk]) => {
      const server = createServer((socket) => talk(socket.on('error', () => {})))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void server.close())
      const { port } = server.address() as { port: number }
      const hook = { ...channel, url: `smtp://127.0.0.1:${port}` }
      const env = {
        VITRINA_CHANNELS: JSON.stringify({ hook }),
        VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
      }
      const sent = await send(env).catch((error) => error)
      expect([name, sent]).toMatchObject([name, { code: 'CHANNEL_FAILED', message: expect.any(String) }])
      expect(sent.message.length).toBeLessThan(400)
    })
    await Promise.all(attempts)
  }, 60_000)
})

describe('secrets of channels', () => {
  it('are neither stored nor shown', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    // As a router does that does not know an address.
    receiver.answer = (response, { path, headers, body }) =>
      response
        .writeHead(500)
        .end(
          `broken: cannot POST ${path} ${decodeURIComponent(path)} ${headers.authorization} ${body.length}`,
        )
    const token = '987654:very-secret-token'
    const channels = {
      hook: { type: 'webhook', url: `${receiver.url}/secret-path`, secret: SECRET },
      chat: { type: 'telegram', token, chat_id: '1', url: receiver.url },
      slack: { type: 'slack', url: `${receiver.url}/services/T0/secret%2Dhook?sig=secret-signature` },
      mail: {
        type: 'email',
        url: `smtp://u:secret-pw@127.0.0.1:${await aMailServerThatRepeats()}`,
        from: 'a@example.com',
        to: 'b@example.com',
      },
    }
    const env = {
      ...webhookEnv(receiver.url),
      VITRINA_CHANNELS: JSON.stringify(channels),
      OPENLINEAGE_URL: `${receiver.url}/api/v1/lineage?code=secret-lineage`,
      OPENLINEAGE_API_KEY: 'secret-api-key',
    }
    const api = anApi(database.loginUrl('meta'), { env })
    for (const channel of Object.keys(channels)) await aRule(database, { channel })
    await (await aReportingPipeline(database)).fail()
    await aDispatcher(database, { env, mostAttempts: 1 }).deliver()
    const seen: string[] = []
    for (const channel of Object.keys(channels))
      seen.push((await api.post('/notifications/test', { channel })).body)
    for (const path of [
      '/notifications',
      '/notifications/channels',
      '/notifications/dead',
      '/settings',
      '/metrics',
    ])
      seen.push((await api.get(path)).body)
    for (const table of ['etl_notification_rules', 'etl_notification_messages', 'etl_outbox', 'etl_audit'])
      seen.push(JSON.stringify(await database.query(`SELECT * FROM etl.${table}`)))
    seen.push(JSON.stringify(api.lines))
    for (const secret of [
      ...[SECRET, SECRET.slice(6), 'secret-path', 'very-secret-token', 'secret-pw', 'secret-hook'],
      ...['secret-signature', 'secret-lineage', 'secret-api-key', 'AHUAc2VjcmV0LXB3'],
    ])
      expect(seen.join('\n')).not.toContain(secret)
    expect(seen[0]).toContain('responded with 500: broken: cannot POST ***')
    expect(seen[3]).toContain('535 you sent')
  })

  it('are not quoted when a setting is invalid', () => {
    const wrong = { hook: { type: 'webhook', url: 'ftp://secret-host', secret: 'secret-value' } }
    const read = () =>
      readSettings({ VITRINA_CHANNELS: JSON.stringify(wrong), VITRINA_CHANNEL_X: '{secret-json' })
    expect(read).toThrow(
      /the channel hook is invalid: url must be .*, secret must be .*; the channel x is invalid/s,
    )
    expect(read).not.toThrow(/secret-(host|value|json)/)
  })
})

describe('one rule, channel or caller', () => {
  it('does not keep the messages of other rules waiting, however many events it has', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const { id, fail } = await aReportingPipeline(database)
    const quiet = await aRule(database, { quiet_from: '00:00', quiet_to: '23:59', enabled: true })
    await database.query(
      `INSERT INTO etl.etl_outbox (rule_id, event, group_key, pipeline_id, pipeline_name)
       SELECT $1, 'failed', 'X', $2, 'x' FROM generate_series(1, 5100)`,
      [quiet, id],
    )
    await aRule(database, { name: 'urgent' })
    await fail()
    const now = () => new Date('2026-11-16T12:00:00Z')
    await database.query("UPDATE etl.etl_outbox SET at = '2026-11-16T11:00:00Z'")
    await aDispatcher(database, { env: webhookEnv(receiver.url), now }).deliver()
    expect(receiver.posts.map(({ body }) => JSON.parse(body).data.rule)).toEqual(['urgent'])
  })

  it('makes one message of limited size of an outage, however many pipelines fail with however long errors', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const channels = {
      hook: { type: 'webhook', url: `${receiver.url}/hook`, secret: SECRET },
      ...Object.fromEntries(
        ['slack', 'teams'].map((type) => [type, { type, url: `${receiver.url}/${type}` }]),
      ),
    }
    const env = { ...webhookEnv(receiver.url), VITRINA_CHANNELS: JSON.stringify(channels) }
    for (const channel of Object.keys(channels)) {
      const rule = await aRule(database, { channel, repeat_seconds: 600 })
      // Control characters are six bytes each in JSON: in all, more than a database message may hold.
      await database.query(
        `INSERT INTO etl.etl_outbox (rule_id, event, group_key, pipeline_id, pipeline_name, data)
         SELECT $1, 'failed', 'X', gen_random_uuid(), 'mart_' || n, jsonb_build_object('code', 'X', 'error', repeat(chr(1), 4000))
           FROM generate_series(1, 6000) AS n`,
        [rule],
      )
    }
    await aDispatcher(database, { env }).deliver()
    expect(receiver.posts.map(({ path }) => path).sort()).toEqual(['/hook', '/slack', '/teams'])
    const bodyOf = (path: string) => receiver.posts.find((post) => post.path === path)!.body
    expect(Math.max(...receiver.posts.map(({ body }) => Buffer.byteLength(body)))).toBeLessThan(300_000)
    // What Slack and Teams accept.
    expect(bodyOf('/slack').length).toBeLessThan(40_000)
    expect(bodyOf('/teams').length).toBeLessThan(28_000)
    const { data } = JSON.parse(bodyOf('/hook'))
    expect(data.title).toContain('6000 pipelines failed')
    expect(data.events.length).toBeGreaterThan(1)
    expect(data.events_left_out).toBe(6000 - data.events.length)
    expect(data.text).toContain(`${data.events_left_out} more events: https://vitrina.example.com/ui/runs`)
    for (const event of data.events) expect(event.error).toHaveLength(4000)
  })

  it('cannot send more than ten test messages a minute', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const api = anApi(database.loginUrl('meta'), { env: webhookEnv(receiver.url) })
    const test = () => api.post('/notifications/test', { channel: 'hook' })
    const answers = await Promise.all(Array.from({ length: 20 }, test))
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    expect([refused.length, refused[0]?.json()]).toMatchObject([10, { code: 'RATE_LIMITED' }])
    expect(receiver.posts).toHaveLength(10)
  })

  it('cannot create an unlimited number of rules', async () => {
    const database = await aDatabase()
    const api = anApi(database.loginUrl('meta'), { env: webhookEnv('http://127.0.0.1:1') })
    await database.query(
      "INSERT INTO etl.etl_notification_rules (name, events, channel) SELECT 'r' || n, '{failed}', 'hook' FROM generate_series(1, 199) AS n",
    )
    const make = (name: string) => api.post('/notifications', { name, events: ['failed'], channel: 'hook' })
    expect((await make('last')).statusCode).toBe(201)
    const refused = await make('one more')
    expect([refused.statusCode, refused.json().detail]).toEqual([422, expect.stringContaining('200')])
  })

  it('cannot create more rules by creating them at the same moment', async () => {
    const database = await aDatabase()
    const api = anApi(database.loginUrl('meta'), { env: webhookEnv('http://127.0.0.1:1') })
    await database.query(
      "INSERT INTO etl.etl_notification_rules (name, events, channel) SELECT 'r' || n, '{failed}', 'hook' FROM generate_series(1, 195) AS n",
    )
    const make = (_: unknown, n: number) =>
      api.post('/notifications', { name: `new ${n}`, events: ['failed'], channel: 'hook' })
    const answers = await Promise.all(Array.from({ length: 20 }, make))
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
      ...Array(5).fill(201),
      ...Array(15).fill(422),
    ])
  })
})

it('only the triggers of the meta store write to the outbox', async () => {
  const database = await aDatabase()
  for (const login of ['reader', 'writer', 'meta'] as const) {
    const client = await database.client(database.loginUrl(login))
    for (const statement of [
      "INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name) VALUES (gen_random_uuid(), 'failed', gen_random_uuid(), 'x')",
      "SELECT etl.notify('{failed}', gen_random_uuid(), NULL, '', '{}')",
    ])
      await expect(client.query(statement), `${login}: ${statement}`).rejects.toMatchObject({ code: '42501' })
  }
  const writer = await database.client(database.loginUrl('writer'))
  for (const statement of [
    "UPDATE etl.etl_notification_rules SET channel = 'x'",
    'DELETE FROM etl.etl_notification_messages',
  ])
    await expect(writer.query(statement)).rejects.toMatchObject({ code: '42501' })
})
