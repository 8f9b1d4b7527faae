import { VitrinaError } from '../../model/errors.js'
import { finalTarget, hasTransforms, type Pipeline, type Way } from '../../model/pipeline.js'
import { allowedInstead, isAllowedTarget, kindOf, type TargetRules } from '../../model/target.js'
import type { SinkKind } from '../../ports/sink.js'

/** How the rows of a pipeline get to its target. */
export type ChosenRoute =
  | { readonly way: 'pushdown' | 'relay'; readonly sink: null }
  | { readonly way: 'rows'; readonly sink: SinkKind | null }

/**
 * The fastest route that a pipeline allows, for runs and for validation. Throws TARGET_REFUSED. `forced` is for tests
 * and benchmarks.
 */
export function chooseRoute(
  pipeline: Pipeline,
  targets: TargetRules<SinkKind>,
  forced: Way | null = null,
): ChosenRoute {
  const target = finalTarget(pipeline)
  if (!isAllowedTarget(target, targets)) throw targetRefused(target, targets)
  const sink = kindOf(target, targets)?.kind ?? null
  if (sink !== null || hasTransforms(pipeline) || forced === 'rows') return { way: 'rows', sink }
  const isOneDatabase = pipeline.sourceConnection === pipeline.targetConnection
  return { way: forced ?? (isOneDatabase ? 'pushdown' : 'relay'), sink: null }
}

function targetRefused(target: string, targets: TargetRules): VitrinaError {
  const { setting, names } = allowedInstead(target, targets)
  return new VitrinaError(
    'TARGET_REFUSED',
    `"${target}" is not an allowed target (allowed: ${names.join(', ')}).`,
    `Choose an allowed target, or ask an administrator to extend ${setting}.`,
  )
}
