import { spawn } from 'node:child_process'
import { join } from 'node:path'
import pg from 'pg'
import { addAccess } from './demo-access.mjs'
import { addHistory } from './demo-history.mjs'
import { addRunStories } from './demo-runs.mjs'
import { ROOT, say } from './run.mjs'

/** `vitrina demo` in a separate folder, with the history of a few days of use. */
export async function startDemo(home) {
  say('• Starting the demo')
  const child = spawn(process.execPath, [join(ROOT, 'bin/vitrina.js'), 'demo'], {
    cwd: home,
    env: {
      ...process.env,
      VITRINA_HOME: join(home, '.vitrina'),
      NO_COLOR: '1',
      VITRINA_PORT: '0',
      VITRINA_API_TOKEN: TOKEN,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('close', resolve))
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
  }
  const output = await bannerOf(child, exited)
  const url = /console\s+(http\S+)\/ui\//.exec(output)[1]
  const database = /psql "([^"]+)"/.exec(output)[1]
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  // A demo that is left behind would keep this script from ending.
  await makeHistory(client).catch(async (error) => {
    await client.end()
    await stop()
    throw error
  })
  await client.end()
  return {
    url,
    code: () => code(url),
    runId: (pipeline, status) => runId(url, pipeline, status),
    stop,
  }
}

const TOKEN = 'a-token-for-pictures-only'

async function code(url) {
  const answer = await fetch(`${url}/api/v1/session/code`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  return (await answer.json()).code
}

/** The newest run of a pipeline with this status. */
async function runId(url, pipeline, status) {
  const answer = await fetch(`${url}/api/v1/runs?limit=200&status=${status}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  const { items } = await answer.json()
  return items.find(({ pipeline_name }) => pipeline_name === pipeline).id
}

function bannerOf(child, exited) {
  let output = ''
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text
      if (/Ctrl-C stops everything/.test(output)) resolve(output)
    })
    void exited.then(() => reject(new Error(`the demo ended:\n${output}`)))
  })
}

/** The data of a stand after a few days of use. */
async function makeHistory(client) {
  await addHistory(client)
  await addAccess(client)
  await addRunStories(client)
}
