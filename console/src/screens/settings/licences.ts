export interface PackageLicence {
  readonly name: string
  readonly version: string
  readonly licence: string
}

/** Generated from package-lock.json during the build: see vite.config.ts. */
declare const __LICENCES__: readonly PackageLicence[]

export const LICENCES = __LICENCES__
