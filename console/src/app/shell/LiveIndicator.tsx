import { Tip } from '../../components/text/Tip.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { silenceMs, useLiveState } from '../../live/live.js'
import { useNow } from '../../time/clock.js'
import { appTexts } from '../texts.js'
import styles from './shell.module.css'

const STALE_MS = 20_000

/** Whether the screen updates automatically. */
export function LiveIndicator() {
  const texts = useTexts(appTexts)
  const format = useFormat()
  const state = useLiveState()
  useNow()
  const silence = silenceMs()
  const isStale = state !== 'connecting' && silence > STALE_MS
  const isLive = state === 'live' && !isStale
  const word = isStale ? texts.live.stale(format.duration(silence)) : texts.live[state]
  return (
    <Tip label={isLive ? texts.liveHint : texts.staleHint}>
      <span className={styles.live} data-live={isStale ? 'stale' : state}>
        <span
          className={`${styles.light} ${isLive ? styles.lightLive : state === 'connecting' ? '' : styles.lightBad}`}
        />
        {/* A phone shows the text only for problems. */}
        <span
          className={`${styles.liveWord} ${isLive || state === 'connecting' ? styles.wide : ''}`}
          data-widest={texts.live.connecting}
        >
          {word}
        </span>
      </span>
    </Tip>
  )
}
