import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { overviewQuery } from '../../api/pipelines.js'
import { useSession } from '../../api/session.js'
import type { Pipeline } from '../../api/wire.js'
import { BLANK, type Spec, type SpecField, specOf } from '../../components/authoring/spec.js'
import { suggestTarget, withSuggestions } from '../../components/authoring/suggest.js'
import {
  type FieldProblem,
  type Inspection,
  useInspection,
} from '../../components/authoring/use-inspection.js'
import { useUnsaved } from '../../components/authoring/use-unsaved.js'
import { useTexts } from '../../i18n/texts.js'
import { newTexts } from './texts.js'

interface Written {
  readonly spec: Spec
  /** Fields set by the user; the others follow from the query. */
  readonly decided: readonly SpecField[]
}

export interface NewPipeline {
  readonly spec: Spec
  readonly inspection: Inspection
  readonly isWritten: boolean
  change(some: Partial<Spec>): void
  startOver(): void
}

/** The draft of a new pipeline, with suggestions for empty fields. */
export function useNew(original: Pipeline | null): NewPipeline {
  const { targets } = useSession()
  const [written, keep] = useUnsaved<Written>(`new ${original?.id ?? ''}`)
  const { spec: own, decided } = written ?? beginWith(original, targets)
  // The key is suggested from the columns, which the first validation returns.
  const [columns, setColumns] = useState<Inspection['columns']>([])
  const spec = withSuggestions(own, new Set(decided), { columns, targets })
  const inspection = useInspection(spec)
  useEffect(() => setColumns(inspection.columns), [inspection.columns])
  const taken = useNameProblems(spec.name)
  return {
    spec,
    inspection: { ...inspection, problems: [...taken, ...inspection.problems] },
    isWritten: written !== null,
    change: (some) => {
      // A column that is not set yet may still be suggested.
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
    // The target of a copied index or folder cannot be guessed.
    spec: { ...spec, name, target_table: isTable ? suggestTarget(name, targets) : '' },
    decided: Object.keys(spec) as SpecField[],
  }
}

/** Checked before submitting: the list has all names. */
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
