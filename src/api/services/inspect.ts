import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import type { Reconciliation } from '../../model/reconcile.js'
import type { Run } from '../../model/run.js'
import type { Preview, SourceTables, Validation } from '../../model/validation.js'
import type { ComparisonStore } from '../../ports/comparison-store.js'
import type { Inspector, ValidationDepth } from '../../ports/inspector.js'
import type { Reconciler } from '../../ports/reconciler.js'
import type { RunControl } from '../../ports/run-control.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import { readDraft, unsaved } from './pipeline-draft.js'
import type { PipelineRules } from './pipeline-rules.js'
import type { PipelineService } from './pipelines.js'

type Raw = Readonly<Record<string, unknown>>

/** The maximum number of keys returned for each kind of difference. */
const SAMPLE_SIZE = 100

export interface InspectParts {
  readonly inspector: Inspector
  readonly reconciler: Reconciler
  readonly comparisons: ComparisonStore
  readonly pipelines: PipelineService
  readonly control: RunControl
  readonly rules: PipelineRules
}

/**
 * Inspects what a pipeline would do and what it has done. Writes only the result of a comparison, into the meta
 * store; a repair is requested from a runner.
 */
export class InspectService {
  readonly #parts: InspectParts

  constructor(parts: InspectParts) {
    this.#parts = parts
  }

  close(): Promise<void> {
    return this.#parts.inspector.close()
  }

  async validate(id: string, signal: AbortSignal): Promise<Validation> {
    return this.#parts.inspector.validate(await this.#parts.pipelines.get(id), signal)
  }

  validateDraft(raw: Raw, depth: ValidationDepth, signal: AbortSignal): Promise<Validation> {
    const draft = readDraft(raw, this.#parts.rules, ['name'])
    return this.#parts.inspector.validate(unsaved(draft), signal, depth)
  }

  tables(connection: string | null, signal: AbortSignal): Promise<SourceTables> {
    return this.#parts.inspector.tables(connection, signal)
  }

  async preview(id: string, limit: number, signal: AbortSignal): Promise<Preview> {
    return this.#parts.inspector.preview(await this.#parts.pipelines.get(id), limit, signal)
  }

  previewDraft(raw: Raw, limit: number, signal: AbortSignal): Promise<Preview> {
    const draft = readDraft(raw, this.#parts.rules, ['name', 'target_table'])
    return this.#parts.inspector.preview(unsaved(draft), limit, signal)
  }

  async reconcile(
    id: string,
    { deep, signal, events }: { deep: boolean; signal: AbortSignal; events: ApiEvents },
  ): Promise<Reconciliation> {
    const pipeline = await this.#parts.pipelines.get(id)
    const began = performance.now()
    const found = await this.#parts.reconciler.compare(pipeline, { deep, sampleSize: SAMPLE_SIZE, signal })
    const durationMs = Math.round(performance.now() - began)
    const { configVersion } = pipeline
    await this.#parts.comparisons.keep({ pipelineId: pipeline.id, configVersion, durationMs, found })
    events.reconciled(pipeline, found)
    return found
  }

  /** A run in progress takes the rows along. Null: nothing differs, so there is nothing to repair. */
  async repair(id: string, author: Author, signal: AbortSignal): Promise<{ rows: number; run: Run | null }> {
    const pipeline = await this.#parts.pipelines.get(id)
    const keys = await this.#parts.reconciler.keysToRepair(pipeline, signal)
    if (keys.length === 0) return { rows: 0, run: null }
    const run = await this.#parts.control.requestRepair(id, keys, author)
    if (run !== null) return { rows: keys.length, run }
    throw new VitrinaError(
      'RUN_ACTIVE',
      `Pipeline "${pipeline.name}" is about to pause.`,
      'Wait until it is paused, then request the repair again.',
    )
  }
}
