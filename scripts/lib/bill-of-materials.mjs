import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Contrib, Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library'
import { bundledPackages } from './notices.mjs'
import { ROOT } from './run.mjs'

const licences = new Contrib.License.Factories.LicenseFactory()

/**
 * What is installed with the package and what is bundled into it, as CycloneDX 1.6, from package-lock.json alone: the same
 * on every machine, whichever platform packages are installed on it. Tools of the build are left out.
 */
export function writeBill(file) {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const bundled = bundledWhere()
  const shipped = Object.keys(packages).filter((path) => isShipped(path, packages[path], bundled))
  const components = new Map(shipped.map((path) => [path, componentOf(path, packages[path], bundled)]))
  const { name, version, license } = packages['']
  const root = component({ name, version, license }, Enums.ComponentType.Application)
  const bill = new Models.Bom()
  bill.metadata.component = root
  for (const one of components.values()) bill.components.add(one)
  connect(root, '', { packages, components })
  for (const [path, one] of components) connect(one, path, { packages, components })
  // Whatever is bundled is part of the package itself, although its own lock entry calls it a tool.
  for (const path of bundled.keys())
    if (components.has(path)) root.dependencies.add(components.get(path).bomRef)
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  writeFileSync(file, `${serializer.serialize(bill, { sortLists: true, space: 1 })}\n`)
}

/** For the folder of each bundled package: in the program, in the console, or in both. */
function bundledWhere() {
  const { program, console } = bundledPackages()
  return new Map(
    [...program, ...console].map((path) => [
      path,
      [...(program.includes(path) ? ['program'] : []), ...(console.includes(path) ? ['console'] : [])],
    ]),
  )
}

function isShipped(path, { dev, devOptional, link }, bundled) {
  if (bundled.has(path)) return true
  return path.startsWith('node_modules/') && !dev && !devOptional && !link
}

function componentOf(path, locked, bundled) {
  const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const made = component({ ...locked, name }, Enums.ComponentType.Library)
  made.scope = locked.optional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required
  const [algorithm, digest] = locked.integrity?.split('-') ?? []
  if (algorithm === 'sha512')
    made.hashes.set(Enums.HashAlgorithm['SHA-512'], Buffer.from(digest, 'base64').toString('hex'))
  for (const where of bundled.get(path) ?? [])
    made.properties.add(new Models.Property('vitrina:bundled', where))
  return made
}

function component({ name, version, license }, type) {
  const [scope, bare] = name.startsWith('@') ? name.split('/') : [undefined, name]
  const purl = `pkg:npm/${scope === undefined ? '' : `${encodeURIComponent(scope)}/`}${bare}@${version}`
  const made = new Models.Component(type, bare, { group: scope, version, purl, bomRef: `${name}@${version}` })
  if (license !== undefined) made.licenses.add(licences.makeFromString(license))
  return made
}

function connect(one, path, { packages, components }) {
  const { dependencies, optionalDependencies } = packages[path]
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const found = components.get(nearest(packages, path, name))
    if (found !== undefined) one.dependencies.add(found.bomRef)
  }
}

/** What Node would load as `name` from the package at `path`. */
function nearest(packages, path, name) {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const found = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (packages[found] !== undefined) return found
    if (at === '') return null
  }
}
