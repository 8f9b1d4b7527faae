import { Flex } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { validationQuery } from '../../api/pipeline.js'
import type { Pipeline } from '../../api/wire.js'
import { ValidityBadge } from '../../components/authoring/ValidationSummary.js'
import { Panel } from '../../components/layout/Panel.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { pipelineTexts } from './texts.js'

/** Source, reader, transforms and target. */
export function StepGraph({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(pipelineTexts)
  const { data } = useQuery(validationQuery(pipeline.id))
  return (
    <Panel
      title={texts.steps}
      actions={
        <Flex component="span" className={styles.stepActions} gap={14} justify="flex-end" align="center">
          {data === undefined ? null : <ValidityBadge isValid={data.valid} />}
          <Link to="/lineage" search={{ node: `pipeline:${pipeline.id}` }} className="v-link">
            {texts.lineage}
          </Link>
        </Flex>
      }
    >
      <Steps pipeline={pipeline} />
    </Panel>
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
      {reader === undefined && pipeline.source_table !== null ? (
        <Step kind={texts.reader} name={pipeline.source_table} isMono>
          {pipeline.source_columns.join(', ') || texts.allColumns}
        </Step>
      ) : (
        <Step kind={texts.reader} name="SQL" isMono>
          {firstLine(reader?.body ?? pipeline.source_query ?? '')}
        </Step>
      )}
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
    <Flex component="li" className={styles.step} direction="column" gap={2}>
      <span className={styles.kind}>{kind}</span>
      <strong className={isMono ? 'v-mono' : undefined}>{name}</strong>
      {children === undefined ? null : <span className={styles.stepMore}>{children}</span>}
    </Flex>
  )
}

function firstLine(query: string): string {
  const text = query.replace(/\s+/g, ' ').trim()
  return text.length <= 72 ? text : `${text.slice(0, 71)}…`
}
