/** Shorter parts of an address are words, such as "services" and "api". */
const SHORTEST_PART = 9
const HIDDEN = '***'

/** What may be secret in an address: everything that is not its host. */
export function secretsOf({ pathname, search, searchParams, password }: URL): string[] {
  const parts = [...pathname.split('/'), ...searchParams.values()]
  return [
    ...(pathname.length + search.length < SHORTEST_PART ? [] : [pathname + search, pathname]),
    ...parts.filter(({ length }) => length >= SHORTEST_PART),
    password,
  ]
}

/** A text from outside without these, in the spellings in which it may repeat them. The longest first: one may be part of another. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const spellings = secrets.flatMap((secret) => [
    secret,
    decoded(secret),
    base64(secret),
    base64(decoded(secret)),
  ])
  return [...new Set(spellings)]
    .filter(({ length }) => length > 1)
    .sort((one, other) => other.length - one.length)
    .reduce((hidden, secret) => hidden.replaceAll(secret, HIDDEN), text)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
