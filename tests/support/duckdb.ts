import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { findTool } from '../../scripts/lib/test-tools.mjs'
import type { TestS3 } from './s3.js'

const run = promisify(execFile)

/**
 * Reads statements from stdin, writes the rows of the last one as JSON to stdout: every value as DuckDB's own text.
 */
const SCRIPT = `
import duckdb, json, sys
db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")
*before, last = json.load(sys.stdin)
for statement in before: db.execute(statement)
json.dump(db.execute(last).fetchall(), sys.stdout)
`

/** The rows of the last statement; cast to text where JSON has no type. */
export async function duckdb(...statements: string[]): Promise<(string | number | boolean | null)[][]> {
  const tools = await findTool('python')
  if ('missing' in tools) throw new Error(tools.missing)
  const child = run(tools.python, ['-c', SCRIPT], { maxBuffer: 512 * 1024 * 1024 })
  child.child.stdin!.end(JSON.stringify(statements))
  return JSON.parse((await child).stdout)
}

const GUIDE = new URL('../../docs/guides/s3.md', import.meta.url)

/** The statements of docs/guides/s3.md, for a copy of the mart in a folder. */
export async function readMart(root: string): Promise<string[]> {
  const guide = await readFile(GUIDE, 'utf8')
  const [, variable = '', select = ''] = /(SET VARIABLE files = [^;]+);\s*(SELECT [^;]+);/.exec(guide) ?? []
  return [forCopy(variable, root), `CREATE VIEW mart AS ${select}`]
}

/** What reads a mart in a bucket, for a copy of it in a folder. */
export function forCopy(sql: string, root: string): string {
  return sql
    .replace(/'s3:[^']+manifest.json'/, `'${root}/manifest.json'`)
    .replace('list(location ||', `list('${root}/' ||`)
}

/** A copy of the files in the manifest, because DuckDB needs an extension from its own site to read S3 itself. */
export async function copyDown(
  s3: TestS3,
  bucket: string,
  prefix: string,
): Promise<{ root: string; remove(): Promise<void> } | null> {
  const get = (path: string) =>
    s3.client.send(new GetObjectCommand({ Bucket: bucket, Key: `${prefix}/${path}` }))
  const manifest = await get('manifest.json').catch(() => null)
  if (manifest === null) return null
  const root = await mkdtemp(join(tmpdir(), 'vitrina-duckdb-'))
  const text = await manifest.Body!.transformToString()
  await writeFile(join(root, 'manifest.json'), text)
  for (const { path } of JSON.parse(text).files) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), await (await get(path)).Body!.transformToByteArray())
  }
  return { root, remove: () => rm(root, { recursive: true, force: true }) }
}

export async function objectKeys(s3: TestS3, bucket: string, prefix: string): Promise<string[]> {
  const keys: string[] = []
  let token: string | undefined
  do {
    const page = await s3.client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token }),
    )
    keys.push(...(page.Contents ?? []).map(({ Key }) => Key!))
    token = page.NextContinuationToken
  } while (token !== undefined)
  return keys
}
