import type { ApiToken } from '../../main/api-token.js'
import type { MainSettings } from '../../main/environment.js'
import type { ProcessTree } from '../../main/process-tree.js'
import { bold, detail, dim, print } from '../output/print.js'
import { connectTo } from '../server/server.js'

export function printAddresses(url: string, token: ApiToken): void {
  print(`  console   ${bold(`${url}/ui/`)}`)
  print(`  API       ${url}/api/v1`)
  print(`  token     ${tokenLine(token)}`)
}

/** Where everything is. Shows the administrator connection only if Vitrina created that server itself. */
export async function printBanner(
  tree: ProcessTree,
  settings: MainSettings,
  isEmbedded: boolean,
): Promise<void> {
  const link = await signInLink(tree)
  if (tree.portInstead !== null)
    detail(
      `Port ${tree.portInstead} is in use, so the API listens on another one. Set VITRINA_PORT to choose a port.`,
    )
  print()
  print(bold('Vitrina is up.'))
  printAddresses(tree.url, tree.token)
  if (link !== null) print(`  sign in   ${link}  (works once, for ten minutes)`)
  if (isEmbedded) print(`  database  psql "${settings.DATABASE_URL}"`)
  print(dim('  Ctrl-C stops everything.'))
}

/**
 * After the #, which browsers do not send to servers, so it appears in no log. Null: the API has just exited, which
 * is reported elsewhere.
 */
async function signInLink({ url, token: { token } }: ProcessTree): Promise<string | null> {
  const server = connectTo({ url, token })
  return server.ask(server.api.POST('/session/code', {})).then(
    ({ code }) => `${url}/ui/#code=${code}`,
    () => null,
  )
}

/** Shown in full only once; after that, read it from the file. */
function tokenLine({ token, origin, path }: ApiToken): string {
  if (origin === 'made') return `${bold(token)}  (shown only once; stored in ${path})`
  return origin === 'kept' ? `in ${path}` : 'the value of VITRINA_API_TOKEN'
}
