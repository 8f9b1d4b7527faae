import { Button, Flex } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { aboutQuery, readinessQuery, settingsQuery } from '../../api/about.js'
import { useMay } from '../../api/session.js'
import type { About, Readiness } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { Badge } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import { aboutTexts } from './about-texts.js'
import { LICENCES } from './licences.js'
import { NotAllowed } from './NotAllowed.js'
import { SettingsPanel } from './SettingsPanel.js'
import styles from './settings.module.css'
import { useSettingsPage } from './use-settings-page.js'

const LINKS = [
  { key: 'docs', href: '/docs' },
  { key: 'openapi', href: '/openapi.json' },
  { key: 'health', href: '/health/ready' },
  { key: 'metrics', href: '/metrics' },
] as const

export function AboutTab() {
  useSettingsPage('about')
  const texts = useTexts(aboutTexts)
  const { data, error, refetch } = useQuery(aboutQuery)
  const maySeeSettings = useMay('admin')
  const settings = useQuery({ ...settingsQuery, enabled: maySeeSettings })
  const isLoading =
    (data === undefined && error === null) ||
    (maySeeSettings && settings.data === undefined && settings.error === null)
  return (
    <>
      <Flex component="nav" gap={8} wrap="wrap" aria-label={texts.server}>
        {LINKS.map(({ key, href }) => (
          <Button
            key={key}
            component="a"
            href={href}
            target="_blank"
            rel="noreferrer"
            variant="default"
            rightSection={<Icon name="external" size={14} />}
          >
            {texts.links[key]}
          </Button>
        ))}
      </Flex>
      {isLoading ? (
        // Rendered separately, they would move each other.
        <Skeleton lines={14} height={24} />
      ) : (
        <>
          {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
          {data === undefined ? null : <Server about={data} />}
          {maySeeSettings ? (
            <SettingsPanel />
          ) : (
            <Panel title={texts.settings}>
              <NotAllowed what="settings" />
            </Panel>
          )}
          <Licences />
        </>
      )}
    </>
  )
}

function Server({ about }: { readonly about: About }) {
  const texts = useTexts(aboutTexts)
  const format = useFormat()
  const now = useNow()
  const { migrations } = about.database
  return (
    <Panel title={texts.server}>
      <div className={styles.stack}>
        <dl className={`${styles.facts} ${styles.wide}`}>
          <Fact name={texts.facts.health}>
            <Health />
          </Fact>
          <Fact name={texts.facts.version}>{about.version}</Fact>
          <Fact name={texts.facts.database}>{about.database.version}</Fact>
          <Fact name={texts.facts.node}>{about.node}</Fact>
          <Fact name={texts.facts.platform}>{about.platform}</Fact>
          <Fact name={texts.facts.host}>{texts.process(about.host, about.pid)}</Fact>
          <Fact name={texts.facts.started}>
            <TimeText at={about.started_at} as="moment" />
          </Fact>
          <Fact name={texts.facts.uptime}>
            {format.duration(Math.max(0, now - Date.parse(about.started_at)))}
          </Fact>
        </dl>
        <details className={styles.more}>
          <summary>{texts.migrations(migrations.length)}</summary>
          <ul>
            {migrations.map(({ name, applied_at }) => (
              <li key={name}>
                <code className="v-mono">{name}</code>{' '}
                <span className="v-soft">
                  <TimeText at={applied_at} as="short" />
                </span>
              </li>
            ))}
          </ul>
        </details>
      </div>
    </Panel>
  )
}

/** The readiness check that load balancers use. */
function Health() {
  const texts = useTexts(aboutTexts)
  const { data } = useQuery(readinessQuery)
  if (data === undefined) return <span className="v-soft">…</span>
  if (data.status === 'ok')
    return (
      <Badge tone="ok" icon="check">
        {texts.ready}
      </Badge>
    )
  return (
    <Badge tone="bad" icon="warn" more={data.draining ? texts.draining : partsDown(data, texts.checks)}>
      {texts.notReady}
    </Badge>
  )
}

function partsDown(
  { checks }: Readiness,
  names: Readonly<Record<keyof Readiness['checks'], string>>,
): string {
  const parts = Object.keys(names) as (keyof Readiness['checks'])[]
  return parts
    .filter((part) => checks[part].status === 'down')
    .map((part) => names[part])
    .join(', ')
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Licences() {
  const texts = useTexts(aboutTexts)
  return (
    <Panel title={texts.licences}>
      <p className={styles.note}>{texts.licencesText(LICENCES.length)}</p>
      <details className={styles.more}>
        <summary>{texts.packages}</summary>
        <ul>
          {LICENCES.map(({ name, version, licence }) => (
            <li key={`${name} ${version}`}>
              {name} <span className="v-soft">{`${version} · ${licence}`}</span>
            </li>
          ))}
        </ul>
      </details>
    </Panel>
  )
}
