import { Checkbox } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { settingsQuery } from '../../api/about.js'
import type { Setting } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import records from '../../components/layout/records.module.css'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { SearchBox } from '../../components/search/SearchBox.js'
import { useTexts } from '../../i18n/texts.js'
import { aboutTexts } from './about-texts.js'
import styles from './settings.module.css'

export function SettingsPanel() {
  const texts = useTexts(aboutTexts)
  const { data, error, refetch } = useQuery(settingsQuery)
  const [wanted, search] = useState<string>()
  const [isOnlySet, setOnlySet] = useState(false)
  const shown = (data ?? []).filter(
    ({ name, means, source }) =>
      (!isOnlySet || source === 'environment') &&
      `${name} ${means}`.toLowerCase().includes((wanted ?? '').toLowerCase()),
  )
  return (
    <Panel title={texts.settings} isFlush>
      <div className={styles.tools}>
        <SearchBox
          className={styles.what}
          label={texts.filter}
          shortcut={texts.filter}
          value={wanted}
          onChange={search}
        />
        <Checkbox
          label={texts.onlySet}
          checked={isOnlySet}
          onChange={(event) => setOnlySet(event.currentTarget.checked)}
        />
        <span className={styles.note}>{texts.settingsText}</span>
      </div>
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      {data === undefined ? null : <Settings settings={shown} />}
    </Panel>
  )
}

function Settings({ settings }: { readonly settings: readonly Setting[] }) {
  const texts = useTexts(aboutTexts)
  if (settings.length === 0) return <p className={`${styles.note} ${styles.tools}`}>{texts.noneFits}</p>
  return (
    <Scrollable className={styles.scrolled} label={texts.settings}>
      <table className={records.table}>
        <thead>
          <tr>
            {Object.values(texts.columns).map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {settings.map((setting) => (
            <tr key={setting.name}>
              <td>
                <code className="v-mono">{setting.name}</code>
              </td>
              <td className={styles.value}>
                <Value setting={setting} />
              </td>
              <td>{texts.source[setting.source]}</td>
              <td className="v-soft">{setting.means}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}

function Value({ setting: { value, is_secret, source } }: { readonly setting: Setting }) {
  const texts = useTexts(aboutTexts)
  if (value !== null) return <code className="v-mono">{value}</code>
  return <span className="v-soft">{is_secret && source === 'environment' ? texts.secret : '–'}</span>
}
