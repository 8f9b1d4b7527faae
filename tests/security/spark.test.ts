import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Claim } from '../../src/model/claim.js'
import { SparkEngine } from '../../src/spark/spark-engine.js'
import { waitFor } from '../support/wait.js'

const SECRETS = {
  'spark.authenticate.secret': 'hush-hush-one',
  'spark.hadoop.fs.azure.account.key.store.dfs.core.windows.net': 'hush-hush-two',
  'spark.hadoop.fs.s3a.access.key': 'hush-hush-three',
  'spark.hadoop.es.net.http.auth.pass': 'hush-hush-four',
  'spark.hadoop.fs.azure.sas.container.store': 'hush-hush-five',
  'spark.ssl.keyPassword': 'hush-hush-six',
  'spark.hadoop.fs.s3a.encryption.key': 'hush-hush-seven',
  // The names suggest nothing, the values do.
  'spark.executor.extraJavaOptions': '-Djavax.net.ssl.trustStorePassword=hush-hush-eight',
  'spark.jars.repositories': 'https://ci:hush-hush-nine@repository.example.com/maven',
}
const PLAIN = {
  'spark.executor.memory': '1g',
  'spark.kerberos.keytab': '/etc/keytab',
  'spark.ssl.keyStore': '/etc/keys',
}

it('secrets of a Spark profile are neither on a command line nor in the report of a driver', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrina-spark-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const submit = join(folder, 'spark-submit')
  // A driver that repeats everything that it was given.
  writeFileSync(
    submit,
    `#!/bin/sh\necho "$@" > ${folder}/arguments\necho "$VITRINA_SPARK_JOB" | tr , '\\n'\nexit 1\n`,
  )
  chmodSync(submit, 0o755)
  const url = (name: string) => `postgres://${name}:hush-hush-${name}@localhost/db`
  const engine = new SparkEngine(
    {
      profiles: new Map([['one', { submit, master: 'local', conf: { ...SECRETS, ...PLAIN } }]]),
      environment: { ...process.env, DATABASE_URL: url('administrator') },
    },
    {
      ...{ metaUrl: url('meta'), sourceUrl: () => url('source'), targetUrl: () => url('target') },
      leaseSeconds: 30,
    },
  )
  const pipeline = { name: '--conf=x', engine: 'spark', engineOptions: {} }
  const submission = await engine.submit({ pipeline, runId: 'r' } as unknown as Claim)
  const end = await waitFor(async () => submission.end, { what: 'the end of the driver' })
  const given = readFileSync(join(folder, 'arguments'), 'utf8')
  expect(given).toContain('spark.executor.memory=1g')
  expect(given).toContain('spark.kerberos.keytab=/etc/keytab')
  expect(given).toContain('--name vitrina --conf=x')
  expect(end!.report).toContain('***')
  expect(given + end!.report).not.toContain('hush-hush')
})
