import { QueryBench } from '../../components/authoring/QueryBench.js'
import { useEdit } from '../../components/authoring/use-edit.js'
import { useLook } from '../../components/authoring/use-look.js'
import { usePipeline } from './pipeline-context.js'

export function SqlTab() {
  const { pipeline } = usePipeline()
  const { spec, change } = useEdit(pipeline)
  const look = useLook(spec)
  return <QueryBench spec={spec} look={look} onChange={change} />
}
