import type { FilePipeline } from '../../config/pipeline-file.js'
import { type FilePosition, SourceText } from '../../config/source-text.js'
import { bad, dim, print } from '../output/print.js'
import type { ValidationFinding } from '../server/wire.js'

/** Shows where a finding is: in the file, or in the saved text. */
export type Locate = (finding: ValidationFinding) => FilePosition | null

export function inFile(file: FilePipeline): Locate {
  return ({ field, position }) => file.locate(field, position)
}

/** `texts`: SQL by field, such as `tasks.0.body`. */
export function inTexts(texts: Readonly<Record<string, string>>): Locate {
  return ({ field, position }) => {
    const text = texts[field]
    return text === undefined || position === null
      ? null
      : new SourceText(field, text).place(position.line, position.column)
  }
}

export function printFinding(finding: ValidationFinding, kind: 'error' | 'warning', locate: Locate): void {
  const place = locate(finding)
  const where = place === null ? finding.field : `${place.file}:${place.line}:${place.column}`
  print(`${kind === 'error' ? bad('✗') : '!'} ${where}: ${finding.code}: ${finding.message}`)
  for (const line of place?.excerpt ?? []) print(dim(`    ${line}`))
  print(`  → ${finding.hint}`)
}
