import { useQuery } from '@tanstack/react-query'
import { validationQuery } from '../../api/pipeline.js'
import type { Pipeline } from '../../api/wire.js'
import { ValidationSummary } from '../../components/authoring/ValidationSummary.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { pipelineTexts } from './texts.js'

/** The last part of its page: validation queries the source, which may be slow, and its result may be long. */
export function ValidationPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(pipelineTexts)
  const { data, error, refetch } = useQuery(validationQuery(pipeline.id))
  return (
    <Panel title={texts.validation}>
      {data !== undefined ? (
        <ValidationSummary validation={data} />
      ) : error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={2} />
      )}
    </Panel>
  )
}
