import { Link } from '@tanstack/react-router'
import { useTexts } from '../../i18n/texts.js'
import styles from './overview.module.css'
import { overviewTexts } from './texts.js'

interface Props {
  readonly n: number
  readonly to: '/pipelines'
  readonly search?: { readonly status?: 'queued' | 'running' | 'paused' | 'disabled'; readonly sort?: string }
}

/** A link to the entries that do not fit into a panel. */
export function More({ n, to, search = {} }: Props) {
  const texts = useTexts(overviewTexts)
  if (n <= 0) return null
  return (
    <p className={styles.rest}>
      <Link to={to} search={search} className="v-link">
        {texts.more(n)}
      </Link>
    </p>
  )
}
