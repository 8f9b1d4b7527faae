import { Drawer, Flex, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useSession } from '../../api/session.js'
import type { QuarantinedRow } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { Panel } from '../../components/layout/Panel.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { StatusBadge, useRowRefusals } from './cells.js'
import styles from './quarantine.module.css'
import { quarantineTexts } from './texts.js'

interface Props {
  readonly row: QuarantinedRow
  readonly onReplay: (row: QuarantinedRow) => void
  readonly onDiscard: (row: QuarantinedRow) => void
  readonly onClose: () => void
}

/** All details of a row, next to the list. */
export function RowDrawer({ row, onReplay, onDiscard, onClose }: Props) {
  const texts = useTexts(quarantineTexts)
  const refusals = useRowRefusals(row)
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={<span className={styles.drawerTitle}>{texts.row.title(row.key)}</span>}
      closeButtonProps={{ 'aria-label': texts.row.close }}
    >
      <Stack gap={16}>
        <section className={styles.why} aria-label={texts.row.reason}>
          <h3>{texts.row.reason}</h3>
          <p>{row.reason}</p>
        </section>
        <Facts row={row} />
        <Flex gap={8} wrap="wrap">
          <ActionButton needs="operator" icon="retry" refusal={refusals.replay} onClick={() => onReplay(row)}>
            {texts.replay}
          </ActionButton>
          <ActionButton
            needs="operator"
            icon="cross"
            refusal={refusals.discard}
            onClick={() => onDiscard(row)}
          >
            {texts.discardDots}
          </ActionButton>
        </Flex>
        <Values row={row} />
      </Stack>
    </Drawer>
  )
}

function Facts({ row }: { readonly row: QuarantinedRow }) {
  const { row: texts } = useTexts(quarantineTexts)
  return (
    <dl className={styles.facts}>
      <Fact name={texts.status}>
        <StatusBadge status={row.status} />
      </Fact>
      <Fact name={texts.pipeline}>
        <Link to="/pipelines/$id/quality" params={{ id: row.pipeline_id }} className="v-link">
          {row.pipeline_name}
        </Link>
      </Fact>
      <Fact name={texts.run}>
        <Link to="/runs/$id" params={{ id: row.run_id }} className="v-link v-mono">
          {row.run_id.slice(0, 8)}
        </Link>
      </Fact>
      <Fact name={texts.sqlstate}>
        <span className="v-mono">{row.sqlstate ?? texts.none}</span>
      </Fact>
      <Fact name={texts.refusedAt}>
        <TimeText at={row.refused_at} as="moment" />
      </Fact>
      {row.settled_at === null ? null : (
        <Fact name={texts.settledAt}>
          <TimeText at={row.settled_at} as="moment" />
        </Fact>
      )}
    </dl>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Values({ row }: { readonly row: QuarantinedRow }) {
  const { row: texts } = useTexts(quarantineTexts)
  const { needsRole } = useTexts(shared)
  const { role } = useSession()
  if (row.row === null) return <Panel title={texts.values}>{needsRole('operator', role)}</Panel>
  return (
    <Panel title={texts.values} isFlush>
      <table className={styles.values}>
        <thead className="v-heard-only">
          <tr>
            <th scope="col">{texts.column}</th>
            <th scope="col">{texts.value}</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(row.row).map(([column, value]) => (
            <tr key={column}>
              <th scope="row" className="v-mono">
                {column}
              </th>
              <td className="v-mono">{value ?? <span className="v-soft">NULL</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}
