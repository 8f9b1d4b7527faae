import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { overviewQuery } from '../../api/pipelines.js'
import { useSession } from '../../api/session.js'
import type { Pipeline } from '../../api/wire.js'
import { useKept } from '../../components/authoring/kept.js'
import { BLANK, type Spec, type SpecField, specOf } from '../../components/authoring/spec.js'
import { suggestTarget, withSuggestions } from '../../components/authoring/suggest.js'
import { type FieldProblem, type Look, useLook } from '../../components/authoring/use-look.js'
import { useTexts } from '../../i18n/texts.js'
import { newTexts } from './texts.js'

interface Written {
  readonly spec: Spec
  /** Fields that somebody decided; the others follow from the query. */
  readonly decided: readonly SpecField[]
}

export interface NewPipeline {
  readonly spec: Spec
  readonly look: Look
  readonly isWritten: boolean
  change(some: Partial<Spec>): void
  startOver(): void
}

/** What is written of a pipeline that is not there yet, with what is suggested for the rest. */
export function useNew(original: Pipeline | null): NewPipeline {
  const { targets } = useSession()
  const [written, keep] = useKept<Written>(`new ${original?.id ?? ''}`)
  const { spec: own, decided } = written ?? beginWith(original, targets)
  // A key is suggested from the columns, which the first look tells; the second look has one.
  const [columns, setColumns] = useState<Look['columns']>([])
  const spec = withSuggestions(own, new Set(decided), { columns, targets })
  const look = useLook(spec)
  useEffect(() => setColumns(look.columns), [look.columns])
  const taken = useNameProblems(spec.name)
  return {
    spec,
    look: { ...look, problems: [...taken, ...look.problems] },
    isWritten: written !== null,
    change: (some) => {
      // A column that nobody chose yet may still be suggested.
      const fields = (Object.keys(some) as SpecField[]).filter((field) => some[field] !== null)
      keep({ spec: { ...own, ...some }, decided: [...new Set([...decided, ...fields])] })
    },
    startOver: () => keep(null),
  }
}

function beginWith(original: Pipeline | null, targets: readonly string[]): Written {
  if (original === null) return { spec: BLANK, decided: [] }
  const spec = specOf(original)
  const name = `${spec.name}_copy`
  const isTable = !/^\w+:/.test(spec.target_table)
  return {
    // Where the copy of an index or a folder may go, only its owner knows.
    spec: { ...spec, name, target_table: isTable ? suggestTarget(name, targets) : '' },
    decided: Object.keys(spec) as SpecField[],
  }
}

/** Told before it is tried: the list has all names. */
function useNameProblems(name: string): FieldProblem[] {
  const texts = useTexts(newTexts)
  const { data } = useQuery(overviewQuery())
  if (data === undefined || !data.items.some((each) => each.name === name)) return []
  return [
    {
      field: 'name',
      code: 'PIPELINE_NAME_TAKEN',
      message: texts.nameTaken(name),
      hint: texts.nameTakenHint,
      tone: 'bad',
    },
  ]
}
