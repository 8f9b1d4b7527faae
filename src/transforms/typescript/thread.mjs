/** Entry point of a task thread: installs our module hooks before any user code is loaded. */
import { existsSync } from 'node:fs'
import { register } from 'node:module'
import { workerData } from 'node:worker_threads'

// The neighbouring folder is dist/, or src/ in tests.
const end = existsSync(new URL('./worker.js', import.meta.url)) ? 'js' : 'ts'
const own = (name) => new URL(`./${name}.${end}`, import.meta.url).href

process.setSourceMapsEnabled(true)
register('./hooks.mjs', import.meta.url, { data: { task: own('task') } })
const { serve } = await import(own('worker'))

// The port is private: what user code posts to its parent is not an answer.
const { port } = workerData
delete workerData.port
serve(port)
