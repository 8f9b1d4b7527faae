import { createHash } from 'node:crypto'

type Json = Record<string, unknown>

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff }
h2 { margin-top: 3rem; border-bottom: 1px solid #d0d7de } h3 { margin-top: 2rem }
code { font: 14px ui-monospace, monospace; background: #f3f5f7; padding: 0 .2em; border-radius: 3px }
.method { display: inline-block; min-width: 4.5em; font-weight: 700 }
table { border-collapse: collapse; width: 100%; font-size: 14px } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #e6e9ec }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } code { background: #21262d } th, td, h2 { border-color: #30363d } a { color: #79b8ff } }
`

/** The OpenAPI document as a page: plain HTML without scripts or external files. */
export function referencePage(document: Json): { html: string; styleHash: string } {
  const { title, version, description } = document.info as Record<string, string>
  const operations = operationsOf(document)
  const tags = (document.tags as { name: string }[]).map((tag) => tag.name)
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)} API</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)} API <small>${escapeHtml(version)}</small></h1><p>${escapeHtml(description)}</p>
<p>The same as a document for programs: <a href="/openapi.json">/openapi.json</a></p>
<nav><ul>${tags.map((tag) => `<li><a href="#${tag}">${tag}</a></li>`).join('')}<li><a href="#schemas">schemas</a></li></ul></nav>
${tags
  .map((tag) =>
    section(
      tag,
      operations.filter((operation) => operation.tag === tag),
    ),
  )
  .join('\n')}
${schemasOf(document)}
</main></body></html>
`
  return { html, styleHash: createHash('sha256').update(STYLE).digest('base64') }
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly json: Json
}

function operationsOf(document: Json): Operation[] {
  return Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, json]) => ({
      method,
      path,
      tag: (json.tags as string[])[0] ?? '',
      json,
    })),
  )
}

function section(tag: string, operations: readonly Operation[]): string {
  return `<section id="${escapeHtml(tag)}"><h2>${escapeHtml(tag)}</h2>${operations.map(article).join('\n')}</section>`
}

function article({ method, path, json }: Operation): string {
  const id = escapeHtml(String(json.operationId))
  const body = (json.requestBody as { content: Record<string, { schema: Json }> } | undefined)?.content[
    'application/json'
  ]?.schema
  return `<article id="${id}"><h3><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code></h3>
<p>${escapeHtml(String(json.summary))} ${escapeHtml(String(json.description))}</p>
${table(
  'Parameters',
  (json.parameters as Json[]).map((parameter) => parameterRow(parameter)),
)}
${body === undefined ? '' : bodyOf(body)}
${answersOf(json.responses as Record<string, Json>)}</article>`
}

/** A named body is described once, below. */
function bodyOf(schema: Json): string {
  return schema.$ref === undefined
    ? table('Body', fieldRows(schema))
    : `<h4>Body</h4><p>${typeOf(schema)}</p>`
}

function schemasOf(document: Json): string {
  const { schemas } = document.components as { schemas: Record<string, Json> }
  const described = Object.entries(schemas).map(
    ([name, schema]) =>
      `<article id="schema-${escapeHtml(name)}"><h3>${escapeHtml(name)}</h3>${table('Fields', fieldRows(schema))}</article>`,
  )
  return `<section id="schemas"><h2>schemas</h2>${described.join('\n')}</section>`
}

function parameterRow({ name, in: place, required, description, schema }: Json): string[] {
  return [
    `<code>${escapeHtml(String(name))}</code>`,
    escapeHtml(`${place}${required === true ? ', required' : ''}`),
    typeOf(schema as Json),
    escapeHtml(String(description ?? '')),
  ]
}

function fieldRows(schema: Json): string[][] {
  const required = (schema.required as string[] | undefined) ?? []
  return Object.entries((schema.properties as Record<string, Json> | undefined) ?? {}).map(
    ([name, field]) => [
      `<code>${escapeHtml(name)}</code>`,
      required.includes(name) ? 'required' : '',
      typeOf(field),
      escapeHtml(String(field.description ?? '')),
    ],
  )
}

function answersOf(responses: Record<string, Json>): string {
  const rows = Object.entries(responses).map(([status, response]) => {
    const content = (response.content ?? {}) as Record<string, { schema: Json }>
    const schema = content['application/json']?.schema
    return [
      escapeHtml(status),
      schema === undefined ? escapeHtml(Object.keys(content).join(', ')) : typeOf(schema),
      escapeHtml(String(response.description ?? 'A problem document.')),
    ]
  })
  return table('Answers', rows)
}

function typeOf(schema: Json): string {
  if (typeof schema.$ref === 'string') return linkTo(schema.$ref.split('/').at(-1) ?? '')
  if (schema.type === 'array') return `list of ${typeOf(schema.items as Json)}`
  if (schema.type === 'object' && schema.properties !== undefined)
    return shapeOf(schema.properties as Record<string, Json>)
  const options = (schema.anyOf as Json[] | undefined)?.map(typeOf)
  if (options !== undefined) return options.join(' or ')
  if (Array.isArray(schema.enum))
    return schema.enum.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(' or ')
  if (schema.const !== undefined) return `<code>${escapeHtml(String(schema.const))}</code>`
  return escapeHtml(String(schema.type ?? 'any'))
}

function linkTo(name: string): string {
  return `<a href="#${name === 'Problem' ? 'schemas' : `schema-${escapeHtml(name)}`}">${escapeHtml(name)}</a>`
}

function shapeOf(properties: Record<string, Json>): string {
  const fields = Object.entries(properties).map(
    ([name, field]) => `<code>${escapeHtml(name)}</code>: ${typeOf(field)}`,
  )
  return fields.join(', ')
}

function table(caption: string, rows: string[][]): string {
  if (rows.length === 0) return ''
  const cells = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')
  return `<h4>${caption}</h4><table><tbody>${cells}</tbody></table>`
}

function escapeHtml(text = ''): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
