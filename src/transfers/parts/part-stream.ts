import type { Phase } from '../../model/claim.js'
import type { PartClaim } from '../../model/part.js'
import { finalTarget } from '../../model/pipeline.js'
import type { PartBatchId } from '../../ports/sink.js'
import { databaseError } from '../../postgres/errors.js'
import type { OpenedSink } from '../../sinks/open.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import type { RowBatch } from '../../sql/row-batch.js'
import { columnList } from '../../sql/selection.js'
import { writingInto } from '../attempt.js'
import { type MartChange, type MartWriter, NO_CHANGE } from '../marts/mart.js'
import { SinkMart } from '../marts/sink.js'
import { SELECTIONS, Staging, TableMart } from '../marts/table.js'
import { type RowSource, TableWriter, type TableWriting } from '../marts/table-writer.js'
import { NO_WATERMARK, type Progression } from '../progression.js'
import { OnceReader } from '../readers/once.js'
import { LoadedPages } from '../readers/paged.js'
import { ReadAhead } from '../readers/read-ahead.js'
import type { Reader, SourceQuery } from '../readers/reader.js'
import { WholeReader } from '../readers/staged.js'
import { Relay } from '../routes/relay.js'
import type { Resources, Sides } from '../sides.js'
import { counted } from '../steps/pass.js'
import { queryOfRange, rangeOrder } from './key-ranges.js'
import { importSnapshot } from './shared-snapshot.js'

/** Rows of a part that were read, and are written next. */
interface PartPortion {
  readonly phases: readonly Phase[]
  write(id: PartBatchId): Promise<MartChange>
}

/** The rows of a part, in portions of about `limit` rows; null: no more. */
export interface PartStream {
  next(limit: number): Promise<PartPortion | null>
}

interface PartRowWriter<Rows> {
  write(rows: Rows, id: PartBatchId): Promise<MartChange>
}

function streamOf<Rows>(reader: Reader<Rows>, writer: PartRowWriter<Rows>): PartStream {
  return {
    next: async (limit) => {
      const portion = await reader.next(limit)
      if (portion === null) return null
      const { phases, rows } = portion
      return { phases, write: async (id) => counted(await writer.write(rows, id), portion) }
    },
  }
}

interface AnyPart {
  readonly claim: PartClaim
  readonly sides: Sides<unknown>
  readonly resources: Resources
}

interface PartSides extends AnyPart {
  readonly sides: Sides<TargetTable>
  readonly table: TargetTable
  readonly way: 'pushdown' | 'relay' | 'rows'
}

interface SinkPart extends AnyPart {
  readonly mart: OpenedSink
}

const PART_TABLE = 'vitrina_part'
/** A runner holds a few portions of each part that it works on: wide rows make them smaller than PORTION_ROWS. */
const PORTION_BYTES = 4 * 1024 * 1024

/** A part has no checkpoint of its own: it is committed as a whole. */
const NO_PROGRESSION: Progression = {
  after: null,
  unfinished: false,
  beforeRead: async () => NO_WATERMARK,
  moved: () => Promise.reject(new Error('A part has no checkpoint.')),
}

/** Begins to read the part in the snapshot of its run. */
export function openPartStream(part: PartSides): Promise<PartStream> {
  if (part.way === 'rows') return rowsOf(part)
  return part.way === 'relay' ? relayOf(part) : pushdownOf(part)
}

/** The same for a mart behind a sink. */
export async function openSinkStream(part: SinkPart): Promise<PartStream> {
  const { claim, sides, mart } = part
  const { pipeline, plan, runId, refusedSoFar } = claim
  const { columns, checks, session } = sides
  const sink = new SinkMart({
    ...mart,
    target: finalTarget(pipeline),
    columns,
    quarantineLimit: pipeline.quarantineLimit,
    checks: checks.rows,
    runId,
    refusedSoFar,
    session,
  })
  const writer = await sink.partWriter(plan.ticket)
  await beginInSnapshot(part)
  return streamOf(rowReader(part), writer)
}

function sourceQuery({ claim, sides }: AnyPart): SourceQuery {
  const { source, examined } = sides
  const query = queryOfRange(examined, rangeOrder(examined), claim.range)
  return {
    source,
    query,
    columns: examined.columns,
    order: examined.order,
    relations: examined.facts.relations,
  }
}

function writing({ claim, sides, table }: PartSides): TableWriting {
  const { plan, refusedSoFar } = claim
  return writingInto({ ...sides, claim, mart: table }, { isEmpty: plan.isEmpty, refusedSoFar })
}

function tableWriter(part: PartSides, rows: RowSource<string>): TableWriter<string> {
  return new TableWriter({ session: part.sides.session, table: part.table, rows, ...writing(part) })
}

/**
 * The rows are collected in the snapshot first: a transaction in an old snapshot could neither update the ledger nor see
 * that its run was taken over.
 */
async function pushdownOf(part: PartSides): Promise<PartStream> {
  const { claim, sides } = part
  const { session, examined } = sides
  await session.run(`DROP TABLE IF EXISTS pg_temp.${PART_TABLE}`)
  await session.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await importSnapshot(session, claim)
  await session.run(`CREATE TEMP TABLE ${PART_TABLE} AS ${sourceQuery(part).query}`).catch((error) => {
    throw databaseError(error, 'Reading the source', 'source')
  })
  await session.run('COMMIT')
  const collected = {
    ...sourceQuery(part),
    query: `SELECT ${columnList(examined.columns)} FROM pg_temp.${PART_TABLE}`,
  }
  const { into } = claim.plan
  const writer =
    into === null
      ? tableWriter(part, SELECTIONS)
      : gathering((rows: string) =>
          session.count(`INSERT INTO ${into} (${columnList(examined.columns)}) ${rows}`),
        )
  return streamOf(new WholeReader(collected), writer)
}

async function relayOf(part: PartSides): Promise<PartStream> {
  const { claim, sides, table } = part
  const { session, source, examined } = sides
  const { columns } = examined
  const relay = await Relay.open({ source, target: session, table, columns, isSourceInTransaction: true })
  await beginInSnapshot(part)
  const { into } = claim.plan
  const writer =
    into === null ? tableWriter(part, relay) : gathering((rows: string) => relay.append(rows, into))
  return streamOf(new WholeReader(sourceQuery(part)), writer)
}

async function rowsOf(part: PartSides): Promise<PartStream> {
  const { claim, sides, table } = part
  const { session, columns } = sides
  const { into } = claim.plan
  const staging = new Staging(session, columns)
  const writer =
    into === null
      ? await TableMart.open({
          session,
          table,
          columns,
          brake: claim.pipeline.deleteBrake,
          writing: writing(part),
        })
      : gathering((rows: RowBatch) => staging.copy(rows, into, columns))
  await beginInSnapshot(part)
  return streamOf(rowReader(part), writer)
}

function rowReader(part: AnyPart): Reader<RowBatch> {
  const { examined, chain } = part.sides
  const query = sourceQuery(part)
  const reader = examined.paged
    ? new LoadedPages(query, NO_PROGRESSION, PORTION_BYTES)
    : new OnceReader(query, NO_PROGRESSION, PORTION_BYTES)
  return part.resources.add(new ReadAhead(reader, chain))
}

/** The source session only reads, and stays in this transaction until it is closed. */
async function beginInSnapshot({ claim, sides }: AnyPart): Promise<void> {
  await sides.source.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  await importSnapshot(sides.source, claim)
}

/** Rows of `replace`: they are written to the mart when all parts are complete. */
function gathering<Rows>(copy: (rows: Rows) => Promise<number>): MartWriter<Rows> {
  return {
    write: async (rows): Promise<MartChange> => {
      const read = await copy(rows)
      return { ...NO_CHANGE, rows: { ...NO_CHANGE.rows, read } }
    },
  }
}
