import type { CheckState } from '../../model/check.js'
import { VitrinaError } from '../../model/errors.js'
import { finalTarget } from '../../model/pipeline.js'
import { kindOf } from '../../model/target.js'
import type { Page } from '../../ports/catalog.js'
import type { CheckFilter, CheckStore } from '../../ports/check-store.js'
import type { Inspector } from '../../ports/inspector.js'
import { RateLimit } from '../auth/rate-limit.js'
import type { PipelineRules } from './pipeline-rules.js'
import type { PipelineService } from './pipelines.js'

interface DataCheckParts {
  readonly store: CheckStore
  readonly pipelines: PipelineService
  readonly inspector: Pick<Inspector, 'evaluateChecks'>
  readonly rules: PipelineRules
}

/** Each evaluation that fails is stored, and reported to every rule that asks for it. */
const EVALUATIONS_PER_MINUTE = 60

/** The data checks of pipelines and what they found. */
export class DataCheckService {
  readonly #parts: DataCheckParts
  readonly #evaluations = new RateLimit(EVALUATIONS_PER_MINUTE, undefined, {
    what: 'evaluations of the checks of this pipeline',
    setting: null,
  })

  constructor(parts: DataCheckParts) {
    this.#parts = parts
  }

  list(filter: CheckFilter): Promise<Page<CheckState>> {
    return this.#parts.store.listChecks(filter)
  }

  async ofPipeline(id: string): Promise<readonly CheckState[]> {
    const { checks } = await this.#parts.pipelines.get(id)
    const page = await this.#parts.store.listChecks({ pipelineId: id, limit: Math.max(1, checks.length) })
    return page.items
  }

  /** Evaluates the checks over the mart as it is now, and stores the results. */
  async run(id: string, signal: AbortSignal): Promise<readonly CheckState[]> {
    const { store, pipelines, inspector, rules } = this.#parts
    const pipeline = await pipelines.get(id)
    const target = finalTarget(pipeline)
    if (pipeline.checks.length > 0 && kindOf(target, rules.targets) !== null)
      throw new VitrinaError(
        'CHECK_INVALID',
        `${target} is not a table: its checks are evaluated on the rows of each batch only.`,
        'Run the pipeline; its results are in GET /pipelines/{id}/checks.',
      )
    if (pipeline.checks.length > 0) {
      this.#evaluations.take(id)
      const usual = (check: string) => store.usualRowsOf(id, check)
      await store.keepResults(id, await inspector.evaluateChecks(pipeline, usual, signal))
    }
    return this.ofPipeline(id)
  }
}
