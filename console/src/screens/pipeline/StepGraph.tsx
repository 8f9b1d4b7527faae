import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { validationQuery } from '../../api/pipeline.js'
import type { Pipeline, Validation } from '../../api/wire.js'
import { Badge } from '../../components/Badge.js'
import { Panel } from '../../components/Panel.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { FactList } from './FactList.js'
import { Findings } from './Findings.js'
import { ColumnList } from './PreviewTable.js'
import styles from './pipeline.module.css'
import { pipelineTexts } from './texts.js'

/** Where rows come from, what is done to them, and where they go. */
export function StepGraph({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(pipelineTexts)
  const { data, error, refetch } = useQuery(validationQuery(pipeline.id))
  return (
    <Panel
      title={texts.steps}
      actions={
        <span className={styles.stepActions}>
          {data === undefined ? null : <Verdict isValid={data.valid} />}
          <Link to="/lineage" search={{ node: `pipeline:${pipeline.id}` }} className="v-link">
            {texts.lineage}
          </Link>
        </span>
      }
    >
      <Steps pipeline={pipeline} />
      {data !== undefined ? (
        <HowItGoes validation={data} />
      ) : error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={2} />
      )}
    </Panel>
  )
}

export function Verdict({ isValid }: { readonly isValid: boolean }) {
  const texts = useTexts(pipelineTexts)
  return (
    <Badge tone={isValid ? 'ok' : 'bad'} icon={isValid ? 'check' : 'cross'}>
      {isValid ? texts.wouldStart : texts.wouldNotStart}
    </Badge>
  )
}

function Steps({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(pipelineTexts)
  const reader = pipeline.tasks.find(({ task_type }) => task_type === 'SQL')
  const transforms = pipeline.tasks.filter(({ task_type }) => task_type === 'PYTHON')
  const last = pipeline.tasks.at(-1)
  const keys = pipeline.key_columns
  const write = pipeline.mode === 'full' ? texts.writes[pipeline.full_strategy] : texts.writes.upsert
  return (
    <ol className={styles.steps}>
      <Step kind={texts.source} name={pipeline.source_connection ?? texts.mainDatabase}>
        {pipeline.source_type}
      </Step>
      <Step kind={texts.reader} name="SQL" isMono>
        {firstLine(reader?.body ?? pipeline.source_query)}
      </Step>
      {transforms.map(({ id, body }) => (
        <Step key={id} kind={texts.transform} name={body} isMono />
      ))}
      <Step kind={texts.target} name={last?.target_table ?? pipeline.target_table} isMono>
        {write}, {keys.length === 0 ? texts.keyOfTable : texts.keyOf(keys.join(', '))}
        {pipeline.deletes === 'sweep' ? `; ${texts.sweeps}` : ''}
      </Step>
    </ol>
  )
}

interface StepProps {
  readonly kind: string
  readonly name: string
  readonly isMono?: boolean
  readonly children?: ReactNode
}

function Step({ kind, name, isMono = false, children }: StepProps) {
  return (
    <li className={styles.step}>
      <span className={styles.kind}>{kind}</span>
      <strong className={isMono ? 'v-mono' : undefined}>{name}</strong>
      {children === undefined ? null : <span className={styles.stepMore}>{children}</span>}
    </li>
  )
}

function firstLine(query: string): string {
  const text = query.replace(/\s+/g, ' ').trim()
  return text.length <= 72 ? text : `${text.slice(0, 71)}…`
}

/** A word of the API in our words, or as it came when it is new to us. */
function told(words: Readonly<Record<string, string>>, word: string | null): string | null {
  return word === null ? null : (words[word] ?? word)
}

interface HowProps {
  readonly validation: Validation
  readonly isWithColumns?: boolean
}

export function HowItGoes({ validation, isWithColumns = false }: HowProps) {
  const texts = useTexts(pipelineTexts)
  const { strategy, way, guarantee, reads, columns, creates_target } = validation
  return (
    <div className={styles.stack}>
      <FactList
        facts={[
          [
            texts.strategy,
            <code key="strategy" className="v-mono">
              {strategy}
            </code>,
          ],
          [texts.way, told(texts.ways, way)],
          [texts.guarantee, told(texts.guarantees, guarantee)],
          [texts.reads, told(texts.readsAs, reads)],
          [texts.columns, columns.length === 0 ? null : columns.length],
        ]}
      />
      {creates_target ? <p className={styles.note}>{texts.createsTarget}</p> : null}
      <Findings validation={validation} />
      {isWithColumns ? <ColumnList columns={columns} /> : null}
    </div>
  )
}
