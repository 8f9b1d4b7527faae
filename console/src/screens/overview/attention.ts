import type { PipelineLine } from '../../api/wire.js'
import { checksOf, type QualityResult, weightOf } from '../../facts/quality.js'

export interface Attention {
  readonly line: PipelineLine
  /** Checks that did not pass, worst first. */
  readonly found: readonly QualityResult[]
}

/** Pipelines that need attention, worst first. Unknown results do not count. */
export function attentionOf(lines: readonly PipelineLine[], now: number): readonly Attention[] {
  return lines
    .filter(({ enabled }) => enabled)
    .map((line) => ({ line, found: wrongOf(line, now) }))
    .filter(({ found }) => found.length > 0)
    .sort((a, b) => weightOf(b.found) - weightOf(a.found) || a.line.name.localeCompare(b.line.name))
}

function wrongOf(line: PipelineLine, now: number): readonly QualityResult[] {
  const wrong = checksOf(line, now).filter(({ verdict }) => verdict === 'fail' || verdict === 'warn')
  return [...wrong].sort((a, b) => weightOf([b]) - weightOf([a]))
}
