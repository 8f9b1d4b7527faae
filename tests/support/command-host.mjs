/*
 * Runs commands of the built CLI one after another in this process: a process for each command costs 0.35 s of CPU,
 * mostly to load the same modules again. A request is a line of JSON on descriptor 3. The output of the command goes
 * to stdout and stderr as always, followed on both by the end mark of the request and the exit code.
 */
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { run } from '../../dist/bundle/cli.js'

for await (const line of createInterface({ input: new Socket({ fd: 3 }) })) {
  const { args, env, cwd, endMark } = JSON.parse(line)
  process.chdir(cwd)
  // Not a new object: loadEnvFile and homedir use the real environment.
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.exitCode = undefined
  const code = await run([process.execPath, 'vitrina', ...args])
  process.exitCode = undefined
  // Every command adds one.
  process.stdout.removeAllListeners('error')
  for (const stream of [process.stdout, process.stderr]) stream.write(`${endMark}${code}\n`)
}
