import type { Pipeline } from '../model/pipeline.js'
import type { Finding } from '../model/validation.js'
import type { Examination, SinkKind } from '../ports/sink.js'
import { openSink } from '../sinks/open.js'
import type { Column } from '../sql/selection.js'

export interface SinkExamination extends Examination {
  readonly key: readonly string[]
  /** It takes rows from several runners at the same time. */
  readonly isParted: boolean
}

/** Examines the target of a sink for rows with these columns. Changes nothing. */
export async function examineSink(
  kind: SinkKind,
  pipeline: Pipeline,
  opening: { readonly columns: readonly Column[]; readonly signal: AbortSignal },
): Promise<SinkExamination> {
  const { sink, key } = await openSink(kind, pipeline, opening)
  try {
    return { ...(await sink.examine()), key, isParted: sink.parting !== undefined }
  } finally {
    await sink.close()
  }
}

/** Findings of a sink refer to its target unless they say otherwise. */
export function ofTarget(findings: readonly Finding[]): Finding[] {
  return findings.map((finding) => ({ ...finding, field: finding.field || 'target_table' }))
}
