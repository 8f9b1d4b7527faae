import './plain-issues.js'
import { z } from 'zod'
import { CAPTURES } from './captures.js'
import { checksSchema } from './check.js'
import { ENGINES, PROFILE_PATTERN } from './engine.js'
import { budgetSeconds } from './freshness.js'
import { isTooLong, LONGEST_NAME } from './table-name.js'
import { MOST_TAGS, TAG_PATTERN } from './tag-slots.js'
import { line, text } from './text.js'

/**
 * When a field may change. `always`: also during a run; the change cannot make a query or a target invalid.
 * `between runs`: a run depends on it from its first batch to its last. `checkpoint`: the same, and the change
 * invalidates the checkpoint. The database enforces the same for every writer.
 */
export type ChangeRule = 'always' | 'between runs' | 'checkpoint'

export interface FieldDefinition {
  /** The field in requests and in files: type, limits, default, description and example. */
  readonly schema: z.ZodType
  /** The field in responses, if it differs from `schema` in more than limits. */
  readonly response?: z.ZodType
  /** What NULL in the column means in requests, files and responses. */
  readonly nullMeans?: string
  /** What an empty list in the column means there. */
  readonly emptyMeans?: string
  /** A list that is one JSON value in the database, not an array. */
  readonly isJson?: true
  readonly change: ChangeRule
  /** The option of "pipelines create" and "pipelines update". How its value is read follows from `schema`. */
  readonly option?: { readonly flag: string; readonly help: string; readonly helpForNo?: string }
}

const column = line(200).refine((name) => !isTooLong(name), {
  error: `must not be longer than ${LONGEST_NAME} bytes: PostgreSQL truncates longer names`,
})
const columns = line(1000).refine((names) => names.split(',').every((name) => !isTooLong(name.trim())), {
  error: `must not name a column longer than ${LONGEST_NAME} bytes: PostgreSQL truncates longer names`,
})
const table = line(300)
const engineOptions = z.strictObject({
  profile: z
    .string()
    .regex(PROFILE_PATTERN, {
      error: 'must be the name of a profile: at most 63 lower-case letters, digits, "-" and "_"',
    })
    .optional()
    .describe('The profile in SPARK_PROFILES.'),
})
export const tag = z.string().regex(TAG_PATTERN, {
  error: 'must be a word of at most 40 lower-case letters, digits, "-" and "_"',
})

/**
 * Every field of a pipeline, in the order in which it is shown. The name of a field is its name in the API, in files
 * and in `etl.etl_pipelines`; in the program it is the same name in camel case. Everything else that lists fields is
 * derived from here: CONTRIBUTING.md, "Adding a field to a pipeline".
 */
export const PIPELINE_FIELDS = {
  name: {
    schema: line(200).describe('A unique name.').meta({ example: 'film_dim' }),
    change: 'always',
    option: { flag: '--name <name>', help: 'name of the pipeline' },
  },
  description: {
    schema: text(0, 10_000).default('').describe('What the pipeline is for.'),
    change: 'always',
    option: { flag: '--description <text>', help: 'what the pipeline is for' },
  },
  tags: {
    schema: z
      .array(tag)
      .max(MOST_TAGS)
      .refine((tags) => new Set(tags).size === tags.length, { error: 'must not contain a tag twice' })
      .default([])
      .describe(
        'Used to find the pipeline, and to decide which runners execute it (RUNNER_TAGS). The first tag is its queue.',
      )
      .meta({ example: ['reports'] }),
    change: 'always',
    option: { flag: '--tag <tags>', help: 'tags; repeat the option or separate with commas' },
  },
  type: {
    schema: z
      .enum(['SQL', 'PYTHON'])
      .optional()
      .describe('SQL: a query only. PYTHON: with registered transforms. Absent: derived from the tasks.'),
    response: z.enum(['SQL', 'PYTHON']).describe('SQL: a query only. PYTHON: with registered transforms.'),
    change: 'between runs',
  },
  source_type: {
    schema: z.literal('postgres').default('postgres').describe('The kind of source.'),
    response: z.string().describe('The kind of source.'),
    change: 'between runs',
  },
  source_connection: {
    schema: line(100)
      .nullable()
      .default(null)
      .describe('The connection to read from. null: the main database.'),
    change: 'checkpoint',
    option: { flag: '--source-connection <name>', help: 'the database to read from' },
  },
  source_query: {
    schema: text(0, 200_000)
      .nullable()
      .default('')
      .describe('The SELECT whose rows fill the target; null with source_table. Tasks take precedence.')
      .meta({ example: 'SELECT id AS film_id, title, modified AS updated_at FROM content.film_work' }),
    change: 'checkpoint',
    option: { flag: '--query <sql>', help: 'the SELECT whose rows fill the mart' },
  },
  source_table: {
    schema: table
      .nullable()
      .default(null)
      .describe('A table or view to read instead of source_query, as schema.table. Tasks take precedence.'),
    change: 'checkpoint',
    option: {
      flag: '--source-table <table>',
      help: 'a table to read instead of a query, such as content.film_work',
    },
  },
  source_columns: {
    schema: z
      .array(column)
      .max(1600)
      .default([])
      .describe('Columns of source_table to read, in this order. Empty: all columns.'),
    change: 'checkpoint',
    option: {
      flag: '--source-columns <columns>',
      help: 'columns of the table; repeat the option or separate with commas',
    },
  },
  target_table: {
    schema: table
      .describe('The address of the mart: schema.table, es:index, ch:table or s3:prefix.')
      .meta({ example: 'analytics.film_dim' }),
    change: 'checkpoint',
    option: { flag: '--target <table>', help: 'address of the mart, such as analytics.film_dim' },
  },
  target_connection: {
    schema: line(100)
      .nullable()
      .default(null)
      .describe('The connection to write to. null: the main database.'),
    change: 'checkpoint',
    option: { flag: '--target-connection <name>', help: 'the database to write to' },
  },
  shared_target: {
    schema: z
      .boolean()
      .default(false)
      .describe('Allow other pipelines with this option to write to the same target.'),
    change: 'always',
    option: {
      flag: '--shared-target',
      help: 'allow other pipelines with this option to write to the same target',
      helpForNo: 'do not allow other pipelines to write to the same target',
    },
  },
  target_options: {
    schema: z
      .record(line(100), z.unknown())
      .default({})
      .describe('Options of this kind of target; see the guide for its sink. Tables have none.')
      .meta({ example: { write_mode: 'index' } }),
    change: 'between runs',
  },
  mode: {
    schema: z
      .enum(['full', 'incremental'])
      .default('full')
      .describe('full reads all rows in every run, incremental only rows after the checkpoint.'),
    change: 'checkpoint',
    option: { flag: '--mode <mode>', help: 'which rows a run reads' },
  },
  full_strategy: {
    schema: z
      .enum(['upsert', 'replace'])
      .default('upsert')
      .describe('For mode full: upsert in batches, or replace the whole mart at once.'),
    change: 'between runs',
    option: { flag: '--full-strategy <how>', help: 'how mode full writes' },
  },
  incremental_key: {
    schema: columns
      .nullable()
      .default(null)
      .describe(
        'Column of the query that grows with every change; several for capture key over a join, separated by commas.',
      )
      .meta({ example: 'updated_at' }),
    change: 'checkpoint',
    option: { flag: '--incremental-key <column>', help: 'column that grows with every change' },
  },
  incremental_id_key: {
    schema: column
      .nullable()
      .default(null)
      .describe('Column that distinguishes rows with an equal incremental_key.')
      .meta({ example: 'film_id' }),
    change: 'checkpoint',
    option: {
      flag: '--incremental-id-key <column>',
      help: 'column that distinguishes rows with an equal incremental key',
    },
  },
  capture: {
    schema: z
      .enum(CAPTURES)
      .default('key')
      .describe(
        'For mode incremental: find changes by incremental_key, by row versions (xmin), or in the write-ahead log (wal).',
      ),
    change: 'checkpoint',
    option: { flag: '--capture <how>', help: 'how changes are found' },
  },
  deletes: {
    schema: z
      .enum(['ignore', 'sweep'])
      .default('ignore')
      .describe('sweep deletes rows from the mart that the source no longer has.'),
    change: 'between runs',
    option: { flag: '--deletes <how>', help: 'what to do with rows deleted from the source' },
  },
  key_columns: {
    schema: z
      .array(column)
      .max(32)
      .default([])
      .describe('The upsert key. Empty: the primary key of the target table.')
      .meta({ example: ['film_id'] }),
    change: 'checkpoint',
    option: { flag: '--key <columns>', help: 'the upsert key; repeat the option or separate with commas' },
  },
  batch_size: {
    schema: z
      .union([z.int().min(1).max(1_000_000), z.literal('auto')], {
        error: 'must be a whole number from 1 to 1000000, or "auto"',
      })
      .default('auto')
      .describe('Rows per batch; auto keeps a batch near its target duration.'),
    nullMeans: 'auto',
    change: 'always',
    option: { flag: '--batch-size <n>', help: 'rows per batch, or auto' },
  },
  parallelism: {
    schema: z
      .union([z.int().min(1).max(256), z.literal('auto')], {
        error: 'must be a whole number from 1 to 256, or "auto"',
      })
      .default(1)
      .describe(
        'How many parts of a pass over all rows are read and written at the same time; auto chooses by the size of the source and the free runner slots. 1: one stream.',
      ),
    nullMeans: 'auto',
    change: 'always',
    option: { flag: '--parallelism <n>', help: 'parts of a run at the same time, or auto' },
  },
  engine: {
    schema: z
      .enum(ENGINES)
      .default('local')
      .describe(
        'What executes the parts of a run: the runners (local), or a Spark cluster. With spark, parallelism 1 means auto.',
      ),
    change: 'always',
    option: { flag: '--engine <engine>', help: 'what executes the parts of a run' },
  },
  engine_options: {
    schema: engineOptions
      .default({})
      .describe(
        'Options of the engine. profile: an entry of SPARK_PROFILES; absent: the only one there is. Engine local has none.',
      )
      .meta({ example: { profile: 'cluster' } }),
    change: 'always',
  },
  enabled: {
    schema: z.boolean().default(true).describe('Runners run only enabled pipelines.'),
    change: 'always',
  },
  freshness: {
    schema: line(40)
      .refine((value) => value === 'live' || budgetSeconds(value) !== null, {
        error: 'must be "live" or a duration such as 90s, 5m or 1h30m, up to 366d',
      })
      .nullable()
      .default(null)
      .describe(
        'How old the data of the mart may become, such as 5m: the runners decide when to run. live: with capture wal, apply each commit of the source at once. null: on schedule or request.',
      )
      .meta({ example: '5m' }),
    change: 'always',
    option: {
      flag: '--freshness <age>',
      help: 'how old the data may become, such as 5m, or live: apply each commit of the source at once',
    },
  },
  schedule_interval: {
    schema: line(200)
      .nullable()
      .default(null)
      .describe('15m, 1h30m, PT15M or a cron expression. null: runs only on request.')
      .meta({ example: '15m' }),
    change: 'always',
    option: { flag: '--schedule <interval>', help: '15m, PT15M or a cron expression' },
  },
  schedule_timezone: {
    schema: line(100)
      .default('UTC')
      .describe('The time zone of a cron expression.')
      .meta({ example: 'Europe/Moscow' }),
    change: 'always',
    option: { flag: '--timezone <zone>', help: 'time zone of a cron expression' },
  },
  after: {
    schema: z
      .union([z.literal('auto'), z.literal('none'), z.array(line(200)).max(100)], {
        error: 'must be "auto", "none" or a list of names of pipelines',
      })
      .default('auto')
      .describe(
        'Which pipelines it follows. auto: those that fill the tables it reads. A list: these as well, for what lineage cannot see. none: it runs only on schedule or request.',
      )
      .meta({ example: ['film_dim'] }),
    nullMeans: 'auto',
    emptyMeans: 'none',
    change: 'always',
    option: {
      flag: '--after <pipelines>',
      help: 'auto, none, or names of pipelines to follow as well; repeat the option or separate with commas',
    },
  },
  on_upstream_failure: {
    schema: z
      .enum(['wait', 'run'])
      .default('wait')
      .describe(
        'If a pipeline that it follows directly failed or is paused. wait: it is held back. run: it runs anyway.',
      ),
    change: 'always',
    option: {
      flag: '--on-upstream-failure <how>',
      help: 'what to do after a failure of a followed pipeline',
    },
  },
  consistency: {
    schema: z
      .enum(['none', 'group'])
      .default('none')
      .describe(
        'none: the mart is published by itself. group: in one transaction with the marts of the pipelines in its group, computed in one snapshot of the source.',
      ),
    change: 'always',
    option: {
      flag: '--consistency <how>',
      help: 'whether the mart is published together with those of its group',
    },
  },
  quarantine_limit: {
    schema: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .default(100)
      .describe('Rows that a run may quarantine before it fails.'),
    change: 'always',
    option: { flag: '--quarantine-limit <n>', help: 'rows that may be quarantined before a run fails' },
  },
  delete_brake: {
    schema: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .describe('Share of the mart that one run may delete before it fails.'),
    change: 'always',
    option: { flag: '--delete-brake <share>', help: 'share of the mart that one run may delete' },
  },
  checks: {
    schema: checksSchema
      .default([])
      .describe(
        'Data checks: rules about the rows of each batch, evaluated before they are visible, and about the mart.',
      )
      .meta({
        example: [
          { name: 'rating_range', type: 'range', column: 'rating', min: 0, max: 10, on_failure: 'fail' },
        ],
      }),
    isJson: true,
    change: 'always',
  },
} as const satisfies Record<string, FieldDefinition>

type Fields = typeof PIPELINE_FIELDS
export type PipelineField = keyof Fields

export const PIPELINE_FIELD_NAMES = Object.keys(PIPELINE_FIELDS) as PipelineField[]

/** The schema of every field, for requests and files. */
export const FIELD_SCHEMAS = mapFields(({ schema }) => schema) as {
  readonly [F in PipelineField]: Fields[F]['schema']
}

/** The values of a new pipeline. Fields without a default are absent. */
export const FIELD_DEFAULTS = Object.fromEntries(
  PIPELINE_FIELD_NAMES.map(
    (name) => [name, PIPELINE_FIELDS[name].schema.safeParse(undefined).data] as const,
  ).filter(([, value]) => value !== undefined),
) as Omit<PipelineValues, 'name' | 'type' | 'target_table'>

/** A complete set of fields as the API and files give them. */
export type PipelineValues = { [F in PipelineField]: FieldValue<Fields[F]> }

type FieldValue<D extends FieldDefinition> = D extends { response: infer R extends z.ZodType }
  ? z.output<R>
  : z.output<D['schema']>

/** Fields that may change under one of these rules. A task plan is a field too, but not a column. */
export function fieldsThatChange(...rules: readonly ChangeRule[]): PipelineField[] {
  return PIPELINE_FIELD_NAMES.filter((name) => rules.includes(PIPELINE_FIELDS[name].change))
}

export function mapFields<T>(
  work: (definition: FieldDefinition, name: PipelineField) => T,
): Record<PipelineField, T> {
  return Object.fromEntries(
    PIPELINE_FIELD_NAMES.map((name) => [name, work(PIPELINE_FIELDS[name], name)]),
  ) as Record<PipelineField, T>
}
