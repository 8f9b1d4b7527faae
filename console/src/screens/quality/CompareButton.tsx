import { useIsMutating, useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { pipelineActions } from '../../api/pipeline.js'
import type { PipelineLine, Reconciliation } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import { useComparisonText } from '../../components/status/CheckFinding.js'
import { Tip } from '../../components/text/Tip.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { fleetQualityTexts } from './texts.js'

const keyOf = (id: string) => ['compare', id] as const

/** Compares all rows on request. The event that follows shows the result to all users. */
export function CompareButton({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(fleetQualityTexts)
  const { id, name } = line
  const notify = useNotify(line)
  const { mutate } = useMutation({
    mutationKey: keyOf(id),
    mutationFn: () => pipelineActions.compareRows(id),
    onSuccess: notify,
    onError: (error) => toastProblem(texts.refused(name), error),
  })
  // Not the state of this button: a row may be scrolled out of view and back during the comparison.
  const isBusy = useIsMutating({ mutationKey: keyOf(id) }) > 0
  return (
    <Tip label={texts.compareHint}>
      <ActionButton
        needs="operator"
        size="compact-sm"
        loading={isBusy}
        aria-label={`${texts.compareNow}: ${name}`}
        onClick={() => mutate()}
      >
        {texts.compareNow}
      </ActionButton>
    </Tip>
  )
}

function useNotify({ id, name, config_version }: PipelineLine): (result: Reconciliation) => void {
  const texts = useTexts(fleetQualityTexts)
  const { rows } = useTexts(shared)
  const describe = useComparisonText()
  return (result) => {
    const { matches, source, target, missing, extra, different } = result
    if (matches) return toastDone(texts.didMatch(name, rows(source.count)))
    const comparison = {
      ...{ at: '', duration_ms: 0, config_version, matches, on_their_way: 0, undecided: 0 },
      ...{ source_rows: source.count, target_rows: target.count },
      ...{ missing: missing?.count ?? 0, extra: extra?.count ?? 0, different: different?.count ?? 0 },
    }
    toastDone(
      texts.didDiffer(name, describe({ comparison, isDeep: true, isOutdated: false })),
      <Link to="/pipelines/$id/quality" params={{ id }} className="v-link">
        {texts.openName(name)}
      </Link>,
    )
  }
}
