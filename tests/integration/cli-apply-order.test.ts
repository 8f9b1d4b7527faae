import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { grantRoles } from '../../src/store/roles.js'
import { aCliStand, CLI_TOKEN } from '../support/cli.js'

const SCHEMAS = ['content', 'ugc', 'analytics']
const stand = aCliStand({ env: { ALLOWED_SOURCE_SCHEMAS: SCHEMAS.join(',') } })

const mart = (name: string, source: string, more = '') =>
  `name: ${name}\nsource_query: SELECT id FROM ${source}\ntarget_table: analytics.${name}\nkey_columns: [id]\n${more}`
const files = (...pipelines: string[]) => pipelines.join('---\n')

async function names(): Promise<string[]> {
  const rows = await stand().database.query<{ name: string }>(
    'SELECT name FROM etl.etl_pipelines ORDER BY name',
  )
  return rows.map(({ name }) => name)
}

const readMarts = () =>
  grantRoles({
    administratorUrl: stand().database.url,
    sourceSchemas: SCHEMAS,
    targetSchemas: ['analytics'],
  })

describe('a plan that would close a cycle', () => {
  it('is rejected with the path before anything is changed', async () => {
    await readMarts()
    const { vitrina, file } = stand()
    const before = await names()
    await file(
      'ring.yaml',
      files(
        mart('alone', 'content.genre'),
        mart('ring_a', 'analytics.ring_c'),
        mart('ring_b', 'analytics.ring_a'),
        mart('ring_c', 'analytics.ring_b'),
      ),
    )
    for (const command of [['diff'], ['apply', '--yes'], ['apply', '--yes', '--no-validate']]) {
      const { code, stderr, stdout } = await vitrina(command[0]!, 'ring.yaml', ...command.slice(1))
      expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: expect.not.stringContaining('✓') })
      expect(stderr).toMatch(
        /ring\.yaml:7:\d+: source_query: ORDER_CYCLE: The pipelines would form a cycle: ring_a → ring_b → ring_c → ring_a\.\n/,
      )
      expect(stderr).toContain('nothing was changed')
      expect(await names()).toEqual(before)
    }
  })

  it('is found through pipelines of the server and through after', async () => {
    const { vitrina, file } = stand()
    const chain = [mart('low', 'content.genre'), mart('middle', 'analytics.low')]
    await file('chain.yaml', files(...chain, mart('high', 'content.person', 'after: [middle]\n')))
    const made = await vitrina('apply', 'chain.yaml', '--yes')
    expect(made.code, made.stderr).toBe(0)
    const before = await names()
    // The two others are only on the server.
    await file('turn.yaml', files(mart('new', 'analytics.high'), mart('low', 'analytics.new')))
    const turned = await vitrina('apply', 'turn.yaml', '--yes')
    expect(turned.stderr).toContain('cycle: low → middle → high → new → low.')
    await file(
      'self.yaml',
      files(mart('a_new', 'content.genre'), mart('low', 'content.genre', 'after: [high, nope]\n')),
    )
    const named = await vitrina('apply', 'self.yaml', '--yes')
    expect(named.stderr).toMatch(/self\.yaml:\d+:\d+: after: AFTER_UNKNOWN: No pipeline is named "nope"\./)
    expect(named.stderr).toMatch(/after: ORDER_CYCLE: .*cycle: low → middle → high → low\./)
    expect({ turned: turned.code, named: named.code }).toEqual({ turned: 1, named: 1 })
    expect(await names()).toEqual(before)
    expect((await vitrina('diff', 'chain.yaml', '--exit-code')).code).toBe(0)
  })

  it('is not one if the plan reverses an order', async () => {
    const { vitrina, file } = stand()
    await file('pair.yaml', files(mart('back', 'content.genre'), mart('front', 'analytics.back')))
    expect((await vitrina('apply', 'pair.yaml', '--yes')).code).toBe(0)
    await file('pair.yaml', files(mart('back', 'analytics.front'), mart('front', 'content.genre')))
    const reversed = await vitrina('apply', 'pair.yaml', '--yes')
    expect(reversed.code, reversed.stderr).toBe(0)
  })
})

describe('pipelines that are created together', () => {
  it('are created in the order in which they run, whatever the order in the file', async () => {
    const { vitrina, file } = stand()
    await file(
      'upwards.yaml',
      files(
        mart('a_last', 'analytics.b_second'),
        mart('b_second', 'analytics.c_first'),
        mart('c_first', 'content.genre'),
        mart('d_alone', 'content.genre'),
      ),
    )
    const { code, stdout, stderr } = await vitrina('apply', 'upwards.yaml', '--yes')
    expect(code, stderr).toBe(0)
    expect([...stdout.matchAll(/✓ created (\S+)/g)].map(([, name]) => name)).toEqual([
      ...['c_first', 'b_second', 'a_last', 'd_alone'],
    ])
  })
})

describe('an apply that the server refuses in the middle', () => {
  it('reports what was applied and what was not', async () => {
    const { vitrina, file } = stand()
    const pair = (left: string, right: string) => [
      mart('left', 'content.genre').replace('analytics.left', `analytics.${left}`),
      mart('right', 'content.genre').replace('analytics.right', `analytics.${right}`),
    ]
    await file('swap.yaml', files(...pair('left', 'right')))
    expect((await vitrina('apply', 'swap.yaml', '--yes')).code).toBe(0)
    // In the end no target has two writers, but no first step leads there.
    await file('swap.yaml', files(...pair('right', 'left'), mart('third', 'content.genre')))
    const { code, stdout, stderr } = await vitrina('apply', 'swap.yaml', '--yes')
    expect(code).toBe(1)
    expect(stdout).toContain('✓ created third')
    expect(stderr).toMatch(
      /VTR-1205 APPLY_INCOMPLETE: 1 of 3 changes was applied: create third\. Refused: update left\. Not applied: update right\. TARGET_TAKEN: /,
    )
    expect((await vitrina('pipelines', 'get', 'left', '--json')).stdout).toContain('"analytics.left"')
    expect((await vitrina('diff', 'swap.yaml')).stdout).toContain('0 to create, 2 to update, 1 unchanged')
  })

  it('reports that the outcome of a change is unknown if the server did not respond', async () => {
    const { vitrina, vitrinaWith, file, url } = stand()
    await file('cut.yaml', files(...['cut_a', 'cut_b', 'cut_c'].map((name) => mart(name, 'content.genre'))))
    const proxy = await aProxyThatHides(url, (body) => body.includes('"cut_b"'))
    const applied = await vitrinaWith(
      { VITRINA_URL: proxy, VITRINA_API_TOKEN: CLI_TOKEN },
      'apply',
      'cut.yaml',
      '--yes',
    )
    expect(applied.code).toBe(1)
    expect(applied.stderr).toMatch(
      /APPLY_INCOMPLETE: 1 of 3 changes was applied: create cut_a\. It is not known whether this one was: create cut_b\. Not applied: create cut_c\. SERVER_UNREACHABLE: /,
    )
    const again = await vitrina('apply', 'cut.yaml', '--yes')
    expect(again.stdout).toContain('1 to create, 0 to update, 2 unchanged')
    expect(again.code).toBe(0)
  })
})

describe('a pipeline that the plan deletes', () => {
  it('is not part of a cycle', async () => {
    const { vitrina, file } = stand()
    // "back" reads "front", and is only on the server.
    await file('front.yaml', mart('front', 'analytics.back'))
    const kept = await vitrina('apply', 'front.yaml', '--yes')
    expect(kept.stderr).toContain('ORDER_CYCLE: The pipelines would form a cycle: front → back → front.')
    const pruned = await vitrina('apply', 'front.yaml', '--yes', '--prune')
    expect(pruned.code, pruned.stderr).toBe(0)
    expect(await names()).toEqual(['front'])
  })
})

/** Forwards everything, but drops the answer to a pipeline that it is created with. */
async function aProxyThatHides(url: string, isHidden: (body: string) => boolean): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('end', () => {
      const body = Buffer.concat(pieces)
      const { method, headers, url: path = '/' } = incoming
      const onward = request(new URL(path, url), { method, headers }, (answer) => {
        const isCreation = method === 'POST' && /\/pipelines(\?|$)/.test(path)
        if (isCreation && isHidden(body.toString())) {
          answer.resume().on('end', () => outgoing.destroy())
          return
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      onward.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
