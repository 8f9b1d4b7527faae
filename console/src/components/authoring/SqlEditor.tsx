import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { PostgreSQL } from '@codemirror/lang-sql'
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint'
import type { Extension } from '@codemirror/state'
import { EditorView, placeholder } from '@codemirror/view'
import { useMemo } from 'react'
import type { Finding, SourceTables } from '../../api/wire.js'
import { CodeEditor } from '../editor/CodeEditor.js'
import { suggestions } from './completion.js'

interface Props {
  readonly text: string
  readonly label: string
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
  /** The tables and columns offered for completion. */
  readonly tables: SourceTables['items']
  /** Shown while the editor is empty. */
  readonly example?: string
  readonly onChange?: (text: string) => void
}

/** The editor, with validation findings underlined. Loaded lazily, with CodeMirror. */
export function SqlEditor({ text, label, errors, warnings, tables, example = '', onChange }: Props) {
  const extensions = useMemo(
    () => [lint(errors, warnings), completion(tables), placeholder(example), TOOLTIP_THEME],
    [errors, warnings, tables, example],
  )
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

function lint(errors: readonly Finding[], warnings: readonly Finding[]): Extension {
  const findings = [
    ...errors.map((finding) => ({ finding, severity: 'error' as const })),
    ...warnings.map((finding) => ({ finding, severity: 'warning' as const })),
  ]
  return [
    lintGutter(),
    linter(
      ({ state }) =>
        findings.flatMap(({ finding, severity }) => mark(state.doc.toString(), finding, severity)),
      { delay: 0 },
    ),
  ]
}

/** The server returns the start position; the word there is underlined. */
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

function completion(tables: SourceTables['items']): Extension {
  const complete = (context: CompletionContext): CompletionResult | null => {
    const before = context.state.sliceDoc(0, context.pos)
    // Not from the middle of a word, which would take quadratic time in a long one.
    const word = /(?<![\w$"])[\w$"]*$/.exec(before)![0]
    const isAfterPoint = before.at(-1 - word.length) === '.'
    if (word === '' && !isAfterPoint && !context.explicit) return null
    return {
      from: context.pos - word.length,
      options: suggestions(before, context.state.doc.toString(), tables).map(({ label, detail, kind }) => ({
        label,
        detail,
        type: kind === 'table' ? 'class' : 'property',
        boost: kind === 'column' ? 2 : 1,
      })),
      validFor: /^[\w$"]*$/,
    }
  }
  return [autocompletion({ icons: false }), PostgreSQL.language.data.of({ autocomplete: complete })]
}

/** Tooltips are outside of the editor element, so they need their own theme. */
const TOOLTIP_THEME = EditorView.theme({
  '.cm-tooltip': {
    backgroundColor: 'var(--v-raised)',
    color: 'var(--v-text)',
    border: '1px solid var(--v-line-strong)',
    borderRadius: '6px',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'inherit', maxHeight: '16em' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--v-picked)',
    color: 'var(--v-text)',
  },
  '.cm-completionDetail': { color: 'var(--v-text-soft)', fontStyle: 'normal' },
  '.cm-diagnostic': { padding: '6px 10px', maxWidth: '46ch' },
  '.cm-placeholder': { color: 'var(--v-text-soft)', whiteSpace: 'pre-wrap' },
  '.cm-gutter-lint': { width: '1em' },
})
