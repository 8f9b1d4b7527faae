import { Button, Flex, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { pipelineActions, pipelineKey, quarantineQuery } from '../../api/pipeline.js'
import { queryClient } from '../../api/query-client.js'
import { useSession } from '../../api/session.js'
import type { Pipeline, QuarantinedRow } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import grid from '../../components/layout/grid.module.css'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { Badge } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { qualityTexts } from './quality-texts.js'

const PAGE = 50
const MOST = 200

/** Rows rejected by the target, until they are replayed or discarded. */
export function QuarantinePanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(qualityTexts)
  const { line } = usePipeline()
  const [limit, setLimit] = useState(PAGE)
  const { data, error, refetch } = useQuery(quarantineQuery(pipeline.id, limit))
  const held = line?.quarantined ?? 0
  return (
    <Panel
      title={texts.quarantine}
      isFlush={data !== undefined && data.items.length > 0}
      actions={
        held === 0 ? null : (
          <Flex component="span" gap={8} align="center" wrap="wrap">
            <Badge tone="warn" icon="warn">
              {texts.held(held)}
            </Badge>
            <Link to="/quarantine" search={{ pipeline: pipeline.id }} className="v-link">
              {texts.openQuarantine}
            </Link>
          </Flex>
        )
      }
    >
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null ? (
          <Skeleton lines={3} />
        ) : null
      ) : data.items.length === 0 ? (
        <p className={styles.note}>{texts.quarantineEmpty}</p>
      ) : (
        <Rows rows={data.items} />
      )}
      {data === undefined || data.next_cursor === null || limit >= MOST ? null : (
        <Flex rowGap={4} columnGap={14} align="center" wrap="wrap" py={10} px={14}>
          <Button variant="default" onClick={() => setLimit(MOST)}>
            {texts.more}
          </Button>
        </Flex>
      )}
    </Panel>
  )
}

function Rows({ rows }: { readonly rows: readonly QuarantinedRow[] }) {
  const texts = useTexts(qualityTexts)
  return (
    <Scrollable className={grid.scroll} label={texts.quarantine}>
      <table className={`${grid.grid} ${grid.stacked}`}>
        <thead>
          <tr>
            <th scope="col">{texts.key}</th>
            <th scope="col">{texts.reason}</th>
            <th scope="col">{texts.refusedAt}</th>
            <th scope="col">{texts.row}</th>
            <th scope="col">{texts.actions}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.id} row={row} />
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}

function Row({ row }: { readonly row: QuarantinedRow }) {
  const texts = useTexts(qualityTexts)
  const { needsRole } = useTexts(shared)
  const { role } = useSession()
  const { pipeline_id: id, key } = row
  const [isAsked, ask] = useState(false)
  const settled = (done: string) => {
    toastDone(done)
    return queryClient.invalidateQueries({ queryKey: [...pipelineKey(id), 'quarantine'] })
  }
  const replay = () =>
    pipelineActions
      .replay(id, row.id)
      .then(() => settled(texts.didReplay(key)))
      .catch((error: unknown) => toastProblem(texts.refused(key), error))
  const discard = () => pipelineActions.discard(id, row.id).then(() => settled(texts.didDiscard(key)))
  return (
    <tr>
      <td className="v-mono">{key}</td>
      <td data-name={texts.reason}>
        {row.reason} {row.sqlstate === null ? null : <code className="v-mono v-soft">{row.sqlstate}</code>}
      </td>
      <td data-name={texts.refusedAt}>
        <TimeText at={row.refused_at} as="moment" />
      </td>
      <td>
        {row.row === null ? (
          <span className="v-soft">{needsRole('operator', role)}</span>
        ) : (
          <details>
            <summary>{texts.showRow}</summary>
            <ul className={`${grid.keys} v-mono`}>
              {Object.entries(row.row).map(([name, value]) => (
                <li key={name}>
                  {name}: {value ?? 'null'}
                </li>
              ))}
            </ul>
          </details>
        )}
      </td>
      <td>
        <Group gap={8}>
          <ActionButton needs="operator" icon="retry" size="compact-sm" onClick={() => void replay()}>
            {texts.replay}
          </ActionButton>
          <ActionButton needs="operator" icon="cross" size="compact-sm" onClick={() => ask(true)}>
            {texts.discard}
          </ActionButton>
        </Group>
        {isAsked ? (
          <ConfirmDialog
            title={texts.discardTitle}
            action={texts.discardDo}
            isDangerous
            onConfirm={discard}
            onClose={() => ask(false)}
          >
            {texts.discardText(key)}
          </ConfirmDialog>
        ) : null}
      </td>
    </tr>
  )
}
