import { type Diagnostic, linter, lintGutter } from '@codemirror/lint'
import { useMemo } from 'react'
import type { Finding } from '../../api/wire.js'
import { CodeEditor } from '../../components/editor/CodeEditor.js'

interface Props {
  readonly text: string
  readonly label: string
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
  readonly onChange?: (text: string) => void
}

/** The editor with what validation found under the words that it speaks of. Loaded lazily, with CodeMirror. */
export function SqlEditor({ text, label, errors, warnings, onChange }: Props) {
  const extensions = useMemo(() => {
    const findings = [
      ...errors.map((finding) => ({ finding, severity: 'error' as const })),
      ...warnings.map((finding) => ({ finding, severity: 'warning' as const })),
    ]
    return [
      lintGutter(),
      linter(
        ({ state }) =>
          findings.flatMap(({ finding, severity }) => mark(state.doc.toString(), finding, severity)),
        {
          delay: 0,
        },
      ),
    ]
  }, [errors, warnings])
  return (
    <CodeEditor
      text={text}
      language="sql"
      label={label}
      extensions={extensions}
      {...(onChange === undefined ? {} : { onChange })}
    />
  )
}

/** The server gives the place where it begins; the word there is underlined. */
function mark(
  text: string,
  { position, message, hint }: Finding,
  severity: Diagnostic['severity'],
): Diagnostic[] {
  if (position === null || position.offset > text.length) return []
  const from = position.offset
  const word = /^[\w."]+/.exec(text.slice(from))?.[0].length ?? 1
  return [{ from, to: Math.min(text.length, from + word), severity, message: `${message} ${hint}` }]
}
