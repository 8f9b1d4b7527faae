import { lazy, Suspense } from 'react'
import styles from '../editor/code.module.css'

const Editor = lazy(() =>
  import('../editor/CodeEditor.js').then(({ CodeEditor }) => ({ default: CodeEditor })),
)

interface Props {
  readonly text: string
  readonly language: 'sql' | 'yaml'
  readonly label: string
  /** Not given: read-only. */
  readonly onChange?: (text: string) => void
}

/** SQL or YAML with syntax highlighting. The editor is loaded on first use; until then the text is plain. */
export function CodeView(props: Props) {
  return (
    <Suspense fallback={<pre className={styles.plain}>{props.text}</pre>}>
      <Editor {...props} />
    </Suspense>
  )
}
