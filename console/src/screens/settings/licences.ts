export interface PackageLicence {
  readonly name: string
  readonly version: string
  readonly licence: string
}

/** Written by the build from package-lock.json: see vite.config.ts. */
declare const __LICENCES__: readonly PackageLicence[]

export const LICENCES = __LICENCES__
