import { useQuery } from '@tanstack/react-query'
import { validationQuery } from '../../api/pipeline.js'
import type { Pipeline } from '../../api/wire.js'
import { Outlook } from '../../components/authoring/Outlook.js'
import { Panel } from '../../components/Panel.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { pipelineTexts } from './texts.js'

/** The last part of its page: validation asks the source, which takes as long as it takes, and may find a lot. */
export function OutlookPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(pipelineTexts)
  const { data, error, refetch } = useQuery(validationQuery(pipeline.id))
  return (
    <Panel title={texts.outlook}>
      {data !== undefined ? (
        <Outlook validation={data} />
      ) : error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={2} />
      )}
    </Panel>
  )
}
