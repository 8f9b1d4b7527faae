import { ActionIcon, Flex, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Batch } from '../../api/wire.js'
import { TimeText } from '../../components/text/TimeText.js'
import { rateOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'

interface Props {
  /** Null: the batch in the address is not loaded. */
  readonly batch: Batch | null
  readonly number: number
  readonly onClose: () => void
}

export function BatchDetail({ batch, number, onClose }: Props) {
  const { batches: texts } = useTexts(runTexts)
  return (
    <Flex
      component="section"
      className={styles.detail}
      direction="column"
      gap={8}
      aria-label={texts.name(number)}
    >
      <Group className={styles.detailHead} gap={0} wrap="nowrap" justify="space-between">
        <h3>{texts.name(number)}</h3>
        <ActionIcon size="md" aria-label={texts.close} onClick={onClose}>
          <Icon name="cross" />
        </ActionIcon>
      </Group>
      {batch === null ? <p className="v-soft">{texts.unknown(number)}</p> : <Facts batch={batch} />}
    </Flex>
  )
}

function Facts({ batch }: { readonly batch: Batch }) {
  const { batches: texts, progress, throughput } = useTexts(runTexts)
  const format = useFormat()
  const rate = rateOf(batch)
  const counts = [
    [progress.read, batch.rows_read],
    [progress.inserted, batch.rows_inserted],
    [progress.updated, batch.rows_updated],
    [progress.unchanged, batch.rows_unchanged],
    [progress.deleted, batch.rows_deleted],
    [progress.quarantined, batch.rows_quarantined],
    [progress.duplicate, batch.rows_duplicate],
  ] as const
  return (
    <Flex component="dl" className={styles.facts} rowGap={8} columnGap={24} wrap="wrap">
      {counts.map(([name, n]) => (
        <Fact key={name} name={name}>
          {format.number(n)}
        </Fact>
      ))}
      <Fact name={texts.took}>{format.duration(batch.duration_ms)}</Fact>
      <Phases batch={batch} />
      <Fact name={throughput.rate}>{rate === null ? '–' : format.compact(rate)}</Fact>
      <Fact name={texts.step}>{batch.step}</Fact>
      <Fact name={texts.attempt}>{batch.attempt}</Fact>
      <Fact name={texts.finished}>
        <TimeText at={batch.finished_at} />
      </Fact>
      <Fact name={texts.keyRange}>
        <Keys batch={batch} />
      </Fact>
    </Flex>
  )
}

/** Time by phase. Work that overlapped with the previous batch does not count. */
function Phases({ batch }: { readonly batch: Batch }) {
  const { batches: texts } = useTexts(runTexts)
  const format = useFormat()
  const { read_ms, transform_ms, write_ms, checkpoint_ms } = batch
  if (write_ms === null) return null
  return (
    <>
      {read_ms === null ? null : <Fact name={texts.phases.read}>{format.duration(read_ms)}</Fact>}
      {transform_ms === null ? null : (
        <Fact name={texts.phases.transform}>{format.duration(transform_ms)}</Fact>
      )}
      <Fact name={read_ms === null ? texts.phases.readAndWrite : texts.phases.write}>
        {format.duration(write_ms)}
      </Fact>
      {checkpoint_ms === null ? null : (
        <Fact name={texts.phases.checkpoint}>{format.duration(checkpoint_ms)}</Fact>
      )}
    </>
  )
}

function Keys({ batch: { first_key: first, last_key: last } }: { readonly batch: Batch }) {
  const { batches: texts } = useTexts(runTexts)
  if (first === null && last === null) return <span className="v-soft">{texts.noKeys}</span>
  return (
    <span className={`${styles.keys} v-mono`}>
      {first ?? '…'} → {last ?? '…'}
    </span>
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
