import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { aCliStand } from '../support/cli.js'
import { webhookEnv } from '../support/notifications.js'

const stand = aCliStand({ env: webhookEnv('http://127.0.0.1:1') })

const RULES = `notifications:
  - name: failures
    events: [recovered, failed]
    channel: hook
    tags: [core]
    quiet_hours: { from: '22:00', to: '07:00' }
pipelines:
  - name: rule_genres
    source_query: SELECT id, name FROM content.genre
    target_table: analytics.rule_genres
    key_columns: [id]
    tags: [core]
`

describe('notification rules in files', () => {
  it('are created beside pipelines, then unchanged, then changed field by field', async () => {
    const { vitrina, file } = stand()
    await file('rules.yaml', RULES)
    const planned = await vitrina('diff', 'rules.yaml', '--exit-code')
    expect(planned.code).toBe(2)
    expect(planned.stdout).toContain('+ create notification failures')
    expect(planned.stdout).toContain('Notification rules: 1 to create, 0 to update, 0 unchanged')
    const applied = await vitrina('apply', 'rules.yaml', '--yes')
    expect(applied.stdout).toMatch(/created rule_genres[\s\S]*created notification failures/)
    for (const command of ['diff', 'apply'])
      expect((await vitrina(command, 'rules.yaml')).stdout).toContain('= unchanged notification failures')
    expect((await vitrina('diff', 'rules.yaml', '--exit-code')).code).toBe(0)

    // Disabled by an operator: a deployment does not switch it on again.
    await vitrina('notifications', 'disable', 'failures')
    expect((await vitrina('diff', 'rules.yaml', '--exit-code')).code).toBe(0)
    await file('rules.yaml', RULES.replace('[core]', '[core, films]').replace("'22:00'", "'21:00'"))
    const { stdout } = await vitrina('diff', 'rules.yaml', '--json')
    expect(JSON.parse(stdout).notifications.update).toMatchObject([
      {
        name: 'failures',
        changes: [
          { field: 'tags', old: ['core'], new: ['core', 'films'] },
          { field: 'quiet_hours', new: { from: '21:00', to: '07:00', timezone: 'UTC' } },
        ],
      },
    ])
    expect((await vitrina('apply', 'rules.yaml', '--yes')).stdout).toContain(
      '✓ updated notification failures',
    )
    expect((await vitrina('diff', 'rules.yaml', '--exit-code')).code).toBe(0)
  })

  it('are exported as a file that changes nothing', async () => {
    const { vitrina, folder } = stand()
    const { stdout } = await vitrina('export')
    expect(stdout).toMatch(/notifications:\n\s+- name: failures\n\s+enabled: false\n/)
    await vitrina('export', '--out', 'exported')
    expect(await readFile(join(folder, 'exported/notifications.yaml'), 'utf8')).toContain('tags:')
    const again = await vitrina('diff', 'exported', '--exit-code')
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Notification rules: 0 to create, 0 to update, 1 unchanged'),
    })
  })

  it('are deleted by --prune only if a file has rules', async () => {
    const { vitrina, file } = stand()
    await vitrina(
      'notifications',
      'create',
      '--name',
      'by hand',
      '--event',
      'failed',
      '--channel',
      'hook',
      '--tag',
      'core',
    )
    await file(
      'one.yaml',
      'name: only\nsource_query: SELECT id FROM content.genre\ntarget_table: analytics.only\nkey_columns: [id]\n',
    )
    expect((await vitrina('apply', 'one.yaml', '--prune', '--dry-run')).stdout).not.toContain('notification')
    await file('rules.yaml', 'notifications: []\n')
    const { stdout } = await vitrina('apply', 'rules.yaml', '--prune', '--dry-run')
    expect(stdout).toContain('- delete notification by hand')
    await file('rules.yaml', `${RULES}`)
    await vitrina('export', '--out', 'all')
    await vitrina('notifications', 'delete', 'by hand')
    expect((await vitrina('apply', 'all', '--yes')).stdout).toContain('✓ created notification by hand')
  })

  it.each([
    ['an unknown event', 'events: [exploded]', /events\.0 must be "failed" or "recovered"/],
    ['an unknown field', 'event: failed', /event/],
    [
      'a channel that is not configured',
      'channel: pager',
      /channel: "pager" is not configured on the server; configured: hook/,
    ],
    ['a recovery without a failure', 'events: [recovered]', /events: recovered needs failed or brake/],
  ])('report %s at its place', async (_what, line, message) => {
    const { vitrina, file } = stand()
    const lines = { events: 'events: [failed]', channel: 'channel: hook', event: 'name: wrong' }
    const [key] = line.split(':')
    const rule = { ...lines, [key!]: line, name: 'name: wrong' }
    await file('wrong.yaml', `notifications:\n  - ${[...new Set(Object.values(rule))].join('\n    ')}\n`)
    const { code, stderr } = await vitrina('apply', 'wrong.yaml', '--yes')
    expect(code).toBe(1)
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/wrong\.yaml:\d+/)
  })
})

describe('the list of channels', () => {
  it('shows the last error with its time, and no longer once the channel has delivered', async () => {
    const { vitrina, database } = stand()
    const add = (status: string, error: string | null, at: string) =>
      database.query(
        `INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, status, attempts, last_error, attempted_at, settled_at)
         VALUES (gen_random_uuid(), 'any', 'hook', 'failed', $1, 1, $2, $3::timestamptz, $3::timestamptz)`,
        [status, error, at],
      )
    await add('DEAD', 'responded with 503.', '2026-01-01 10:00Z')
    expect((await vitrina('notifications', 'channels')).stdout).toMatch(
      /hook .* 2026-01-01 10:00:00Z: responded with 503\./,
    )
    await add('SENT', null, '2026-01-01 10:05Z')
    expect((await vitrina('notifications', 'channels')).stdout).not.toContain('503')
  })
})
