import { readPipelineFiles } from '../../config/pipeline-files.js'
import { readFileSchemas } from '../../config/pipeline-schema.js'
import type { FileMistake } from '../../config/source-text.js'
import { PIPELINE_SCHEMA } from '../../main/paths.js'
import { requireNoMistakes } from '../files/mistakes.js'
import type { Server } from '../server/server.js'
import { checkOrder } from './check-order.js'
import { checkPlan } from './check-plan.js'
import { makePlan, type Plan } from './plan.js'
import { normaliser } from './planned-changes.js'
import { checkRules, makeRulePlan } from './rule-plan.js'
import { targetConflicts } from './target-conflicts.js'

/** The plan, and the errors that the server reports for it. */
export interface ReadPlan {
  readonly server: Server
  readonly plan: Plan
  readonly mistakes: readonly FileMistake[]
}

/** Reads the files and compares them with the server. Throws if the files themselves are invalid. */
export async function readPlan(
  open: () => Promise<Server>,
  paths: readonly string[],
  {
    validate,
    prune = false,
    allowEnv = [],
  }: { validate: boolean; prune?: boolean; allowEnv?: readonly string[] },
): Promise<ReadPlan> {
  const { pipeline: schema, notification } = readFileSchemas(PIPELINE_SCHEMA)
  const options = { allowEnv, notification }
  const { pipelines, notifications, mistakes } = await readPipelineFiles(paths, schema, options)
  // Before any request: a misspelled field is found without a server.
  requireNoMistakes(mistakes)
  const server = await open()
  const normalise = normaliser(schema)
  const rules = notifications === null ? null : await makeRulePlan(server, notifications, notification)
  const plan = { ...(await makePlan(server, pipelines, normalise)), rules }
  const conflicts = targetConflicts(plan, { prune, normalise })
  const checked = validate ? await checkPlan(server, plan, normalise) : []
  const wrongRules = rules === null ? [] : await checkRules(server, rules)
  const wrong = [...checked, ...conflicts, ...wrongRules]
  // The order of pipelines that cannot be saved anyway is of no interest, and cannot always be read.
  if (wrong.length > 0) return { server, plan, mistakes: wrong }
  const { mistakes: circles, order } = await checkOrder(server, plan, { prune, normalise })
  const creates = plan.creates.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  return { server, plan: { ...plan, creates }, mistakes: circles }
}
