import { ActionIcon, Flex, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { tasksQuery } from '../../api/authoring.js'
import type { TaskList } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon, type IconName } from '../../theme/icons.js'
import { Panel } from '../layout/Panel.js'
import { ProblemCard } from '../layout/ProblemCard.js'
import styles from './authoring.module.css'
import { FieldProblems, type FieldsProps } from './field-parts.js'
import { fieldTexts } from './field-texts.js'
import { stepsOf, withSteps } from './spec.js'

/** The functions of the task plan, in order. */
export function StepFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const { data, error, refetch } = useQuery(tasksQuery)
  const steps = stepsOf(spec)
  const change = (next: readonly string[]) => onChange(withSteps(spec, next))
  return (
    <Panel title={texts.plan}>
      <div className={styles.stack}>
        <p className={styles.note}>{texts.planHint}</p>
        {steps.length === 0 ? null : (
          <Flex component="ol" className={styles.steps} direction="column" gap={8}>
            {steps.map((name, place) => (
              <Step
                // biome-ignore lint/suspicious/noArrayIndexKey: a function may occur twice in a plan; its position identifies it.
                key={`${place} ${name}`}
                name={name}
                task={data?.items.find((each) => each.name === name)}
                problems={
                  // The first task is the query.
                  <FieldProblems problems={inspection.problems} field={`tasks.${place + 1}`} />
                }
                onUp={place === 0 ? null : () => change(moved(steps, place, -1))}
                onDown={place === steps.length - 1 ? null : () => change(moved(steps, place, 1))}
                onRemove={() => change(steps.toSpliced(place, 1))}
              />
            ))}
          </Flex>
        )}
        {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
        {data === undefined ? null : <Choice list={data} onAdd={(name) => change([...steps, name])} />}
      </div>
    </Panel>
  )
}

function moved(steps: readonly string[], place: number, by: number): string[] {
  return steps.toSpliced(place, 1).toSpliced(place + by, 0, steps[place]!)
}

interface StepProps {
  readonly name: string
  readonly task: TaskList['items'][number] | undefined
  readonly problems: ReactNode
  readonly onUp: (() => void) | null
  readonly onDown: (() => void) | null
  readonly onRemove: () => void
}

function Step({ name, task, problems, onUp, onDown, onRemove }: StepProps) {
  const texts = useTexts(fieldTexts)
  const button = (icon: IconName, label: string, onClick: (() => void) | null) => (
    <ActionIcon aria-label={label} disabled={onClick === null} onClick={() => onClick?.()}>
      <Icon name={icon} size={14} />
    </ActionIcon>
  )
  return (
    <Flex component="li" className={styles.step} rowGap={4} columnGap={8} align="center" wrap="wrap">
      <div>
        <strong className="v-mono">{name}</strong>
        {task === undefined ? null : <span className="v-soft"> {firstLine(task.doc) || task.language}</span>}
        {problems}
      </div>
      {button('up', texts.up(name), onUp)}
      {button('down', texts.down(name), onDown)}
      {button('cross', texts.remove(name), onRemove)}
    </Flex>
  )
}

function Choice({ list, onAdd }: { readonly list: TaskList; readonly onAdd: (name: string) => void }) {
  const texts = useTexts(fieldTexts)
  return (
    <>
      {list.items.length === 0 ? (
        <p className={styles.note}>{texts.noTasks}</p>
      ) : (
        <Select
          aria-label={texts.addStep}
          placeholder={texts.addStep}
          data={list.items.map(({ name, doc, language }) => ({
            value: name,
            label: `${name}: ${firstLine(doc) || language}`,
          }))}
          value={null}
          searchable
          onChange={(name) => name !== null && onAdd(name)}
        />
      )}
      {list.problems.length === 0 ? null : (
        <details>
          <summary>{texts.broken}</summary>
          <Flex component="ul" className={styles.fieldProblems} direction="column" gap={4}>
            {list.problems.map(({ file, message }) => (
              <li key={`${file} ${message}`}>
                <code className="v-mono">{file}</code> {message}
              </li>
            ))}
          </Flex>
        </details>
      )}
    </>
  )
}

function firstLine(doc: string): string {
  return doc.split('\n')[0]!.trim()
}
