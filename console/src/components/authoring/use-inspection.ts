import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { pipelineActions } from '../../api/pipeline.js'
import { ApiProblem } from '../../api/problem.js'
import { useMay, useSession } from '../../api/session.js'
import type { Finding, Validation } from '../../api/wire.js'
import { BLANK, queryOf, type Spec, toInput } from './spec.js'
import { suggestTarget } from './suggest.js'

/** Long enough to not validate incomplete words. */
const PAUSE_MS = 500

export interface FieldProblem extends Pick<Finding, 'field' | 'code' | 'message' | 'hint'> {
  readonly tone: 'bad' | 'warn'
}

export interface Inspection {
  /** Null: no query yet, or invalid fields prevent the validation. */
  readonly validation: Validation | null
  readonly problems: readonly FieldProblem[]
  /** Of the last valid query: choices do not vanish with a typing error. */
  readonly columns: Validation['columns']
  /** The result belongs to an older draft. */
  readonly isBehind: boolean
  readonly error: unknown
  readonly isWhole: boolean
  /** Validates again, including checks that read rows. */
  inspectFully(): void
}

/** Validates a draft after each pause in typing. */
export function useInspection(spec: Spec): Inspection {
  const { targets } = useSession()
  const [asked] = useDebouncedValue(spec, PAUSE_MS)
  const text = JSON.stringify(toInput(asked))
  const [whole, setWhole] = useState<string | null>(null)
  const isWhole = whole === text
  // Validation executes parts of the query, which viewers may not do.
  const mayInspect = useMay('operator')
  const isOn = mayInspect && queryOf(asked).trim() !== '' && asked.name !== '' && asked.target_table !== ''
  const { data, error, isFetching } = useQuery({
    queryKey: ['inspection', isWhole ? 'whole' : 'quick', text],
    queryFn: () => inspect(asked, { isQuick: !isWhole, targets }),
    enabled: isOn,
    retry: false,
    staleTime: 60_000,
    gcTime: 60_000,
  })
  const result = isOn ? (data ?? null) : null
  const columns = useLast(result?.columns)
  return {
    validation: result?.validation ?? null,
    problems: result?.problems ?? [],
    columns,
    isBehind: isOn && (isFetching || JSON.stringify(toInput(spec)) !== text),
    error: isOn ? error : null,
    isWhole: isWhole && !isFetching,
    inspectFully: () => setWhole(JSON.stringify(toInput(spec))),
  }
}

interface Result extends Pick<Inspection, 'problems' | 'columns' | 'validation'> {}

interface Options {
  readonly isQuick: boolean
  readonly targets: readonly string[]
}

/** The API rejects malformed fields; they appear in the same list of problems. */
async function inspect(spec: Spec, { isQuick, targets }: Options): Promise<Result> {
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

/** Validates the query alone, so that columns can be selected while other fields are invalid. */
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
