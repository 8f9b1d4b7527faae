import { Button, Group, Modal } from '@mantine/core'
import type { RowChoice } from '../../api/quarantine.js'
import type { QuarantinedRow, SettledRows } from '../../api/wire.js'
import { Badge } from '../../components/Badge.js'
import { ConfirmDialog } from '../../components/ConfirmDialog.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './quarantine.module.css'
import { quarantineTexts } from './texts.js'
import { Runs } from './use-settling.js'

/** What somebody is about to give up: some rows, or all of a pipeline or of the fleet. */
export type Wish =
  | { readonly kind: 'rows'; readonly rows: readonly QuarantinedRow[] }
  | { readonly kind: 'all'; readonly total: number; readonly upTo: string; readonly pipeline: Named | null }

export interface Named {
  readonly id: string
  readonly name: string
}

export function choiceOf(wish: Wish): RowChoice {
  if (wish.kind === 'rows') return { row_ids: wish.rows.map(({ id }) => id) }
  return { up_to: wish.upTo, ...(wish.pipeline === null ? {} : { pipeline_id: wish.pipeline.id }) }
}

interface DiscardProps {
  readonly wish: Wish
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

export function DiscardDialog({ wish, onConfirm, onClose }: DiscardProps) {
  const texts = useTexts(quarantineTexts)
  const n = wish.kind === 'rows' ? wish.rows.length : wish.total
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
        <Whose wish={wish} />
      </ul>
    </ConfirmDialog>
  )
}

/** How many rows of whom. */
function Whose({ wish }: { readonly wish: Wish }) {
  const texts = useTexts(quarantineTexts)
  if (wish.kind === 'all')
    return (
      <li>
        {wish.pipeline === null
          ? `${texts.total(wish.total)} ${texts.discardFleet}`
          : texts.discardOf(wish.total, wish.pipeline.name)}
      </li>
    )
  const counts = new Map<string, number>()
  for (const { pipeline_name } of wish.rows) counts.set(pipeline_name, (counts.get(pipeline_name) ?? 0) + 1)
  return [...counts].map(([name, n]) => <li key={name}>{texts.discardOf(n, name)}</li>)
}

interface ResultProps {
  readonly settled: SettledRows
  readonly onClose: () => void
}

/** One that is refused does not hide behind those that worked. */
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
