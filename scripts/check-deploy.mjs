import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { ensureBuilt } from './lib/build.mjs'
import { chartProblems } from './lib/chart-rules.mjs'
import { failure, main, ROOT, runQuietly, say } from './lib/run.mjs'
import { helm as tool } from './lib/tools/helm.mjs'

const CHART = join(ROOT, 'deploy', 'helm', 'vitrina')
/** Helm that was built from source does not know which Kubernetes it was made for. */
const KUBERNETES = '1.30'

/** Values to render the chart with, and the objects that must come of them. */
const CASES = [
  { name: 'the defaults', values: [], has: ['ScaledObject', 'NetworkPolicy', 'PodDisruptionBudget', 'Job'] },
  { name: 'everything', values: [join(CHART, 'ci', 'full.yaml')], has: ['ScaledObject', 'ServiceMonitor'] },
  { name: 'without operators', values: [join(CHART, 'ci', 'plain.yaml')], has: ['Deployment', 'Job'] },
]

/** Values that must be refused, with a part of the message. */
const REFUSED = [
  { name: 'a misspelled value', set: 'api.replica=2', output: 'replica' },
  {
    name: 'a password among the settings',
    set: 'settings.DATABASE_URL=postgres://x',
    output: 'DATABASE_URL',
  },
  { name: 'tags that break out of the query', set: "runnerPools.default.tags=a:1');", output: 'tags' },
  {
    name: 'no pool that keeps a runner',
    set: 'runnerPools.default.autoscaling.minReplicas=0',
    output: 'keep a runner',
  },
  {
    name: 'fewer runners than the least',
    set: 'runnerPools.default.autoscaling.minReplicas=11',
    output: 'maxReplicas',
  },
]

/** Faults in rendered objects: a check that accepts one of them checks nothing. */
const PLANTED = [
  { name: 'an unknown field of a Deployment', kind: 'Deployment', plant: ({ spec }) => (spec.replica = 2) },
  {
    name: 'an unknown field of a container',
    kind: 'Deployment',
    plant: (it) => (containersOf(it)[0].enviroment = []),
  },
  {
    name: 'a text for a number in a ScaledObject',
    kind: 'ScaledObject',
    plant: ({ spec }) => (spec.minReplicaCount = 'one'),
  },
  {
    name: 'an unknown field of a ScaledObject',
    kind: 'ScaledObject',
    plant: ({ spec }) => (spec.minReplicas = 1),
  },
  {
    name: 'an unknown field of a ServiceMonitor',
    kind: 'ServiceMonitor',
    plant: ({ spec }) => (spec.endpoint = []),
  },
  {
    name: 'a container that may become root',
    kind: 'Deployment',
    plant: (it) => delete containersOf(it)[0].securityContext,
  },
  {
    name: 'a pod without a seccomp profile',
    kind: 'Job',
    plant: (it) => delete podOf(it).securityContext.seccompProfile,
  },
  {
    name: 'a secret as a value',
    kind: 'Deployment',
    plant: (it) => containersOf(it)[0].env.push({ name: 'VITRINA_API_TOKEN', value: 'x' }),
  },
  {
    name: 'an unknown setting',
    kind: 'Deployment',
    plant: (it) => containersOf(it)[0].env.push({ name: 'RUNNER_TAG', value: 'x' }),
  },
]

const work = mkdtempSync(join(tmpdir(), 'vitrina-check-deploy-'))
await main(async () => {
  await ensureBuilt()
  const tools = await ensureTools()
  try {
    const found = []
    for (const each of CASES) found.push(...(await checkCase(tools, each)))
    for (const each of REFUSED) found.push(...(await checkRefused(tools, each)))
    for (const each of PLANTED) found.push(...(await checkPlanted(tools, each)))
    return found.length === 0 ? 0 : 1
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
})

async function ensureTools() {
  if ('missing' in tool.find()) {
    say(`• Building ${tool.name}`)
    await tool.install().catch((error) => {
      throw failure(error.message, 'It needs Go 1.24 or newer and the Go module proxy.')
    })
  }
  return tool.find()
}

async function checkCase(tools, { name, values, has }) {
  const files = values.flatMap((file) => ['--values', file])
  const lint = await runQuietly(tools.helm, [
    'lint',
    '--strict',
    '--kube-version',
    KUBERNETES,
    CHART,
    ...files,
  ])
  const { code, output } = await render(tools, files)
  if (lint.code !== 0 || code !== 0) return report(name, [lint.code === 0 ? output : lint.output])
  const objects = read(output)
  const missing = has.filter((kind) => !objects.some((object) => object.kind === kind))
  return report(`${name} (${objects.length} objects)`, [
    ...missing.map((kind) => `there is no ${kind}`),
    ...(await problemsOf(tools, objects)),
  ])
}

async function checkRefused(tools, { name, set, output: expected }) {
  const { code, output } = await render(tools, ['--set', set])
  const isRefused = code !== 0 && output.includes(expected)
  return report(`refuses ${name}`, isRefused ? [] : [`rendered with ${set}: ${output.slice(0, 500)}`])
}

async function checkPlanted(tools, { name, kind, plant }) {
  const objects = read((await render(tools, ['--values', join(CHART, 'ci', 'full.yaml')])).output)
  plant(objects.find((object) => object.kind === kind))
  const problems = await problemsOf(tools, objects)
  return report(`finds ${name}`, problems.length > 0 ? [] : ['it was planted and not found'])
}

function render({ helm }, args) {
  return runQuietly(helm, [
    'template',
    'etl',
    CHART,
    '--namespace',
    'etl',
    '--kube-version',
    KUBERNETES,
    ...args,
  ])
}

function read(text) {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null)
}

/** What the schemas of Kubernetes, KEDA and Prometheus operator reject, and what breaks the rules of this chart. */
async function problemsOf({ validate, definitions }, objects) {
  const texts = objects.map((object) => JSON.stringify(object)).join('\n---\n')
  const yaml = join(work, 'objects.yaml')
  writeFileSync(yaml, texts)
  const { code, output } = await runQuietly(validate, [
    '--version',
    KUBERNETES,
    '--local-crds',
    definitions,
    yaml,
  ])
  return [...(code === 0 ? [] : [output.trim()]), ...(await chartProblems(objects))]
}

function report(what, problems) {
  say(problems.length === 0 ? `✓ ${what}` : `✗ ${what}\n${problems.map((each) => `  ${each}`).join('\n')}`)
  return problems
}

function podOf(object) {
  return object.spec.template.spec
}

function containersOf(object) {
  return podOf(object).containers
}
