import { Flex } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Connection } from '../../api/wire.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { CardHead } from './CardHead.js'
import { connectionsTexts } from './connections-texts.js'
import styles from './settings.module.css'

const BADGES: Readonly<Record<Connection['state'], { tone: Tone; icon: IconName }>> = {
  reachable: { tone: 'ok', icon: 'check' },
  unreachable: { tone: 'bad', icon: 'cross' },
  not_configured: { tone: 'rest', icon: 'dash' },
  unknown: { tone: 'bad', icon: 'warn' },
}

interface Props {
  readonly connection: Connection
}

export function ConnectionCard({ connection }: Props) {
  const texts = useTexts(connectionsTexts)
  const { name, kind, state, error, detail } = connection
  const title = name === 'main' ? texts.main : name === kind ? kindOf(texts, kind) : name
  return (
    <Flex
      component="article"
      className={styles.card}
      direction="column"
      gap={12}
      aria-label={title}
      data-state={state}
    >
      <CardHead>
        <div>
          <h2>{title}</h2>
          {title === kindOf(texts, kind) ? null : <span className="v-soft">{kindOf(texts, kind)}</span>}
        </div>
        <Badge {...BADGES[state]}>{texts.state[state]}</Badge>
      </CardHead>
      {name === 'main' ? <p className={styles.note}>{texts.mainText}</p> : null}
      {error === null ? null : (
        <div className={styles.failure} role="alert">
          <code className="v-mono">{error.code}</code>
          <p>{error.message}</p>
          <p className="v-soft">{error.hint}</p>
        </div>
      )}
      {state === 'not_configured' ? (
        <p className={styles.note}>{detail}</p>
      ) : (
        <Facts connection={connection} />
      )}
      <Uses connection={connection} />
    </Flex>
  )
}

function kindOf({ kinds }: { kinds: Readonly<Record<string, string>> }, kind: string): string {
  return kinds[kind] ?? kind
}

function Facts({ connection }: Props) {
  const { facts, allow, nothingAllowed } = useTexts(connectionsTexts)
  const format = useFormat()
  const { address, logins, version, latency_ms: latency, detail, allow_lists: lists } = connection
  const names: Readonly<Record<string, string>> = allow
  return (
    <dl className={styles.facts}>
      <Fact name={facts.address}>{address === null ? null : <code className="v-mono">{address}</code>}</Fact>
      <Fact name={facts.version}>{version}</Fact>
      <Fact name={facts.latency}>{latency === null ? null : format.duration(latency)}</Fact>
      <Fact name={facts.logins}>
        {logins.length === 0 ? null : <code className="v-mono">{logins.join(', ')}</code>}
      </Fact>
      <Fact name={facts.says}>{detail}</Fact>
      {lists.map(({ setting, names: allowed }) => (
        <Fact key={setting} name={names[setting] ?? setting}>
          <Flex component="span" gap={4} wrap="wrap">
            {allowed.length === 0
              ? nothingAllowed
              : allowed.map((each) => (
                  <code key={each} className={`v-mono ${styles.chip}`}>
                    {each}
                  </code>
                ))}
          </Flex>
          <code className={`v-mono ${styles.setting}`}>{setting}</code>
        </Fact>
      ))}
    </dl>
  )
}

/** Unknown values are omitted. */
function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  if (children === null) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Uses({ connection: { pipelines, pipelines_count: count, state } }: Props) {
  const texts = useTexts(connectionsTexts)
  if (count === 0) return state === 'not_configured' ? null : <p className={styles.note}>{texts.unused}</p>
  return (
    <details className={styles.uses}>
      <summary>{texts.used(count)}</summary>
      <ul>
        {pipelines.map(({ id, name, reads, writes }) => (
          <li key={id}>
            <Link to="/pipelines/$id/overview" params={{ id }} className="v-link">
              {name}
            </Link>{' '}
            <span className="v-soft">
              {reads && writes ? texts.both : reads ? texts.reads : texts.writes}
            </span>
          </li>
        ))}
        {count > pipelines.length ? <li className="v-soft">{texts.more(count - pipelines.length)}</li> : null}
      </ul>
    </details>
  )
}
