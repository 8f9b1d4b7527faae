import { useMay } from '../../../api/session.js'
import { EmptyState } from '../../../components/layout/EmptyState.js'
import { useTexts } from '../../../i18n/texts.js'
import { usePipeline } from '../pipeline-context.js'
import { dataTexts } from './data-texts.js'
import { ProfilePanel } from './ProfilePanel.js'
import { RowsPanel } from './RowsPanel.js'

/** What is in the mart: its rows, and a profile of its columns. */
export function DataTab() {
  const texts = useTexts(dataTexts)
  const { pipeline } = usePipeline()
  const may = useMay('operator')
  if (!may)
    return (
      <EmptyState icon="table" title={texts.forbidden.title}>
        {texts.forbidden.text}
      </EmptyState>
    )
  return (
    <>
      <RowsPanel pipeline={pipeline} />
      <ProfilePanel pipeline={pipeline} />
    </>
  )
}
