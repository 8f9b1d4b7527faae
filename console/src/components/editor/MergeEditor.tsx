import { unifiedMergeView } from '@codemirror/merge'
import { useMemo } from 'react'
import { CodeEditor } from './CodeEditor.js'

interface Props {
  readonly before: string
  readonly after: string
  readonly language: 'sql' | 'yaml'
  readonly label: string
}

export function MergeEditor({ before, after, language, label }: Props) {
  const extensions = useMemo(
    () =>
      unifiedMergeView({
        original: before,
        mergeControls: false,
        gutter: true,
        collapseUnchanged: { margin: 3 },
      }),
    [before],
  )
  return <CodeEditor text={after} language={language} label={label} extensions={extensions} />
}
