import { QueryBench } from '../../components/authoring/QueryBench.js'
import { useEdit } from '../../components/authoring/use-edit.js'
import { useInspection } from '../../components/authoring/use-inspection.js'
import { usePipeline } from './pipeline-context.js'

export function SqlTab() {
  const { pipeline } = usePipeline()
  const { spec, change } = useEdit(pipeline)
  const inspection = useInspection(spec)
  return <QueryBench spec={spec} inspection={inspection} onChange={change} />
}
