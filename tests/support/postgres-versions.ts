const SCRIPT = new URL('../../scripts/lib/postgres-versions.mjs', import.meta.url).href

/** The folder with the programs of a PostgreSQL, downloaded on first use; null is the embedded server. */
export async function postgresBin(server: string): Promise<string | null> {
  const versions = (await import(SCRIPT)) as { postgresBin(server: string): Promise<string | null> }
  return versions.postgresBin(server)
}
