import { Button, Group, Modal } from '@mantine/core'
import type { RowChoice } from '../../api/quarantine.js'
import type { QuarantinedRow, SettledRows } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { Badge } from '../../components/status/Badge.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './quarantine.module.css'
import { quarantineTexts } from './texts.js'
import { Runs } from './use-settling.js'

/** The rows to discard: some rows, or all of one pipeline or of all pipelines. */
export type Selection =
  | { readonly kind: 'rows'; readonly rows: readonly QuarantinedRow[] }
  | { readonly kind: 'all'; readonly total: number; readonly upTo: string; readonly pipeline: Named | null }

export interface Named {
  readonly id: string
  readonly name: string
}

export function choiceOf(selection: Selection): RowChoice {
  if (selection.kind === 'rows') return { row_ids: selection.rows.map(({ id }) => id) }
  return {
    up_to: selection.upTo,
    ...(selection.pipeline === null ? {} : { pipeline_id: selection.pipeline.id }),
  }
}

interface DiscardProps {
  readonly selection: Selection
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

export function DiscardDialog({ selection, onConfirm, onClose }: DiscardProps) {
  const texts = useTexts(quarantineTexts)
  const n = selection.kind === 'rows' ? selection.rows.length : selection.total
  return (
    <ConfirmDialog
      title={texts.discardTitle(n)}
      action={texts.discardTitle(n)}
      isDangerous
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p className={styles.words}>{texts.discardText(n)}</p>
      <ul className={styles.whose}>
        <Whose selection={selection} />
      </ul>
    </ConfirmDialog>
  )
}

/** The number of rows per pipeline. */
function Whose({ selection }: { readonly selection: Selection }) {
  const texts = useTexts(quarantineTexts)
  if (selection.kind === 'all')
    return (
      <li>
        {selection.pipeline === null
          ? `${texts.total(selection.total)} ${texts.discardFleet}`
          : texts.discardOf(selection.total, selection.pipeline.name)}
      </li>
    )
  const counts = new Map<string, number>()
  for (const { pipeline_name } of selection.rows)
    counts.set(pipeline_name, (counts.get(pipeline_name) ?? 0) + 1)
  return [...counts].map(([name, n]) => <li key={name}>{texts.discardOf(n, name)}</li>)
}

interface ResultProps {
  readonly settled: SettledRows
  readonly onClose: () => void
}

/** Lists each failure, so that none is hidden. */
export function ResultDialog({ settled, onClose }: ResultProps) {
  const texts = useTexts(quarantineTexts)
  const words = useTexts(shared)
  const why = (code: string) => (texts.refusals as Readonly<Record<string, string | undefined>>)[code] ?? code
  return (
    <Modal opened onClose={onClose} title={texts.resultTitle} size="md">
      <p role="status" className={styles.words}>
        {texts.result(settled.rows, settled.refused)}
      </p>
      <ul className={styles.results}>
        {settled.refusals.map(({ id, key, pipeline_name, code, detail }) => (
          <li key={id} title={detail}>
            <span className="v-mono">{key ?? id}</span> <span className="v-soft">{pipeline_name}</span>
            <Badge tone="warn" icon="warn">
              {why(code)}
            </Badge>
          </li>
        ))}
      </ul>
      <Runs settled={settled} />
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={onClose} data-autofocus>
          {words.close}
        </Button>
      </Group>
    </Modal>
  )
}
