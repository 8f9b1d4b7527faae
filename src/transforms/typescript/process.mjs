/** The beginning of a process with TypeScript functions. Its own modules are read like theirs when tests run from src/. */
import { existsSync } from 'node:fs'
import { register } from 'node:module'

const end = existsSync(new URL('./watched-thread.js', import.meta.url)) ? 'js' : 'ts'
const own = (name) => new URL(`./${name}.${end}`, import.meta.url).href

if (end === 'ts') register('./hooks.mjs', import.meta.url, { data: { task: own('task') } })
const { runWatchedThread } = await import(own('watched-thread'))
runWatchedThread(JSON.parse(process.argv[2]))
