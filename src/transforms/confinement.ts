import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Settings } from '../config/settings.js'
import { VitrinaError } from '../model/errors.js'
import { hostEnvironment } from './host-environment.js'

/** Isolates a host from the processes of Vitrina. */
export interface Confinement {
  /** Prepended to the command of a host. */
  readonly prefix: readonly string[]
  /** Null: the user of this process. */
  readonly user: TaskUser | null
}

export interface TaskUser {
  readonly uid: number
  readonly gid: number
}

type ConfinementSettings = Pick<Settings, 'VITRINA_TASK_ISOLATION' | 'VITRINA_TASK_USER'>

/**
 * A process in its own user namespace has no rights over processes outside, even with the same user: the kernel denies
 * access to their memory, descriptors, environment and ptrace. File permissions do not change.
 */
const OWN_NAMESPACE = ['unshare', '--user', '--map-current-user', '--'] as const
const TIMEOUT_MS = 10_000

export class Confining {
  readonly #isolation: ConfinementSettings['VITRINA_TASK_ISOLATION']
  readonly #user: TaskUser | null
  readonly #known = new Map<string, Promise<Confinement>>()

  constructor(settings: ConfinementSettings) {
    this.#isolation = settings.VITRINA_TASK_ISOLATION
    this.#user = settings.VITRINA_TASK_USER === undefined ? null : taskUser(settings.VITRINA_TASK_USER)
  }

  /** For this program and this task folder. Tested once: what the kernel and its policies allow differs. */
  of(program: string, folder: string): Promise<Confinement> {
    const key = `${program}\0${folder}`
    const known = this.#known.get(key) ?? this.#find(program, folder)
    this.#known.set(key, known)
    // A missing program or permission may be added without a restart.
    known.catch(() => this.#known.delete(key))
    return known
  }

  async #find(program: string, folder: string): Promise<Confinement> {
    const bare = { prefix: [], user: this.#user }
    if (this.#user !== null) {
      if (!(await holds(bare, ['-r', folder, '-a', '-x', folder]))) throw unreadable(folder, this.#user)
      if (!(await holds(bare, ['-x', program]))) throw unusable(program, this.#user)
    }
    if (this.#isolation === 'off') return bare
    const isolated = { prefix: OWN_NAMESPACE, user: this.#user }
    if (await holds(isolated, ['-r', folder, '-a', '-x', folder, '-a', '-x', program])) return isolated
    if (this.#isolation === 'required') throw notIsolated()
    return bare
  }
}

/** Tested instead of computed: mode bits alone would miss namespaces, access lists and mount options. */
function holds({ prefix, user }: Confinement, test: readonly string[]): Promise<boolean> {
  const [file = '', ...args] = [...prefix, 'test', ...test]
  const options = { cwd: '/', env: hostEnvironment(), timeout: TIMEOUT_MS, ...user }
  return new Promise((resolve) => execFile(file, args, options, (error) => resolve(error === null)))
}

/** `etl` or `1001:1001`. */
function taskUser(text: string): TaskUser {
  if (process.getuid?.() !== 0)
    throw new VitrinaError(
      'SETTING_INVALID',
      `VITRINA_TASK_USER is "${text}", but this process is not root and cannot start processes as another user.`,
      'Remove VITRINA_TASK_USER, or start the process as root.',
    )
  const [, uid, gid] = /^(\d+):(\d+)$/.exec(text) ?? accountOf(text)
  if (uid === undefined || gid === undefined || Number(uid) === 0)
    throw new VitrinaError(
      'SETTING_INVALID',
      `VITRINA_TASK_USER is "${text}", which is root or not an account on this machine.`,
      'Use the name of an account, or uid:gid.',
    )
  return { uid: Number(uid), gid: Number(gid) }
}

function accountOf(name: string): readonly (string | undefined)[] {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return [name, uid, gid]
}

function unreadable(folder: string, { uid }: TaskUser): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_HOST_MISSING',
    `The user of VITRINA_TASK_USER (uid ${uid}) cannot read ${folder}.`,
    'Grant it read access to this folder and search access to its parents.',
  )
}

function unusable(program: string, { uid }: TaskUser): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_HOST_MISSING',
    `The user of VITRINA_TASK_USER (uid ${uid}) cannot run ${program}.`,
    'Install it where every account can run it; VITRINA_PYTHON selects the Python interpreter.',
  )
}

function notIsolated(): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_HOST_MISSING',
    'Task functions cannot be started in their own user namespace, but VITRINA_TASK_ISOLATION is "required".',
    'Install unshare (util-linux) and allow user namespaces, or set VITRINA_TASK_ISOLATION to "auto".',
  )
}
