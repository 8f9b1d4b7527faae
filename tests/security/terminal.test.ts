// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file is about.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, type LogicalServer } from '../support/capture.js'
import { aCliStand } from '../support/cli.js'
import { type Ended, runCommand } from '../support/commands.js'
import { aDatabase } from '../support/database.js'
import { webhookEnv } from '../support/notifications.js'

const stand = aCliStand({ env: webhookEnv('http://127.0.0.1:1') })

const FAKE = 'FAKED LINE'
/** Changes the colour, clears the screen, sets the title, reorders what follows, and begins a line of its own. */
const HOSTILE = `x\x1b[31m\x1b[2J\x1b]0;t\x07\x9b2J\u202e\r\n${FAKE}\n`

function expectTame({ stdout, stderr }: Ended): void {
  const output = stdout + stderr
  expect([...output].filter((char) => /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/.test(char))).toEqual([])
  expect(output.split('\n').filter((line) => line.trimEnd() === FAKE)).toEqual([])
}

let server: LogicalServer
beforeAll(async () => {
  server = await aLogicalServer()
  const { database } = stand()
  await database.query(
    'INSERT INTO content.genre (id, name, created, modified) VALUES (gen_random_uuid(), $1, now(), now())',
    [HOSTILE],
  )
  const check = {
    name: `c${HOSTILE}`,
    type: 'accepted_values',
    column: 'genre',
    values: ['a'],
    on_failure: 'warn',
  }
  await aPipeline(database, {
    name: 'hostile_values',
    sourceQuery: 'SELECT name AS genre FROM content.genre',
    targetTable: 'analytics.hostile_values',
    keyColumns: ['genre'],
  })
  await stand().vitrina('pipelines', 'run', 'hostile_values', '--wait')
  await database.query("UPDATE etl.etl_pipelines SET checks = $1 WHERE name = 'hostile_values'", [
    JSON.stringify([check]),
  ])
  await aPipeline(database, {
    name: 'hostile_drift',
    sourceQuery: "SELECT name AS genre FROM content.genre WHERE name LIKE 'x%'",
    targetTable: 'analytics.hostile_drift',
    keyColumns: ['genre'],
  })
  await stand().vitrina('pipelines', 'run', 'hostile_drift', '--wait')
  await database.query('DELETE FROM analytics.hostile_drift')
  await aPipeline(database, {
    name: 'hostile_error',
    sourceQuery: "SELECT id, name::int AS number FROM content.genre WHERE name LIKE 'x%'",
    targetTable: 'analytics.hostile_error',
    keyColumns: ['id'],
  })
  await aPipeline(database, {
    name: 'hostile_column',
    sourceQuery: `SELECT id, 1 AS "n${HOSTILE}" FROM content.genre`,
    targetTable: 'analytics.hostile_column',
    keyColumns: ['id'],
  })
  await stand().file('hostile.yaml', `name: a\n"x\x1b[2J\x9b2J\u202e": "\x1b]0;t\x07"\nmode: [\n`)
  // As a user with write access to the meta store could write it: the API refuses such names.
  const { id } = await aPipeline(database, {
    name: `p${HOSTILE}`,
    description: HOSTILE,
    after: [`u${HOSTILE}`],
    sourceQuery: 'SELECT id FROM content.film_work',
    targetTable: 'analytics.hostile_name',
    keyColumns: ['id'],
  })
  await database.query(
    "INSERT INTO etl.etl_notification_rules (name, events, pipelines, channel) VALUES ($1, '{failed}', ARRAY[$1], 'hook')",
    [HOSTILE],
  )
  await database.query(
    `WITH made AS (
       INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, status, attempts, attempted_at, settled_at, last_error)
       VALUES (gen_random_uuid(), $1, $1, $1, 'DEAD', 1, now(), now(), $1) RETURNING id)
     INSERT INTO etl.etl_outbox (rule_id, event, group_key, pipeline_id, pipeline_name, message_id)
     SELECT gen_random_uuid(), $1, $1, $2, $1, id FROM made`,
    [HOSTILE, id],
  )
  await database.query(
    'INSERT INTO etl.etl_audit (actor, action, target_kind, target_id, target_name, diff) VALUES ($1, $1, $1, $1, $1, jsonb_build_object($1::text, 1))',
    [HOSTILE],
  )
}, 120_000)
afterAll(() => server?.stop())

it.each([
  'pipelines list',
  'pipelines get hostile_values',
  'checks list',
  'checks list hostile_values',
  'checks run hostile_values',
  'pipelines rows hostile_values',
  'pipelines profile hostile_values',
  'graph',
  'lineage',
  'lineage hostile_values',
  'notifications list',
  'notifications channels',
  'notifications dead',
  'sources list',
  'runs list',
  'runs log hostile_values',
  'pipelines runs hostile_values',
  'pipelines status hostile_values',
  'pipelines freshness hostile_values',
  'pipelines state hostile_values',
  'pipelines versions hostile_values',
  'pipelines validate hostile_values',
  'pipelines preview hostile_values',
  'pipelines preview hostile_column',
  'pipelines preview hostile_error',
  'pipelines run hostile_error --wait',
  'runs log hostile_error',
  'pipelines reconcile hostile_values',
  'pipelines reconcile hostile_values --deep',
  'pipelines reconcile hostile_drift --deep',
  'quarantine list hostile_values',
  'runners list',
  'sessions list',
  'tokens list',
  'export',
  'diff hostile.yaml',
  'audit',
])('"vitrina %s" shows text from outside as text', async (command) => {
  const ended = await stand().vitrina(...command.split(' '))
  expect((ended.stdout + ended.stderr).length).toBeGreaterThan(20)
  expect(ended.stderr).not.toMatch(/USAGE_INVALID|unknown (command|option)/)
  expectTame(ended)
})

it('"vitrina sources prepare" prints nothing but comments about tables that it does not publish', async () => {
  const main = await aDatabase()
  const source = await aDatabase({ migrated: false, server })
  const table = `content."keyless\nDROP TABLE content.film; --"`
  await source.query(
    `CREATE SCHEMA content; CREATE TABLE content.film (id int PRIMARY KEY); CREATE TABLE ${table} (film_id int)`,
  )
  await aPipeline(main, {
    name: 'counted',
    sourceQuery: `SELECT film_id, count(*)::int AS notes FROM ${table} WHERE film_id IS NOT NULL GROUP BY film_id`,
    ...{ sourceConnection: 'src', mode: 'incremental', capture: 'wal' },
    ...{ keyColumns: ['film_id'], targetTable: 'analytics.counted' },
  })
  const ended = await runCommand(['sources', 'prepare', 'src'], {
    DATABASE_URL: main.url,
    VITRINA_CONNECTION_SRC_URL: source.url,
    ALLOWED_SOURCE_SCHEMAS: 'content',
  })
  expect(ended.stdout).toContain('DROP TABLE')
  expect(ended.stdout.split('\n').filter((line) => line !== '' && !line.startsWith('--'))).toEqual([])
})

it('"vitrina sources prepare --apply" publishes a table of any name, and no other', async () => {
  const main = await aDatabase()
  const source = await aDatabase({ migrated: false, server })
  const name = 'a", content."secret" WITH (x); DROP TABLE content.secret; --'
  const table = `content."${name.replaceAll('"', '""')}"`
  await source.query(
    `CREATE SCHEMA content; CREATE TABLE content.secret (id int PRIMARY KEY); CREATE TABLE ${table} (id int PRIMARY KEY, n int)`,
  )
  await aPipeline(main, {
    name: 'quoted',
    sourceQuery: `SELECT id, n FROM ${table}`,
    ...{ sourceConnection: 'src', mode: 'incremental', capture: 'wal' },
    ...{ keyColumns: ['id'], targetTable: 'analytics.quoted' },
  })
  const { stdout, stderr } = await runCommand(['sources', 'prepare', 'src', '--apply', '--identity'], {
    DATABASE_URL: main.url,
    VITRINA_CONNECTION_SRC_URL: source.url,
    ALLOWED_SOURCE_SCHEMAS: 'content',
  })
  const published = await source.query('SELECT tablename FROM pg_publication_tables')
  expect(published, stdout + stderr).toEqual([{ tablename: name }])
  // No login got a privilege by it.
  const granted = await source.query(
    "SELECT relname FROM pg_class WHERE relnamespace = 'content'::regnamespace AND relacl IS NOT NULL",
  )
  expect(granted).toEqual([])
  expect(await source.query('SELECT count(*)::int AS rows FROM content.secret')).toEqual([{ rows: 0 }])
})

it.each([
  ['pipelines', 'list'],
  ['runs', 'list', '--json'],
  ['context', 'add', 'elsewhere', '--url', 'http://vitrina.invalid'],
])('"vitrina %s %s" with --token warns that other processes can read it', async (...command) => {
  const { stderr, stdout } = await stand().vitrina(...command, '--token', 'a-token-in-the-arguments')
  expect(stderr).toContain('--token is visible in the process list')
  expect(stderr + stdout).not.toContain('a-token-in-the-arguments')
  const { stderr: without } = await stand().vitrina(...command)
  expect(without).not.toContain('visible')
})
