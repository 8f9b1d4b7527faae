/** The beginning of a task thread: nothing of a user is loaded before modules are found our way. */
import { existsSync } from 'node:fs'
import { register } from 'node:module'
import { workerData } from 'node:worker_threads'

// Beside us lies dist/, or src/ when tests run.
const end = existsSync(new URL('./worker.js', import.meta.url)) ? 'js' : 'ts'
const own = (name) => new URL(`./${name}.${end}`, import.meta.url).href

process.setSourceMapsEnabled(true)
register('./hooks.mjs', import.meta.url, { data: { task: own('task') } })
const { serve } = await import(own('worker'))

// The port is ours alone: what user code posts to its parent is not an answer.
const { port } = workerData
delete workerData.port
serve(port)
