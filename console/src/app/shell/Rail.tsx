import { Link, useRouterState } from '@tanstack/react-router'
import { Tip } from '../../components/text/Tip.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { setPreferences, usePreferences } from '../../preferences/preferences.js'
import { Icon, type IconName } from '../../theme/icons.js'
import { router } from '../router-handle.js'
import { appTexts } from '../texts.js'
import { Logo } from './Logo.js'
import styles from './shell.module.css'

interface Place {
  readonly to: string
  readonly icon: IconName
  readonly key: keyof (typeof appTexts)['en']['nav']
  /** The shortcut is `g` and this letter. */
  readonly letter: string
  /** A screen that is reached from this place. */
  readonly within?: string
}

export const PLACES: readonly Place[] = [
  { to: '/', icon: 'overview', key: 'overview', letter: 'o' },
  { to: '/pipelines', icon: 'pipelines', key: 'pipelines', letter: 'p' },
  { to: '/runs', icon: 'runs', key: 'runs', letter: 'r' },
  { to: '/quality', icon: 'quality', key: 'quality', letter: 'q' },
  { to: '/checks', icon: 'checks', key: 'checks', letter: 'c' },
  { to: '/quarantine', icon: 'quarantine', key: 'quarantine', letter: 'u' },
  { to: '/lineage', icon: 'lineage', key: 'lineage', letter: 'l', within: '/order' },
  { to: '/runners', icon: 'runners', key: 'runners', letter: 'f' },
  { to: '/sources', icon: 'sources', key: 'sources', letter: 'd' },
  { to: '/settings', icon: 'settings', key: 'settings', letter: 's' },
]

export function Rail() {
  const texts = useTexts(appTexts)
  const isNarrow = usePreferences().rail === 'narrow'
  const fold = isNarrow ? texts.unfoldRail : texts.foldRail
  return (
    <div className={`${styles.rail} ${isNarrow ? styles.narrow : ''}`}>
      <Link to="/" className={styles.brand} aria-label="Vitrina">
        <Logo />
        <span className={styles.word}>Vitrina</span>
      </Link>
      <nav className={styles.nav} aria-label={texts.nav.label}>
        {PLACES.map((place) => (
          <RailLink key={place.to} place={place} />
        ))}
      </nav>
      <Tip label={fold}>
        <button
          type="button"
          className={`${styles.link} ${styles.tool} ${styles.fold}`}
          aria-label={fold}
          onClick={() => setPreferences({ rail: isNarrow ? 'wide' : 'narrow' })}
        >
          <Icon name="rail" />
        </button>
      </Tip>
    </div>
  )
}

function RailLink({ place: { to, icon, key, letter, within } }: { readonly place: Place }) {
  const isWithin = useRouterState({ select: ({ location }) => location.pathname === within })
  const texts = useTexts(appTexts)
  const label = texts.nav[key]
  useShortcut({ keys: `g ${letter}`, label: texts.goTo(label) }, () => void router().navigate({ to }))
  return (
    <Link
      to={to}
      className={styles.link}
      activeOptions={{ exact: to === '/' }}
      {...(isWithin ? { 'data-status': 'active' } : {})}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
      <span className={styles.label}>{label}</span>
    </Link>
  )
}
