import { actions } from '../../api/actions.js'
import type { PipelineLine } from '../../api/wire.js'
import { useRefusal } from '../../components/ActionButton.js'
import type { RowKey } from '../../components/table/table-props.js'
import { toastRefused } from '../../components/toast.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import type { BulkAction } from './BulkDialog.js'
import { act } from './RowActions.js'
import { pipelinesTexts } from './texts.js'

/** For the focused row: r runs, p pauses, . opens the menu. If rows are selected, r and p apply to them. */
export function useRowShortcuts(
  isAnyMarked: boolean,
  actOnSelected: (action: BulkAction) => void,
): readonly RowKey<PipelineLine>[] {
  const texts = useTexts(pipelinesTexts)
  const refusal = useRefusal('operator')
  const run = (line: PipelineLine) => {
    const { id, name, enabled } = line
    const why =
      refusal ?? (enabled ? null : texts.isDisabled) ?? (isActive(activityOf(line)) ? texts.isRunning : null)
    if (why === null) void act(() => actions.run(id), name, texts.didRun(name), texts)
    else toastRefused(texts.refused(name), why)
  }
  const pause = (line: PipelineLine) => {
    const { id, name, status } = line
    const why = refusal ?? (status === 'RUNNING' ? null : texts.isNotRunning)
    if (why === null) void act(() => actions.pause(id), name, texts.didPause(name), texts)
    else toastRefused(texts.refused(name), why)
  }
  return [
    { keys: 'r', label: texts.runRow, run: isAnyMarked ? () => actOnSelected('run') : run },
    { keys: 'p', label: texts.pauseRow, run: isAnyMarked ? () => actOnSelected('pause') : pause },
    { keys: '.', label: texts.rowMenu, run: openMenu },
  ]
}

function openMenu({ id }: PipelineLine): void {
  document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"] [aria-haspopup="menu"]`)?.click()
}
