import { createRequire } from 'node:module'
import { VitrinaError } from '../../model/errors.js'

/** Optional dependencies, loaded only by the first pipeline that needs them. */
const PACKAGES = ['@aws-sdk/client-s3', 'hyparquet', 'hyparquet-writer'] as const
export const INSTALL_HINT = `Install them next to Vitrina: npm install ${PACKAGES.join(' ')}`

const { resolve } = createRequire(import.meta.url)

/** Packages that are not installed. Only checks for files: loading the S3 client takes a third of a second. */
export function missingPackages(): string[] {
  return PACKAGES.filter((name) => {
    try {
      return resolve(name) === ''
    } catch {
      return true
    }
  })
}

export interface ParquetLibrary {
  readonly reader: typeof import('hyparquet')
  readonly writer: typeof import('hyparquet-writer')
}

export async function loadParquet(): Promise<ParquetLibrary> {
  const [reader, writer] = await Promise.all([import('hyparquet'), import('hyparquet-writer')]).catch(
    notThere,
  )
  return { reader, writer }
}

export async function loadS3Client(): Promise<typeof import('@aws-sdk/client-s3')> {
  // On Node 20 it warns about versions of next year; ours is pinned, and the warning would fill the log.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  return import('@aws-sdk/client-s3').catch(notThere)
}

function notThere(error: unknown): never {
  throw new VitrinaError(
    'SINK_MISSING',
    `The packages of the S3 sink cannot be loaded: ${error}`,
    INSTALL_HINT,
    {
      cause: error,
    },
  )
}
