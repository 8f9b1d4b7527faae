import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

const FOLDER = new URL('./openlineage/', import.meta.url)
const BASE = 'https://openlineage.io/spec/'

interface Facet {
  readonly _producer: string
  readonly _schemaURL: string
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
;(addFormats as unknown as (target: Ajv2020) => void)(ajv)
const ids = new Map<string, string>()
for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.json'))) {
  const schema = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8'))
  ajv.addSchema(schema)
  ids.set(file.replace('.json', ''), schema.$id)
}

/** What is wrong with an event by the schema of OpenLineage and of each of its facets; empty: nothing. */
export function openLineageMistakes(event: unknown): string[] {
  return [
    ...mistakesBy(`${ids.get('OpenLineage')}#/$defs/RunEvent`, event),
    ...facetsIn(event).flatMap((facet) => {
      const name = facet._schemaURL.split('/').at(-1)!
      if (!facet._schemaURL.startsWith(BASE)) return [`${facet._schemaURL} is not a schema of OpenLineage`]
      // The version that an event names may be older than the stored one by a patch.
      return mistakesBy(`${ids.get(name)}#/$defs/${name}`, facet)
    }),
  ]
}

function mistakesBy(id: string, value: unknown): string[] {
  const validate = ajv.getSchema(id)
  if (validate === undefined) return [`unknown schema ${id}`]
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${id} ${instancePath} ${message}`)
}

/** Every facet, at any depth. */
function facetsIn(node: unknown): Facet[] {
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.values(node).flatMap(facetsIn)
  return '_schemaURL' in node ? [node as Facet, ...inner] : inner
}
