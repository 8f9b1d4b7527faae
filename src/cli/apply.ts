import type { Command } from 'commander'
import type { FilePipeline } from '../config/pipeline-file.js'
import { mistakeLines } from '../config/source-text.js'
import { asVitrinaError } from '../main/as-vitrina-error.js'
import { VitrinaError } from '../model/errors.js'
import { fileMistakes, invalidFile, requireNoMistakes } from './files/mistakes.js'
import { type Format, formatOption, isData, jsonOption, printData } from './output/format.js'
import { detail, good, note, print } from './output/print.js'
import { checkpointFields } from './pipelines/update.js'
import { needsCheckpointDecision } from './plan/impact.js'
import { hasChanges, type Plan, type Update } from './plan/plan.js'
import { planToJson, printPlan } from './plan/print-plan.js'
import { readPlan } from './plan/read-plan.js'
import type { RulePlan } from './plan/rule-plan.js'
import { allowEnvOption, confirm, serverCommand } from './program/command.js'
import { ApiError } from './server/api-error.js'
import type { ServerFlags } from './server/connection.js'
import { openServer, type Server } from './server/server.js'
import type { Fields } from './server/wire.js'

interface Flags extends ServerFlags {
  readonly yes?: boolean
  readonly prune?: boolean
  readonly dryRun?: boolean
  readonly output?: Format
  readonly validate: boolean
  readonly allowEnv?: readonly string[]
  readonly resetCheckpoint?: boolean
  readonly keepCheckpoint?: boolean
}

export function addApply(program: Command): void {
  serverCommand(program, {
    usage: 'apply <paths...>',
    description:
      'Change the server to match these files and folders. Shows the plan and asks for confirmation. A field missing in a file gets its default, except enabled, which keeps its value.',
    examples: [
      'apply pipelines/',
      'apply pipelines/ --yes --prune',
      'apply film_dim.yaml --reset-checkpoint',
    ],
  })
    .option('--yes', 'do not prompt; required without a terminal')
    .option('--dry-run', 'show the plan and stop')
    .option(
      '--prune',
      'delete pipelines that are in none of the files; notification rules too if a file has some',
    )
    .option('--reset-checkpoint', 'read everything again after a change that invalidates the checkpoint')
    .option('--keep-checkpoint', 'continue from the current checkpoint after a change that invalidates it')
    .option('--no-validate', 'do not validate the changes on the server first')
    .addOption(allowEnvOption())
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(apply)
}

async function apply(paths: string[], flags: Flags): Promise<void> {
  const checkpoint = checkpointFields(flags)
  const { server, plan, mistakes } = await readPlan(() => openServer(flags), paths, flags)
  const prune = flags.prune ?? false
  if (isData(flags)) printData(planToJson(plan), flags)
  else printPlan(plan, prune)
  requireNoMistakes(mistakes)
  if (flags.dryRun || !hasChanges(plan, prune)) return
  requireCheckpointDecision(plan, checkpoint)
  if (!(await confirm('Apply this plan?', flags))) return detail('Nothing was changed.')
  await carryOut(server, plan, { checkpoint, prune, report: isData(flags) ? detail : print })
}

/** From then on, the pipelines that apply creates or changes are managed by files. */
const FROM_FILE = { query: { managed_by: 'file' as const } }

interface How {
  readonly checkpoint: Fields
  readonly prune: boolean
  readonly report: (line: string) => void
}

interface ChangeWork {
  readonly verb: 'create' | 'update' | 'delete'
  readonly name: string
  readonly file: FilePipeline | null
  run(): Promise<unknown>
}

/** A target may be taken until a later change frees it; a pipeline to follow may be created or freed by one. */
const MAY_PASS: ReadonlySet<string> = new Set(['TARGET_TAKEN', 'AFTER_UNKNOWN', 'ORDER_CYCLE'])

/**
 * One after another: one transaction for all of them would hold the row of each pipeline, and with it the batches of
 * its run, until the last one is saved. What a later change may allow is retried after the others.
 */
async function carryOut(server: Server, plan: Plan, how: How): Promise<void> {
  const all = workOf(server, plan, how)
  const done: ChangeWork[] = []
  for (let left = all; left.length > 0; ) {
    const waiting: ChangeWork[] = []
    let refused: RefusedWork | null = null
    for (const work of left) {
      try {
        await work.run()
        done.push(work)
        how.report(`${good('✓')} ${work.verb}d ${work.name}`)
      } catch (error) {
        if (!(error instanceof VitrinaError) || !MAY_PASS.has(error.code))
          throw incomplete(all, done, { work, error })
        waiting.push(work)
        refused ??= { work, error }
      }
    }
    if (waiting.length === left.length) throw incomplete(all, done, refused!)
    left = waiting
  }
}

interface RefusedWork {
  readonly work: ChangeWork
  readonly error: unknown
}

/** Shows what was applied and what was not; the error of the server if nothing was. */
function incomplete(
  all: readonly ChangeWork[],
  done: readonly ChangeWork[],
  { work, error }: RefusedWork,
): unknown {
  // Without an answer of the server the change may have been saved.
  const isUnknown = !(error instanceof ApiError)
  const { code, message, hint } = asVitrinaError(error)
  const mistakes = isUnknown || work.file === null ? [] : fileMistakes(work.file, error)
  if (done.length === 0 && !isUnknown) return mistakes.length === 0 ? error : invalidFile(mistakes)
  for (const mistake of mistakes) for (const line of mistakeLines(mistake)) note(line)
  const rest = all.filter((one) => one !== work && !done.includes(one))
  return new VitrinaError(
    'APPLY_INCOMPLETE',
    [
      `${done.length} of ${count(all.length)} ${done.length === 1 ? 'was' : 'were'} applied${listOf(done)}.`,
      isUnknown ? `It is not known whether this one was: ${titleOf(work)}.` : `Refused: ${titleOf(work)}.`,
      ...(rest.length === 0 ? [] : [`Not applied${listOf(rest)}.`]),
      `${code}: ${message}`,
    ].join(' '),
    `${hint} Then apply again: it continues with what is missing.`,
    { cause: error },
  )
}

const count = (changes: number) => (changes === 1 ? '1 change' : `${changes} changes`)
const titleOf = ({ verb, name }: ChangeWork) => `${verb} ${name}`
const listOf = (works: readonly ChangeWork[]) =>
  works.length === 0 ? '' : `: ${works.map(titleOf).join(', ')}`

function workOf(server: Server, plan: Plan, { checkpoint, prune }: How): ChangeWork[] {
  return [
    ...plan.creates.map((file) => ({
      verb: 'create' as const,
      name: file.name,
      file,
      run: () => server.ask(server.api.POST('/pipelines', { params: FROM_FILE, body: file.fields as never })),
    })),
    ...plan.updates.map((update) => ({
      verb: 'update' as const,
      name: update.file.name,
      file: update.file,
      run: () => change(server, update, checkpoint),
    })),
    ...(prune ? plan.extra : []).map(({ id, name, config_version }) => ({
      verb: 'delete' as const,
      name,
      file: null,
      run: () => {
        const params = { ...FROM_FILE, path: { id }, header: { 'if-match': `"${config_version}"` } }
        return server.ask(server.api.DELETE('/pipelines/{id}', { params }))
      },
    })),
    ...(plan.rules === null ? [] : ruleWork(server, plan.rules, prune)),
  ]
}

function ruleWork(server: Server, { creates, updates, extra }: RulePlan, prune: boolean): ChangeWork[] {
  return [
    ...creates.map((file) => ({
      verb: 'create' as const,
      name: `notification ${file.name}`,
      file,
      run: () => server.ask(server.api.POST('/notifications', { body: file.fields as never })),
    })),
    ...updates.map(({ file, current, changes }) => ({
      verb: 'update' as const,
      name: `notification ${file.name}`,
      file,
      run: () => {
        const body = Object.fromEntries(changes.map(({ field, new: value }) => [field, value])) as never
        const params = { path: { id: current.id } }
        return server.ask(server.api.PATCH('/notifications/{id}', { params, body }))
      },
    })),
    ...(prune ? extra : []).map(({ id, name }) => ({
      verb: 'delete' as const,
      name: `notification ${name}`,
      file: null,
      run: () => server.ask(server.api.DELETE('/notifications/{id}', { params: { path: { id } } })),
    })),
  ]
}

/** If-Match: does not overwrite changes that were made after the plan was shown. */
async function change(
  server: Server,
  { current, changes, impact }: Update,
  checkpoint: Fields,
): Promise<void> {
  const params = {
    ...FROM_FILE,
    path: { id: current.id },
    header: { 'if-match': `"${current.config_version}"` },
  }
  const fields = Object.fromEntries(changes.map(({ field, new: value }) => [field, value]))
  // Only where it is needed: resetting one pipeline must not reset the others.
  const send = (extra: Fields) =>
    server.ask(server.api.PATCH('/pipelines/{id}', { params, body: { ...fields, ...extra } as never }))
  if (needsCheckpointDecision(impact)) return void (await send(checkpoint))
  await send({}).catch((error: VitrinaError) => {
    // An unfinished pass is also a checkpoint, although it has no value to show.
    if (error.code === 'CHECKPOINT_INVALID' && Object.keys(checkpoint).length > 0) return send(checkpoint)
    throw error
  })
}

function requireCheckpointDecision(plan: Plan, checkpoint: Fields): void {
  const names = plan.updates
    .filter(({ impact }) => needsCheckpointDecision(impact))
    .map(({ file }) => file.name)
  if (names.length === 0 || Object.keys(checkpoint).length > 0) return
  throw new VitrinaError(
    'CHECKPOINT_INVALID',
    `This change invalidates the checkpoint of ${names.join(', ')}.`,
    'Add --reset-checkpoint to read everything again from the start, or --keep-checkpoint to continue from the current checkpoint.',
  )
}
