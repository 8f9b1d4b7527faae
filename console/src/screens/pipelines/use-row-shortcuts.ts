import type { PipelineLine } from '../../api/wire.js'
import { useRefusal } from '../../components/actions/ActionButton.js'
import { actionTexts } from '../../components/actions/action-texts.js'
import { toastRefused } from '../../components/actions/toast.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import type { RowKey } from '../../components/table/table-props.js'
import { useTexts } from '../../i18n/texts.js'
import type { BulkAction } from './BulkDialog.js'
import { pipelinesTexts } from './texts.js'

/** For the focused row: r runs, p pauses, . opens the menu. If rows are selected, r and p apply to them. */
export function useRowShortcuts(
  isAnyMarked: boolean,
  actOnSelected: (action: BulkAction) => void,
): readonly RowKey<PipelineLine>[] {
  const texts = useTexts(pipelinesTexts)
  const { failed } = useTexts(actionTexts)
  const refusal = useRefusal('operator')
  const actionsOf = usePipelineActions()
  const perform = (action: 'run' | 'pause') => (line: PipelineLine) => {
    const { refusal: own, onClick } = actionsOf(line)[action]
    const why = refusal ?? own
    if (why === null) onClick()
    else toastRefused(failed(line.name), why)
  }
  return [
    { keys: 'r', label: texts.runRow, run: isAnyMarked ? () => actOnSelected('run') : perform('run') },
    { keys: 'p', label: texts.pauseRow, run: isAnyMarked ? () => actOnSelected('pause') : perform('pause') },
    { keys: '.', label: texts.rowMenu, run: openMenu },
  ]
}

function openMenu({ id }: PipelineLine): void {
  document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"] [aria-haspopup="menu"]`)?.click()
}
