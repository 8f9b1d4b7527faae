/** The sample online cinema: what pipelines read in the demo, the tests and the benchmarks. */
export { type GenerateOptions, generate } from './generate.js'
export type { LoadProgress } from './load.js'
export { loadSample } from './sample.js'
export { createCinemaSchema, TABLE_NAMES, type TableCounts } from './schema.js'
