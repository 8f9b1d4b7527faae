import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { cacheFolder, makeFolder } from './cache.mjs'

const HELM = '3.19.0'
const PROGRAMS = [`helm.sh/helm/v3/cmd/helm@v${HELM}`, 'sigs.k8s.io/kubectl-validate@v0.0.4']
/** The definitions of the objects that Kubernetes itself does not know, from the modules of their operators. */
const DEFINITIONS = [
  {
    module: 'github.com/kedacore/keda/v2@v2.18.1',
    files: ['scaledobjects', 'triggerauthentications'].map((name) => `config/crd/bases/keda.sh_${name}.yaml`),
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    files: ['example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'],
  },
]
const folder = () => join(cacheFolder(), `helm-${HELM}`)

/** Helm and the validator, built from source: 4 minutes of one core, 240 MB. */
export const helm = {
  name: `Helm ${HELM}, kubectl-validate and definitions of KEDA and Prometheus operator`,

  find() {
    if (!existsSync(folder())) return { missing: `${folder()} does not exist` }
    return {
      helm: join(folder(), 'bin', 'helm'),
      validate: join(folder(), 'bin', 'kubectl-validate'),
      definitions: join(folder(), 'crds'),
    }
  },

  async install() {
    await makeFolder(folder(), async (work) => {
      for (const program of PROGRAMS) go(['install', program], { GOBIN: join(work, 'bin') })
      await mkdir(join(work, 'crds'))
      for (const { module, files } of DEFINITIONS) {
        const { Dir } = JSON.parse(go(['mod', 'download', '-json', module]))
        for (const file of files) {
          const copy = join(work, 'crds', basename(file))
          await copyFile(join(Dir, file), copy)
          // Files of the module cache are read-only.
          await chmod(copy, 0o644)
        }
      }
      return work
    })
  },
}

function go(args, env = {}) {
  const { status, error, stdout, stderr } = spawnSync('go', args, {
    cwd: cacheFolder(),
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (error !== undefined) throw new Error(`go could not be started: ${error.message}`)
  if (status !== 0) throw new Error(`go ${args.join(' ')} failed:\n${stderr || stdout}`)
  return stdout
}
