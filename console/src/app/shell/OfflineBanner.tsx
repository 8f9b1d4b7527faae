import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { silenceMs, useReachable } from '../../live/live.js'
import { Icon } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import { appTexts } from '../texts.js'
import styles from './shell.module.css'

export function OfflineBanner() {
  return useReachable() ? null : <Banner />
}

function Banner() {
  const texts = useTexts(appTexts)
  const format = useFormat()
  useNow()
  return (
    <div className={styles.offline} role="status">
      <Icon name="warn" />
      {texts.offline(format.duration(silenceMs()))}
    </div>
  )
}
