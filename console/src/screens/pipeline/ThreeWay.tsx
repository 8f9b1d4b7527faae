import { Radio } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { versionsQuery } from '../../api/pipeline.js'
import type { Pipeline } from '../../api/wire.js'
import type { FieldMerge, MergeSide } from '../../components/authoring/three-way.js'
import grid from '../../components/layout/grid.module.css'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { asText, isLong } from '../../components/text/long-text.js'
import { TextDiff } from '../../components/text/TextDiff.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import review from './review.module.css'

interface Props {
  readonly base: Pipeline
  readonly latest: Pipeline
  readonly merge: readonly FieldMerge[]
  readonly choices: Readonly<Record<string, MergeSide>>
  readonly onChoose: (field: string, side: MergeSide) => void
}

/** The original version, the one saved in the meantime, and mine: each field is resolved separately. */
export function ThreeWay({ base, latest, merge, choices, onChoose }: Props) {
  const texts = useTexts(editTexts)
  const { field } = useTexts(shared)
  const names = [texts.base(base.config_version), texts.theirs(latest.config_version), texts.mine] as const
  return (
    <div className={styles.stack}>
      <SavedBy latest={latest} />
      <Scrollable className={grid.sheet} label={texts.threeWay}>
        <table className={`${review.merge} ${grid.stacked}`}>
          <thead>
            <tr>
              <th scope="col">{field}</th>
              {names.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {merge.map((each) => (
              <Line
                key={each.field}
                merge={each}
                names={names}
                choice={choices[each.field] ?? 'mine'}
                onChoose={(side) => onChoose(each.field, side)}
              />
            ))}
          </tbody>
        </table>
      </Scrollable>
      <LongTexts merge={merge} />
    </div>
  )
}

function SavedBy({ latest: { id, config_version } }: { readonly latest: Pipeline }) {
  const texts = useTexts(editTexts)
  const { data } = useQuery(versionsQuery(id, 20))
  const saved = data?.items.find(({ version }) => version === config_version)
  return (
    <p className={styles.words}>
      {texts.meanwhile(config_version)}{' '}
      {saved === undefined ? null : (
        <span className="v-soft">
          {saved.author}, <TimeText at={saved.at} as="moment" />
        </span>
      )}
    </p>
  )
}

interface LineProps {
  readonly merge: FieldMerge
  /** Column names: on a phone each value is shown below its own. */
  readonly names: readonly [string, string, string]
  readonly choice: MergeSide
  readonly onChoose: (side: MergeSide) => void
}

function Line({ merge: { field, base, theirs, mine, by }, names, choice, onChoose }: LineProps) {
  const texts = useTexts(editTexts)
  const isOpen = by === 'both'
  const kept: MergeSide = by === 'theirs' || by === 'agreed' ? 'theirs' : isOpen ? choice : 'mine'
  const pick = (side: MergeSide) =>
    isOpen ? (
      <Radio
        size="xs"
        name={`choice-${field}`}
        label={texts.take[side]}
        aria-label={texts.takeField(field, texts.take[side])}
        checked={choice === side}
        onChange={() => onChoose(side)}
      />
    ) : null
  return (
    <tr data-by={by}>
      <th scope="row">
        <span className="v-mono">{field}</span>
        <br />
        <span className="v-soft">{texts.by[by]}</span>
      </th>
      <td data-name={names[0]}>
        <Value value={base} />
      </td>
      <td data-name={names[1]} className={kept === 'theirs' ? review.chosen : undefined}>
        <Value value={theirs} />
        {pick('theirs')}
      </td>
      <td data-name={names[2]} className={kept === 'mine' ? review.chosen : undefined}>
        {by === 'theirs' ? <span className="v-soft">{texts.untouched}</span> : <Value value={mine} />}
        {pick('mine')}
      </td>
    </tr>
  )
}

function Value({ value }: { readonly value: unknown }) {
  const texts = useTexts(editTexts)
  const { notSet } = useTexts(shared)
  if (value === null || value === undefined || value === '') return <span className="v-soft">{notSet}</span>
  // Long texts are compared in a diff below.
  if (isLong(value)) return <span className="v-soft">{texts.lines(asText(value).split('\n').length)}</span>
  return <code className={`v-mono ${review.value}`}>{asText(value)}</code>
}

function LongTexts({ merge }: { readonly merge: readonly FieldMerge[] }) {
  const texts = useTexts(editTexts)
  const long = merge.filter(({ base, theirs, mine }) => [base, theirs, mine].some(isLong))
  return long.flatMap(({ field, base, theirs, mine, by }) => [
    by === 'mine' ? null : (
      <Changed key={`${field} 1`} title={texts.baseToTheirs(field)} from={base} to={theirs} />
    ),
    by === 'theirs' ? null : (
      <Changed key={`${field} 2`} title={texts.baseToMine(field)} from={base} to={mine} />
    ),
  ])
}

interface ChangedProps {
  readonly title: string
  readonly from: unknown
  readonly to: unknown
}

function Changed({ title, from, to }: ChangedProps) {
  return (
    <details open>
      <summary>{title}</summary>
      <div className={grid.sheet}>
        <TextDiff before={asText(from)} after={asText(to)} language="sql" label={title} />
      </div>
    </details>
  )
}
