import { Button, CopyButton, Select } from '@mantine/core'
import { logAddress, type RunLog, type RunLogFilter } from '../../api/runs.js'
import type { RunDetail } from '../../api/wire.js'
import { DownloadButton } from '../../components/actions/DownloadButton.js'
import { SearchBox } from '../../components/search/SearchBox.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { Icon } from '../../theme/icons.js'
import { logText } from './log-text.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'
import { useRunSearch } from './use-run-search.js'

interface Props {
  readonly run: RunDetail
  readonly filter: RunLogFilter
  readonly pages: RunLog['pages']
  readonly isWrapped: boolean
  readonly isFollowing: boolean
  readonly wrap: (on: boolean) => void
  readonly follow: (on: boolean) => void
}

export function LogTools({ run, filter, pages, isWrapped, isFollowing, wrap, follow }: Props) {
  const words = useTexts(shared)
  const [search, change] = useRunSearch()
  const isErrorsOnly = search.log === 'errors'
  const showErrors = (on: boolean) => void change({ log: on ? 'errors' : undefined })
  useShortcut({ keys: 'e', label: words.errorsOnly }, () => showErrors(!isErrorsOnly))
  useShortcut({ keys: 'w', label: words.wrap }, () => wrap(!isWrapped))
  useShortcut({ keys: 'f', label: words.follow }, () => follow(!isFollowing))
  return (
    <div className={styles.logTools}>
      <Search />
      <AttemptChoice attempts={run.attempt} />
      <Switch label={words.errorsOnly} isOn={isErrorsOnly} onChange={showErrors} />
      <Switch label={words.wrap} isOn={isWrapped} onChange={wrap} />
      <Switch label={words.follow} isOn={isFollowing} onChange={follow} />
      <TakeAway runId={run.id} filter={filter} pages={pages} />
    </div>
  )
}

/** The server searches all lines, including those that are not loaded. */
function Search() {
  const { log: texts } = useTexts(runTexts)
  const [{ q }, change] = useRunSearch()
  return (
    <SearchBox
      className={styles.logSearch}
      size="xs"
      label={texts.search}
      shortcut={texts.search}
      value={q}
      onChange={(text) => void change({ q: text })}
    />
  )
}

function AttemptChoice({ attempts }: { readonly attempts: number }) {
  const { log: texts, attempts: words } = useTexts(runTexts)
  const [{ attempt }, change] = useRunSearch()
  if (attempts <= 1 && attempt === undefined) return null
  const numbers = Array.from({ length: Math.max(attempts, attempt ?? 1) }, (_, n) => String(n + 1))
  return (
    <Select
      size="xs"
      w={150}
      clearable
      aria-label={texts.attempt}
      placeholder={texts.attempt}
      data={numbers.map((value) => ({ value, label: words.name(Number(value)) }))}
      value={attempt === undefined ? null : String(attempt)}
      onChange={(value) => void change({ attempt: value === null ? undefined : Number(value) })}
    />
  )
}

/** Copies the loaded lines; the download contains all matching lines. */
function TakeAway({ runId, filter, pages }: { readonly runId: string } & Pick<Props, 'filter' | 'pages'>) {
  const words = useTexts(shared)
  const { log: texts } = useTexts(runTexts)
  return (
    // Reserves the space while the log is empty.
    <span className={styles.takeAway} data-empty={pages.length === 0 || undefined}>
      <CopyLoaded pages={pages} label={texts.copy} />
      <DownloadButton size="compact-sm" from={logAddress(runId, filter)} as={`run-${runId}.log`}>
        {words.download}
      </DownloadButton>
    </span>
  )
}

function CopyLoaded({ pages, label }: { readonly pages: RunLog['pages']; readonly label: string }) {
  const words = useTexts(shared)
  return (
    <CopyButton value="">
      {({ copied, copy }) => (
        <Button
          variant="default"
          size="compact-sm"
          aria-label={label}
          onClick={() => {
            // Created on demand: the text of 100,000 lines is long.
            void navigator.clipboard?.writeText(logText(pages))
            copy()
          }}
        >
          {copied ? words.copied : words.copy}
        </Button>
      )}
    </CopyButton>
  )
}

interface SwitchProps {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (on: boolean) => void
}

function Switch({ label, isOn, onChange }: SwitchProps) {
  return (
    <Button
      size="compact-sm"
      variant={isOn ? 'light' : 'subtle'}
      color={isOn ? 'blue' : 'gray'}
      aria-pressed={isOn}
      leftSection={isOn ? <Icon name="check" size={12} /> : null}
      onClick={() => onChange(!isOn)}
    >
      {label}
    </Button>
  )
}
