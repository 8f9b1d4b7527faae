import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import type { PipelineVersion } from '../../model/history.js'
import { isId } from '../../model/id.js'
import { finalTarget, type Pipeline, readerQuery } from '../../model/pipeline.js'
import { kindOf } from '../../model/target.js'
import type { Page, PageRequest, State } from '../../ports/catalog.js'
import type { Inspector } from '../../ports/inspector.js'
import type { CheckpointValue, PipelineDraft, PipelineEditor } from '../../ports/pipeline-editor.js'
import { pipelineFields } from '../schemas/pipeline-input.js'
import { RequestInvalid } from '../schemas/request-invalid.js'
import { busy, checkpointFate, decideReset, isRunning, refuseWhileRunning } from './checkpoint-rules.js'
import { DryRunEnd, type DryRunResult, dryRunResult, type EditManner, managerAfter } from './dry-run.js'
import { notFound } from './not-found.js'
import { mergePatch, readDraft, unsaved } from './pipeline-draft.js'
import type { PipelineRules } from './pipeline-rules.js'
import type { PipelineService } from './pipelines.js'

type Raw = Readonly<Record<string, unknown>>

export interface EditRequest extends EditManner {
  readonly id: string
  readonly author: Author
  /** The header If-Match; undefined changes the current version. */
  readonly ifMatch?: string
}

interface EditedPipeline {
  readonly action: string
  readonly draftOf: (current: Pipeline) => PipelineDraft
  readonly resetCheckpoint?: boolean | undefined
}

export interface EditParts {
  readonly editor: PipelineEditor
  readonly rules: PipelineRules
  readonly pipelines: PipelineService
  readonly inspector: Inspector
}

/**
 * The rules for changing a configuration. Each change is checked under a lock, so that no concurrent change
 * interferes.
 */
export class EditService {
  readonly #editor: PipelineEditor
  readonly #rules: PipelineRules
  readonly #pipelines: PipelineService
  readonly #inspector: Inspector

  constructor(parts: EditParts) {
    this.#editor = parts.editor
    this.#rules = parts.rules
    this.#pipelines = parts.pipelines
    this.#inspector = parts.inspector
  }

  async create(raw: Raw, author: Author, manner: EditManner = {}): Promise<Pipeline> {
    const draft = { ...readDraft(raw, this.#rules), managedBy: manner.from ?? 'api' }
    await this.#requireSavable(unsaved(draft))
    await this.#requireOwnTarget(null, draft)
    if (!manner.dryRun) {
      const reads = await this.#inspector.reads(unsaved(draft), AbortSignal.timeout(CHECK_MS))
      return this.#editor.create(draft, author, reads)
    }
    await this.#requireFree(draft.name)
    throw new DryRunEnd(dryRunResult(null, draft, 'none'))
  }

  /** What `edit` would change, without dryRun. */
  async dryRun(edit: () => Promise<unknown>): Promise<DryRunResult> {
    try {
      await edit()
    } catch (error) {
      if (error instanceof DryRunEnd) return error.result
      throw error
    }
    throw new Error('the edit was not a dry run')
  }

  patch(request: EditRequest, raw: Raw): Promise<Pipeline> {
    const { reset_checkpoint, ...patch } = raw
    return this.#change(request, {
      action: 'pipeline.change',
      draftOf: (current) => ({
        ...readDraft(mergePatch(current, patch), this.#rules),
        managedBy: managerAfter(current, request),
      }),
      resetCheckpoint: readResetCheckpoint(reset_checkpoint),
    })
  }

  setEnabled(request: EditRequest, enabled: boolean): Promise<Pipeline> {
    const action = enabled ? 'pipeline.enable' : 'pipeline.disable'
    return this.#change(request, { action, draftOf: (current) => ({ ...current, enabled }) })
  }

  async restore(
    request: EditRequest,
    version: string,
    resetCheckpoint: boolean | undefined,
  ): Promise<Pipeline> {
    const { spec } = await this.version(request.id, version)
    // Only fields that this program knows: a newer one may have stored more.
    const known = Object.fromEntries(
      Object.entries(spec).filter(([field, value]) => Object.hasOwn(pipelineFields, field) && value !== null),
    )
    const draftOf = (current: Pipeline) => ({
      ...readDraft(known, this.#rules),
      managedBy: managerAfter(current, request),
    })
    return this.#change(request, { action: 'pipeline.restore', draftOf, resetCheckpoint })
  }

  async remove({ id, author, ifMatch, ...manner }: EditRequest): Promise<void> {
    const check = (current: Pipeline) => {
      requireConfigVersion(current, ifMatch)
      managerAfter(current, manner)
      if (isRunning(current)) throw busy(current, 'it cannot be deleted now')
    }
    if (!isId(id) || !(await this.#editor.remove(id, author, check))) throw notFound('PIPELINE_NOT_FOUND', id)
  }

  async reset(id: string, author: Author, to: CheckpointValue): Promise<State> {
    const decide = (current: Pipeline) => {
      if (isRunning(current)) throw busy(current, 'its checkpoint cannot be set now')
      requireUsable(current, to)
      return to
    }
    const state = isId(id) ? await this.#editor.reset(id, author, decide) : null
    if (state === null) throw notFound('PIPELINE_NOT_FOUND', id)
    return state
  }

  async reload(id: string, author: Author): Promise<Pipeline> {
    const pipeline = isId(id) ? await this.#editor.reload(id, author) : null
    if (pipeline === null) throw notFound('PIPELINE_NOT_FOUND', id)
    return pipeline
  }

  versions(id: string, page: PageRequest): Promise<Page<PipelineVersion>> {
    return this.#editor.listVersions(id, page)
  }

  async version(id: string, version: string): Promise<PipelineVersion> {
    const isVersion = /^[1-9]\d{0,8}$/.test(version)
    const found = isId(id) && isVersion ? await this.#editor.getVersion(id, Number(version)) : null
    if (found === null) throw notFound('VERSION_NOT_FOUND', version)
    return found
  }

  async #change(
    { id, author, ifMatch, dryRun }: EditRequest,
    { action, draftOf, resetCheckpoint: requested }: EditedPipeline,
  ): Promise<Pipeline> {
    const before = await this.#pipelines.get(id)
    const draft = draftOf(before)
    const wanted = unsaved(draft)
    const isReadAgain = readsOtherwise(before, wanted)
    if (isReadAgain) {
      // Neither is worth querying the source if the change is rejected anyway.
      requireConfigVersion(before, ifMatch)
      refuseWhileRunning(before, draft)
      await this.#requireSavable(wanted)
    }
    if (claimsTarget(wanted, before)) await this.#requireOwnTarget(before.id, wanted)
    if (dryRun && wanted.name !== before.name) await this.#requireFree(wanted.name)
    const decide = (current: Pipeline, hasCheckpoint: boolean) => {
      requireConfigVersion(current, ifMatch)
      const draft = draftOf(current)
      refuseWhileRunning(current, draft)
      if (dryRun)
        throw new DryRunEnd(
          dryRunResult(
            current,
            draft,
            checkpointFate(current, draft, { hasCheckpoint, resetCheckpoint: requested }),
          ),
        )
      const resetCheckpoint = decideReset(current, draft, { hasCheckpoint, resetCheckpoint: requested })
      if (resetCheckpoint && isRunning(current)) throw busy(current, 'its checkpoint cannot be reset now')
      return { draft, resetCheckpoint }
    }
    const reads = isReadAgain ? await this.#inspector.reads(wanted, AbortSignal.timeout(CHECK_MS)) : null
    const pipeline = await this.#editor.change(id, { action, author, decide, reads })
    if (pipeline === null) throw notFound('PIPELINE_NOT_FOUND', id)
    return pipeline
  }

  /** The database decides about a real edit; a dry run does not reach it. */
  async #requireFree(name: string): Promise<void> {
    const { items } = await this.#pipelines.list({ q: name, limit: 200 })
    if (items.some((one) => one.name === name))
      throw new VitrinaError(
        'PIPELINE_NAME_TAKEN',
        `A pipeline named "${name}" already exists.`,
        'Choose another name, or change the existing pipeline.',
      )
  }

  /** The database rejects a second writer too; here it is named, also in a dry run. */
  async #requireOwnTarget(id: string | null, draft: PipelineDraft): Promise<void> {
    const target = finalTarget(draft)
    const sink = kindOf(target, this.#rules.targets)
    const others = sink?.kind.otherNames?.(sink.name).map((name) => sink.kind.prefix + name) ?? []
    const other = await this.#editor.otherWriter({
      id,
      name: draft.name,
      addresses: [target, ...others],
      connection: draft.targetConnection,
      isShared: draft.sharedTarget,
    })
    if (other !== null) throw targetTaken(other, target)
  }

  /** R6.1: a query that the guard rejects cannot be saved, and neither can a key that the query does not return. */
  async #requireSavable(pipeline: Pipeline): Promise<void> {
    const findings = await this.#inspector.refusals(pipeline, AbortSignal.timeout(CHECK_MS))
    if (findings.length > 0)
      throw new RequestInvalid(
        findings.map(({ field, code, message, position }) => ({
          field,
          code,
          message:
            position === null ? message : `line ${position.line}, column ${position.column}: ${message}`,
        })),
      )
  }
}

const CHECK_MS = 20_000

/** What is read, by which keys and with which checks; only these need a query to the source. */
function readsOtherwise(before: Pipeline, wanted: Pipeline): boolean {
  const facts = (pipeline: Pipeline) => {
    const { sourceConnection, mode, capture, incrementalKey, incrementalIdKey, keyColumns, checks } = pipeline
    const keys = [incrementalKey, incrementalIdKey, keyColumns]
    return JSON.stringify([readerQuery(pipeline), sourceConnection, mode, capture, keys, checks])
  }
  return facts(before) !== facts(wanted)
}

/** A change of other fields is not blocked by another pipeline. */
function claimsTarget(wanted: Pipeline, before: Pipeline): boolean {
  return (
    finalTarget(wanted) !== finalTarget(before) ||
    wanted.targetConnection !== before.targetConnection ||
    wanted.sharedTarget !== before.sharedTarget
  )
}

function targetTaken({ id, name }: { readonly id: string; readonly name: string }, target: string) {
  return new VitrinaError(
    'TARGET_TAKEN',
    `Pipeline "${name}" already writes to ${target}.`,
    'Choose another target, or set shared_target to true on both pipelines.',
    { facts: { pipeline_id: id } },
  )
}

function readResetCheckpoint(raw: unknown): boolean | undefined {
  if (raw === undefined || typeof raw === 'boolean') return raw
  throw new RequestInvalid([
    { field: 'reset_checkpoint', code: 'invalid_type', message: 'must be true or false' },
  ])
}

/** The header requires quotes; scripts often omit them. */
function requireConfigVersion({ name, configVersion }: Pipeline, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  const wanted = ifMatch.split(',').map((tag) => tag.trim().replace(/^"(.*)"$/, '$1'))
  if (wanted.includes(String(configVersion))) return
  throw new VitrinaError(
    'VERSION_STALE',
    `Pipeline "${name}" is at version ${configVersion} now.`,
    'Read it again, apply your change to the current version, and send that version as If-Match.',
    { facts: { current_version: configVersion } },
  )
}

/** A value that the pipeline would ignore must not look as if it had an effect. */
function requireUsable({ mode, capture, incrementalIdKey }: Pipeline, to: CheckpointValue): void {
  if (to.lastProcessedKey === null) return
  if (mode !== 'incremental' || capture !== 'key')
    throw new RequestInvalid([
      {
        field: 'last_processed_key',
        code: 'MODE_MISMATCH',
        message: 'requires mode incremental with capture key',
      },
    ])
  if (to.lastProcessedId !== null && incrementalIdKey === null)
    throw new RequestInvalid([
      {
        field: 'last_processed_id',
        code: 'KEY_MISSING',
        message: 'requires incremental_id_key',
      },
    ])
}
