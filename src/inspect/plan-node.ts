/** Below this number of rows an index saves no noticeable time. */
export const BIG_TABLE = 10_000

/** A node of EXPLAIN (FORMAT JSON). */
export interface PlanNode {
  'Node Type': string
  'Plan Rows': number
  'Total Cost': number
  Schema?: string
  'Relation Name'?: string
  Filter?: string
  Plans?: PlanNode[]
}

export function flattenPlan(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flattenPlan)]
}
