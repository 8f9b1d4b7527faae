import { Link } from '@tanstack/react-router'
import { pipelineActions } from '../../api/pipeline.js'
import type { Pipeline, Reconciliation } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { qualityTexts } from './quality-texts.js'

interface Props {
  readonly pipeline: Pipeline
  readonly result: Reconciliation
  readonly onClose: () => void
}

/** More rows require typing the name. */
const MANY = 1_000

export function RepairDialog({ pipeline, result, onClose }: Props) {
  const texts = useTexts(qualityTexts)
  const { rows } = useTexts(shared)
  const removed = result.extra?.count ?? 0
  const written = (result.missing?.count ?? 0) + (result.different?.count ?? 0)
  const isGrave = removed > 0 || written > MANY
  const repair = async () => {
    const { rows: repaired, run_id: id } = await pipelineActions.repair(pipeline.id)
    if (id === null) return toastDone(texts.nothingToRepair)
    toastDone(
      texts.didRepair(repaired),
      <Link to="/runs/$id" params={{ id }}>
        {texts.openRun}
      </Link>,
    )
  }
  return (
    <ConfirmDialog
      title={texts.repairTitle(pipeline.name)}
      action={texts.repairDo}
      isDangerous={isGrave}
      {...(isGrave ? { nameToType: pipeline.name } : {})}
      onConfirm={repair}
      onClose={onClose}
    >
      <p className={styles.words}>{texts.repairText(rows(written), rows(removed))}</p>
    </ConfirmDialog>
  )
}
