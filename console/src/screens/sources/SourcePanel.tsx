import { Flex, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Source } from '../../api/wire.js'
import { FactList } from '../../components/layout/FactList.js'
import { Panel } from '../../components/layout/Panel.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon, type IconName } from '../../theme/icons.js'
import styles from './sources.module.css'
import { sourcesTexts } from './texts.js'

interface Props {
  readonly source: Source
}

const BADGES: Readonly<Record<Source['state'], { tone: Tone; icon: IconName }>> = {
  capturing: { tone: 'ok', icon: 'check' },
  failing: { tone: 'bad', icon: 'warn' },
  uncaptured: { tone: 'bad', icon: 'warn' },
  unused: { tone: 'rest', icon: 'dash' },
}

export function SourcePanel({ source }: Props) {
  const texts = useTexts(sourcesTexts)
  return (
    <Panel
      title={source.connection}
      actions={<Badge {...BADGES[source.state]}>{texts.states[source.state]}</Badge>}
    >
      <Stack className={styles.stack} gap={14}>
        <p className={styles.hint}>
          {texts.stateHints[source.state]}
          {source.state === 'unused' ? (
            <>
              {' '}
              <code className="v-mono">vitrina sources prepare {source.connection} --apply</code>
            </>
          ) : null}
        </p>
        <Alerts source={source} />
        <Facts source={source} />
        <Tables source={source} />
        <Pipelines source={source} />
      </Stack>
    </Panel>
  )
}

function Alerts({ source: { error, lost } }: Props) {
  const texts = useTexts(sourcesTexts)
  return (
    <>
      {error === null ? null : (
        <Flex className={styles.alert} gap={8} data-tone="bad">
          <Icon name="warn" size={14} />
          <div>
            <code className="v-mono">{error.code}</code> {error.message}{' '}
            <span className="v-soft">
              <TimeText at={error.since} as="relative" />
            </span>
          </div>
        </Flex>
      )}
      {lost === null ? null : (
        <Flex className={styles.alert} gap={8} data-tone="warn">
          <Icon name="warn" size={14} />
          <div>
            {texts.lost} <TimeText at={lost.at} as="moment" />. {lost.reason}{' '}
            <span className="v-soft">{texts.lostHint}</span>
          </div>
        </Flex>
      )}
    </>
  )
}

function Facts({ source }: Props) {
  const texts = useTexts(sourcesTexts)
  const format = useFormat()
  const { lag_bytes, held_bytes, owner, slot, way, upto, generation_at, updated_at, state } = source
  if (state === 'unused') return null
  const code = (text: string | null): ReactNode =>
    text === null ? null : <code className="v-mono">{text}</code>
  return (
    <FactList
      facts={[
        [texts.lag, lag_bytes === null ? null : format.bytes(lag_bytes)],
        [texts.held, held_bytes === null ? null : format.bytes(held_bytes)],
        [texts.upto, code(upto)],
        [texts.slot, code(slot)],
        [
          texts.since,
          generation_at === null ? null : <TimeText key="since" at={generation_at} as="moment" />,
        ],
        [texts.runner, code(owner)],
        [texts.way, way === null ? null : texts.ways[way]],
        [texts.seen, updated_at === null ? null : <TimeText key="seen" at={updated_at} as="relative" />],
      ]}
    />
  )
}

function Tables({ source: { tables, state } }: Props) {
  const texts = useTexts(sourcesTexts)
  if (state === 'unused') return null
  const weak = tables?.filter(({ is_lossless }) => !is_lossless).length ?? 0
  return (
    <section aria-label={texts.tables}>
      <h3>
        {texts.tables}
        {weak === 0 ? null : <span className="v-soft"> · {texts.weak(weak)}</span>}
      </h3>
      {tables === null ? <p className={styles.hint}>{texts.unreachable}</p> : null}
      {tables?.length === 0 ? <p className={styles.hint}>{texts.noTables}</p> : null}
      <ul className={styles.list}>
        {(tables ?? []).map((table) => (
          <TableRow key={table.table} table={table} />
        ))}
      </ul>
    </section>
  )
}

type Table = NonNullable<Source['tables']>[number]

function TableRow({
  table: { table, identity, columns, is_lossless, reason, statements },
}: {
  readonly table: Table
}) {
  const texts = useTexts(sourcesTexts)
  const list = identity === 'full' || columns.length === 0 ? '' : ` (${columns.join(', ')})`
  return (
    <li className={styles.row}>
      <strong>{table}</strong>
      <span>
        {texts.identity}: {texts.identities[identity]}
        {list}
      </span>
      <span>
        <Badge tone={is_lossless ? 'ok' : 'warn'} icon={is_lossless ? 'check' : 'warn'}>
          {texts.followed}: {is_lossless ? texts.lossless : texts.lossy}
        </Badge>
      </span>
      {is_lossless ? null : (
        <div className={styles.wide}>
          {reason}
          {statements.length === 0 ? null : (
            <>
              {' '}
              {texts.makeLossless}
              <pre className="v-mono">{statements.map((statement) => `${statement};`).join('\n')}</pre>
            </>
          )}
        </div>
      )}
    </li>
  )
}

function Pipelines({ source: { pipelines } }: Props) {
  const texts = useTexts(sourcesTexts)
  const format = useFormat()
  return (
    <section aria-label={texts.pipelines}>
      <h3>{texts.pipelines}</h3>
      <ul className={styles.list}>
        {pipelines.map(({ id, name, is_live, position, lag_bytes, moved_at }) => (
          <li key={id} className={styles.row}>
            <span>
              <Link to="/pipelines/$id" params={{ id }} className="v-link">
                {name}
              </Link>
              {is_live ? <span className="v-soft"> · {texts.live}</span> : null}
            </span>
            <span>
              {lag_bytes === null ? (
                <span className="v-soft">{texts.compares}</span>
              ) : (
                <>
                  {texts.behind}: <span className="v-number">{format.bytes(lag_bytes)}</span>
                </>
              )}
            </span>
            <span className="v-soft">
              {position === null ? '–' : <code className="v-mono">{position}</code>}{' '}
              {moved_at === null ? null : <TimeText at={moved_at} as="relative" />}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
