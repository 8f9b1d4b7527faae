import { closeBrackets } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { PostgreSQL, sql } from '@codemirror/lang-sql'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useEffectEvent, useRef } from 'react'
import { styleNonce } from '../../app/style-nonce.js'
import styles from './code.module.css'

interface Props {
  readonly text: string
  readonly language: 'sql' | 'yaml'
  readonly label: string
  readonly onChange?: (text: string) => void
  /** Extensions such as lint and completion. Pass a new object to change them. */
  readonly extensions?: Extension
}

/** Uses CSS variables, so that it follows the theme. */
const COLOURS = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.keyword, color: 'var(--v-run-text)', fontWeight: '500' },
    { tag: [tags.string, tags.special(tags.string)], color: 'var(--v-ok-text)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'var(--v-hold-text)' },
    {
      tag: [tags.comment, tags.lineComment, tags.blockComment],
      color: 'var(--v-text-soft)',
      fontStyle: 'italic',
    },
    { tag: [tags.typeName, tags.propertyName], color: 'var(--v-warn-text)' },
  ]),
)

const LOOK = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--v-text)' },
  // The same line height as the plain text that is shown until the editor is loaded.
  '.cm-scroller': { fontFamily: 'inherit', lineHeight: 'inherit' },
  '&.cm-focused': { outline: '2px solid var(--v-focus)', outlineOffset: '-2px' },
  '.cm-content': { fontFamily: 'inherit', padding: '8px 0', caretColor: 'var(--v-text)' },
  // Opaque: long lines scroll beneath it.
  '.cm-gutters': { backgroundColor: 'var(--v-surface)', color: 'var(--v-text-soft)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': {
    backgroundColor: 'color-mix(in srgb, var(--v-run) 7%, transparent)',
  },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--v-run) 30%, transparent) !important',
  },
  '.cm-cursor': { borderLeftColor: 'var(--v-text)' },
})

/** Loaded by CodeView; screens that need more than its props import it lazily themselves. */
export function CodeEditor({ text, language, label, onChange, extensions = [] }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const added = useRef(new Compartment())
  const reportChange = useEffectEvent((next: string) => onChange?.(next))
  const isReadOnly = onChange === undefined

  // biome-ignore lint/correctness/useExhaustiveDependencies: text and extensions are updated below without losing the cursor.
  useEffect(() => {
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(styleNonce()),
          lineNumbers(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          search({ top: true }),
          isReadOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : highlightActiveLine(),
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
          language === 'sql' ? sql({ dialect: PostgreSQL }) : yaml(),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) reportChange(state.doc.toString())
          }),
          COLOURS,
          LOOK,
          added.current.of(extensions),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [language, label, isReadOnly])

  useEffect(() => {
    const { current } = view
    if (current === null || current.state.doc.toString() === text) return
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: text } })
  }, [text])

  useEffect(() => {
    view.current?.dispatch({ effects: added.current.reconfigure(extensions) })
  }, [extensions])

  return <div ref={host} className={styles.editor} />
}
