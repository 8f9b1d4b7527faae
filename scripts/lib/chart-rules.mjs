import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './run.mjs'

/** What schemas cannot check: the restricted profile, secrets, and that every variable is a setting. */
export async function chartProblems(objects) {
  const settings = await settingNames()
  return objects.flatMap((object) => {
    const name = `${object.kind} ${object.metadata.name}`
    const pod = object.spec?.template?.spec
    const found = [
      ...(pod === undefined ? [] : podProblems(pod)),
      ...(pod === undefined ? [] : pod.containers.flatMap((one) => variableProblems(one, settings))),
      ...(object.kind === 'ConfigMap' ? variableProblems({ env: toEnv(object.data) }, settings) : []),
      ...(object.kind === 'ScaledObject' ? scalingProblems(object, objects) : []),
      ...(object.kind === 'Secret' ? ['is a Secret: secrets are created before the chart'] : []),
    ]
    return found.map((problem) => `${name}: ${problem}`)
  })
}

/** The Pod Security Standard "restricted", and a read-only root file system. */
function podProblems(pod) {
  const { securityContext: own = {}, containers } = pod
  const problems = []
  if (own.runAsNonRoot !== true || !(own.runAsUser > 0)) problems.push('the pod may run as root')
  if (own.seccompProfile?.type !== 'RuntimeDefault') problems.push('the pod has no seccomp profile')
  if (pod.automountServiceAccountToken !== false) problems.push('the pod gets a token of the cluster')
  for (const { name, securityContext: context = {}, resources } of containers) {
    if (context.allowPrivilegeEscalation !== false) problems.push(`${name} may gain privileges`)
    if (context.readOnlyRootFilesystem !== true) problems.push(`${name} may write to its file system`)
    if (!context.capabilities?.drop?.includes('ALL')) problems.push(`${name} keeps capabilities`)
    if (resources === undefined) problems.push(`${name} has no resources`)
  }
  return problems
}

function toEnv(data) {
  return Object.entries(data).map(([name, value]) => ({ name, value }))
}

function variableProblems({ env = [] }, settings) {
  return env.flatMap(({ name, value }) => {
    const setting = settings.get(name)
    if (setting === undefined) return [`${name} is not a setting of Vitrina`]
    return setting.isSecret && value !== undefined ? [`${name} is a secret and has a value`] : []
  })
}

/** A runner pool is scaled by the demand for exactly the tags that its runners take. */
function scalingProblems({ spec }, objects) {
  const target = objects.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === spec.scaleTargetRef.name,
  )
  if (target === undefined) return [`scales ${spec.scaleTargetRef.name}, which does not exist`]
  const { env } = target.spec.template.spec.containers[0]
  const settingOf = (variable) => env.find(({ name }) => name === variable)?.value
  const tags = settingOf('RUNNER_TAGS')
  const query = `SELECT etl.runner_demand(${tags === undefined ? '' : `'${tags}'`})`
  const { metadata } = spec.triggers[0]
  const problems = []
  if (metadata.query !== query) problems.push(`queries ${metadata.query} instead of ${query}`)
  if (metadata.targetQueryValue !== settingOf('RUNNER_CONCURRENCY'))
    problems.push('expects another number of runs for each runner')
  if (target.spec.replicas !== undefined) problems.push(`its Deployment sets replicas, which KEDA does too`)
  return problems
}

async function settingNames() {
  const built = (path) => import(pathToFileURL(join(ROOT, 'dist', path)).href)
  const { SETTINGS } = await built('config/settings.js')
  const { SINKS } = await built('sinks/index.js')
  return new Map(
    [SETTINGS, ...SINKS.map(({ settings }) => settings)].flatMap((table) => Object.entries(table)),
  )
}
