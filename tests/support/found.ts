/** A program that tests start, or why this machine has none. */
export type Found = { readonly path: string } | { readonly missing: string }
