import { VitrinaError } from '../model/errors.js'
import type { Gone, Host, HostAnswer, Language, LoadedTask } from './host.js'
import { LOAD_MS } from './segment.js'

export interface FileProblem {
  readonly file: string
  readonly message: string
}

export interface Scanned {
  readonly tasks: readonly LoadedTask[]
  readonly problems: readonly FileProblem[]
}

/** Loads files to find out what they register. A file that breaks its host does not affect the others. */
export async function scan(language: Language, files: readonly string[]): Promise<Scanned> {
  const tasks: LoadedTask[] = []
  const problems: FileProblem[] = []
  for (let rest = files; rest.length > 0; ) {
    const found = await scanUntilBroken(language, rest)
    tasks.push(...found.tasks)
    problems.push(...found.problems)
    rest = rest.slice(found.seen)
  }
  return { tasks, problems }
}

interface BrokenOff extends Scanned {
  /** Number of files processed, at least one. */
  readonly seen: number
}

async function scanUntilBroken(language: Language, files: readonly string[]): Promise<BrokenOff> {
  const tasks: LoadedTask[] = []
  const problems: FileProblem[] = []
  let seen = 0
  const blame = (message: string) => problems.push({ file: files[seen++]!, message })
  let host: Host | null = null
  let timer: NodeJS.Timeout | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      const restartTimer = () => {
        clearTimeout(timer)
        timer = setTimeout(() => {
          blame(`It did not load within ${LOAD_MS / 1000} s.`)
          resolve()
        }, LOAD_MS)
      }
      const answer = (answer: HostAnswer) => {
        restartTimer()
        if (answer.op === 'ready') resolve()
        if (answer.op !== 'loaded') return
        tasks.push(...answer.tasks)
        if (answer.problem === null) seen += 1
        else blame(`${answer.problem.line}${placeIn(answer.problem.trace, answer.file)}`)
      }
      const gone = ({ how, why }: Gone) => {
        if (why === 'missing' || seen === files.length) return reject(hostMissing(language, how))
        blame(`The host ${how} while loading it.`)
        resolve()
      }
      restartTimer()
      language
        .start({ answer, gone, output: () => {}, dropped: () => {}, working: () => {} })
        .then((started) => {
          host = started
          started.ask({ op: 'load', folder: language.folder, files, describe: true })
        }, reject)
    })
  } finally {
    clearTimeout(timer)
    await (host as Host | null)?.kill()
  }
  return { tasks, problems, seen }
}

/** ` (line 7)`, if the trace contains a line of this file. */
function placeIn(trace: string, file: string): string {
  const name = file.slice(file.lastIndexOf('/') + 1).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const places = [...trace.matchAll(new RegExp(`${name}"?(?:, line |:)(\\d+)`, 'g'))]
  const line = places.at(-1)?.[1]
  return line === undefined ? '' : ` (line ${line})`
}

function hostMissing(language: Language, how: string): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_HOST_MISSING',
    `The host of ${language.name} transforms ${how}.`,
    'Run "vitrina doctor".',
  )
}
