import { PostgresMartData } from '../data/postgres-mart-data.js'
import { SqlGuard } from '../guard/index.js'
import { PipelineInspector } from '../inspect/inspector.js'
import type { PreviewTimeouts } from '../inspect/read-first-rows.js'
import { FleetLineage } from '../lineage/fleet-lineage.js'
import type { TargetRules } from '../model/target.js'
import type { Inspector } from '../ports/inspector.js'
import type { Lineage } from '../ports/lineage.js'
import type { MartData } from '../ports/mart-data.js'
import type { PartEngine } from '../ports/part-engine.js'
import type { Reconciler } from '../ports/reconciler.js'
import type { SinkKind } from '../ports/sink.js'
import type { TransformHosts } from '../ports/transforms.js'
import { MartReconciler } from '../reconcile/reconciler.js'

export interface InspectionRules {
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly sourceSchemas: readonly string[]
  readonly transforms: TransformHosts
  readonly engine: Pick<PartEngine, 'require'>
  /** How long a preview waits; not given: the default of the product. */
  readonly timeouts?: PreviewTimeouts
}

/** The services with which the API inspects databases: the reader login for sources, its own login for marts. */
export function createInspection(
  readerUrl: string,
  martUrl: string,
  rules: InspectionRules,
): { inspector: Inspector; reconciler: Reconciler; lineage: Lineage; martData: MartData } {
  const guard = new SqlGuard({ sourceSchemas: rules.sourceSchemas })
  return {
    inspector: new PipelineInspector({ readerUrl, martUrl, guard, ...rules }),
    reconciler: new MartReconciler({ readerUrl, martUrl, guard, ...rules }),
    lineage: new FleetLineage({ readerUrl, guard, ...rules }),
    martData: new PostgresMartData({ martUrl, ...rules }),
  }
}
