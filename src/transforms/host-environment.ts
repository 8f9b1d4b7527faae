/** The part of our environment passed to a host: no database address, no token, no password. */
export function hostEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', HOME, TMPDIR } = process.env
  return { PATH, LANG: 'C.UTF-8', TZ: 'UTC', ...(HOME && { HOME }), ...(TMPDIR && { TMPDIR }) }
}
