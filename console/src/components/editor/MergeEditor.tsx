import { unifiedMergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { useMemo } from 'react'
import { defineTexts, useTexts } from '../../i18n/texts.js'
import { CodeEditor } from './CodeEditor.js'

/** `$` is replaced by the number. */
const mergeTexts = defineTexts({ unchanged: '$ unchanged lines' }, { unchanged: 'без изменений: $' })

interface Props {
  readonly before: string
  readonly after: string
  readonly language: 'sql' | 'yaml'
  readonly label: string
}

export function MergeEditor({ before, after, language, label }: Props) {
  const texts = useTexts(mergeTexts)
  const extensions = useMemo(
    () => [
      EditorState.phrases.of({ '$ unchanged lines': texts.unchanged }),
      unifiedMergeView({
        original: before,
        mergeControls: false,
        gutter: true,
        collapseUnchanged: { margin: 3 },
      }),
    ],
    [before, texts],
  )
  return <CodeEditor text={after} language={language} label={label} extensions={extensions} />
}
