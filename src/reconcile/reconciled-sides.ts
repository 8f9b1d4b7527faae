import { finalTarget, hasTransforms, type Pipeline, transformNames } from '../model/pipeline.js'
import { kindOf, type TargetRules } from '../model/target.js'
import type { SinkKind } from '../ports/sink.js'
import type { TransformChain, TransformHosts } from '../ports/transforms.js'
import { onSide } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import { openSink } from '../sinks/open.js'
import { findTarget, type TargetTable } from '../sinks/postgres/target.js'
import { describeQuery } from '../sources/postgres/describe.js'
import { asRelation, type Column, requireColumn } from '../sql/selection.js'
import { Evidence } from './evidence.js'
import type { DriftSearch } from './find-drift.js'
import { asTableHolds, notThere, rowsOfSink, rowsOfSource, rowsOfTable } from './rows-sides.js'
import { type ComparedColumn, TableSide } from './side.js'

/** What both sides are built from. */
export interface ComparisonParts {
  readonly source: Session
  /** The mart; for a sink the main database, which has its checkpoint. */
  readonly target: Session
  /** Of the main database. */
  readonly main: Session
  readonly pipeline: Pipeline
  readonly query: string
  readonly signal: AbortSignal
  /** Called after the comparison, last first. */
  readonly closing: (() => Promise<unknown>)[]
}

export interface SideRules {
  readonly targets: TargetRules<SinkKind>
  readonly transforms: TransformHosts
}

export interface ReconciledSides extends DriftSearch {
  readonly key: readonly string[]
}

type SidesOf = Omit<ReconciledSides, 'inOneSnapshot'>

/** Compares inside the databases where both can hash their rows, otherwise row by row. */
export async function sidesFor(parts: ComparisonParts, { targets, transforms }: SideRules): Promise<SidesOf> {
  const { pipeline, signal, closing } = parts
  const columns = await describeQuery(parts.source, parts.query)
  const chain = hasTransforms(pipeline)
    ? await transforms.open(transformNames(pipeline), columns, { signal, onOutput: () => {} })
    : null
  if (chain !== null) closing.push(() => chain.close())
  const sink = kindOf(finalTarget(pipeline), targets)
  if (sink !== null) return sinkSides(parts, columns, { chain, kind: sink.kind })
  const table = await onSide('target', 'Inspecting the target', () =>
    findTarget(parts.target, {
      address: finalTarget(pipeline),
      columns: chain?.columns ?? columns,
      keyColumns: pipeline.keyColumns,
      rules: targets,
    }),
  )
  if (table === null) throw notThere(finalTarget(pipeline))
  return chain === null
    ? tableSides(parts, columns, table)
    : transformedSides(parts, columns, { chain, table })
}

function tableSides(parts: ComparisonParts, columns: readonly Column[], table: TargetTable): SidesOf {
  const { source, target, query } = parts
  const compared = comparedColumns(table)
  const key = keyOf(table, compared)
  return {
    source: new TableSide({
      session: source,
      side: 'source',
      relation: asRelation(query),
      columns: compared,
      key,
    }),
    target: new TableSide({
      session: target,
      side: 'target',
      relation: table.quoted,
      columns: compared,
      key,
    }),
    classifier: classifierFor(parts, columns, { martKey: table.key, key, hasRowVersions: true }),
    key: table.key,
  }
}

function transformedSides(
  parts: ComparisonParts,
  columns: readonly Column[],
  { chain, table }: { readonly chain: TransformChain; readonly table: TargetTable },
): SidesOf {
  const { source, target, query } = parts
  const compared = comparedColumns(table)
  const key = keyOf(table, compared)
  const read = table.key.map((name) => requireColumn(columns, name, 'key_columns'))
  const control = new TableSide({
    session: source,
    side: 'source',
    relation: asRelation(query),
    columns,
    key: read,
  })
  const mart = new TableSide({
    session: target,
    side: 'target',
    relation: table.quoted,
    columns: compared,
    key,
  })
  return {
    source: rowsOfSource(
      { source, query, columns, chain, key: read },
      asTableHolds(target, table, { compared, columns: chain.columns }),
      control,
    ),
    target: rowsOfTable(target, table, { compared, control: mart }),
    classifier: classifierFor(parts, columns, { martKey: table.key, key, hasRowVersions: true }),
    key: table.key,
  }
}

async function sinkSides(
  parts: ComparisonParts,
  columns: readonly Column[],
  { chain, kind }: { readonly chain: TransformChain | null; readonly kind: SinkKind },
): Promise<SidesOf> {
  const { source, pipeline, query, signal, closing } = parts
  const written = chain?.columns ?? columns
  const { sink, key: names } = await openSink(kind, pipeline, { columns: written, signal })
  closing.push(() => sink.close())
  if (!(await sink.examine()).exists) throw notThere(finalTarget(pipeline))
  const key = names.map((name) => requireColumn(columns, name, 'key_columns'))
  const control = new TableSide({
    session: source,
    side: 'source',
    relation: asRelation(query),
    columns,
    key,
    bytewise: true,
  })
  return {
    source: rowsOfSource(
      { source, query, columns, chain, key },
      async (rows) => rows.map((row) => sink.digestOf(row)),
      control,
    ),
    target: rowsOfSink(sink),
    classifier: classifierFor(parts, columns, { martKey: names, key, hasRowVersions: false }),
    key: names,
  }
}

function classifierFor(
  { source, target, main, pipeline, query }: ComparisonParts,
  columns: readonly Column[],
  mart: { martKey: readonly string[]; key: readonly ComparedColumn[]; hasRowVersions: boolean },
): DriftSearch['classifier'] {
  const evidence = new Evidence({ source, target, main, pipeline, query, columns, ...mart })
  return () => evidence.classifier()
}

function comparedColumns(table: TargetTable): ComparedColumn[] {
  return table.columns.map((column, index) => ({ name: column.name, type: table.types[index]! }))
}

function keyOf(table: TargetTable, compared: readonly ComparedColumn[]): ComparedColumn[] {
  return table.key.map((name) => compared.find((column) => column.name === name)!)
}
