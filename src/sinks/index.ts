import { readTable, type SettingsOf, type SettingsTable } from '../config/settings.js'
import type { SinkKind } from '../ports/sink.js'
import { clickhouse } from './clickhouse/index.js'
import { elasticsearch } from './elasticsearch/index.js'
import { s3 } from './s3/index.js'

/** A sink folder exports its settings and a factory. */
export interface SinkModule<Table extends SettingsTable = SettingsTable> {
  readonly settings: Table
  create(settings: SettingsOf<Table>): SinkKind
}

/** Every sink except PostgreSQL. A new one is a folder and a line here. */
export const SINKS: readonly SinkModule[] = [clickhouse, elasticsearch, s3]

export function sinkKinds(environment: NodeJS.ProcessEnv, sinks = SINKS): SinkKind[] {
  return sinks.map((sink) => sink.create(readTable(sink.settings, environment)))
}
