import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { pipelineActions } from '../../api/pipeline.js'
import { ApiProblem } from '../../api/problem.js'
import { useMay, useSession } from '../../api/session.js'
import type { Finding, Validation } from '../../api/wire.js'
import { BLANK, queryOf, type Spec, toInput } from './spec.js'
import { suggestTarget } from './suggest.js'

/** Long enough that nobody is asked about half a word. */
const PAUSE_MS = 500

export interface FieldProblem extends Pick<Finding, 'field' | 'code' | 'message' | 'hint'> {
  readonly tone: 'bad' | 'warn'
}

export interface Look {
  /** Null: there is no query yet, or fields are wrong so that nothing can be looked at. */
  readonly validation: Validation | null
  readonly problems: readonly FieldProblem[]
  /** Of the last text that could be read: choices do not vanish with a slip of the pen. */
  readonly columns: Validation['columns']
  /** What is told is about an older text. */
  readonly isBehind: boolean
  readonly error: unknown
  readonly isWhole: boolean
  /** Looks again, also at what takes reading rows. */
  lookWhole(): void
}

/** Validates while somebody writes, after each pause. */
export function useLook(spec: Spec): Look {
  const { targets } = useSession()
  const [asked] = useDebouncedValue(spec, PAUSE_MS)
  const text = JSON.stringify(toInput(asked))
  const [whole, setWhole] = useState<string | null>(null)
  const isWhole = whole === text
  // To check a query is to execute parts of it, and a viewer may not have any query executed.
  const mayLook = useMay('operator')
  const isOn = mayLook && queryOf(asked).trim() !== '' && asked.name !== '' && asked.target_table !== ''
  const { data, error, isFetching } = useQuery({
    queryKey: ['look', isWhole ? 'whole' : 'quick', text],
    queryFn: () => look(asked, { isQuick: !isWhole, targets }),
    enabled: isOn,
    retry: false,
    staleTime: 60_000,
    gcTime: 60_000,
  })
  const seen = isOn ? (data ?? null) : null
  const columns = useLast(seen?.columns)
  return {
    validation: seen?.validation ?? null,
    problems: seen?.problems ?? [],
    columns,
    isBehind: isOn && (isFetching || JSON.stringify(toInput(spec)) !== text),
    error: isOn ? error : null,
    isWhole: isWhole && !isFetching,
    lookWhole: () => setWhole(JSON.stringify(toInput(spec))),
  }
}

interface Seen extends Pick<Look, 'problems' | 'columns' | 'validation'> {}

interface Manner {
  readonly isQuick: boolean
  readonly targets: readonly string[]
}

/** Fields that cannot be read are refused by the API; whoever writes them sees one list of problems. */
async function look(spec: Spec, { isQuick, targets }: Manner): Promise<Seen> {
  try {
    const validation = await pipelineActions.validate(toInput(spec), isQuick)
    return { validation, problems: problemsOf(validation), columns: validation.columns }
  } catch (error) {
    const mistakes = error instanceof ApiProblem ? error.problem.errors : undefined
    if (mistakes === undefined) throw error
    const problems = mistakes.map((each) => ({ ...each, hint: '', tone: 'bad' as const }))
    return { validation: null, problems, columns: await columnsOf(spec, targets) }
  }
}

/** The query alone, as if everything else were in order: whoever has to choose a column must see them. */
async function columnsOf(spec: Spec, targets: readonly string[]): Promise<Validation['columns']> {
  const { source_connection } = spec
  const target_table = suggestTarget('draft', targets)
  const alone = { ...BLANK, name: 'draft', source_connection, source_query: queryOf(spec), target_table }
  return pipelineActions.validate(toInput(alone), true).then(
    ({ columns }) => columns,
    () => [],
  )
}

function problemsOf({ errors, warnings }: Validation): FieldProblem[] {
  return [
    ...errors.map((finding) => ({ ...finding, tone: 'bad' as const })),
    ...warnings.map((finding) => ({ ...finding, tone: 'warn' as const })),
  ]
}

const NONE: Validation['columns'] = []

function useLast(columns: Validation['columns'] | undefined): Validation['columns'] {
  const [last, keep] = useState(NONE)
  useEffect(() => {
    if (columns !== undefined && columns.length > 0) keep(columns)
  }, [columns])
  return columns !== undefined && columns.length > 0 ? columns : last
}
