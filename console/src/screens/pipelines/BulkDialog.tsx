import { Button, Flex, Group, Modal } from '@mantine/core'
import { useState } from 'react'
import { actions } from '../../api/actions.js'
import { asProblem } from '../../api/problem.js'
import type { PipelineLine } from '../../api/wire.js'
import { Badge } from '../../components/status/Badge.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipelines.module.css'
import { pipelinesTexts } from './texts.js'

export type BulkAction = 'run' | 'pause' | 'cancel'
type Result = { readonly kind: 'ok' | 'skipped' } | { readonly kind: 'refused'; readonly why: string }

/** Requests in parallel. */
const ABREAST = 4

interface Props {
  readonly action: BulkAction
  readonly lines: readonly PipelineLine[]
  readonly onClose: () => void
}

/** Shows the count, the list and the result of each item, so that no failure is hidden. */
export function BulkDialog({ action, lines, onClose }: Props) {
  const texts = useTexts(pipelinesTexts)
  const words = useTexts(shared)
  const [results, setResults] = useState<ReadonlyMap<string, Result>>(new Map())
  const [state, setState] = useState<'asking' | 'busy' | 'done'>('asking')
  const start = async () => {
    setState('busy')
    await eachAbreast(lines, async (line) => {
      const result = await attempt(action, line)
      setResults((known) => new Map(known).set(line.id, result))
    })
    setState('done')
  }
  const refused = [...results.values()].filter(({ kind }) => kind === 'refused').length
  return (
    <Modal opened onClose={onClose} title={texts.bulk[action](lines.length)} size="md">
      <Flex component="ul" className={styles.results} direction="column" gap={1}>
        {lines.map(({ id, name }) => (
          <li key={id}>
            <span>{name}</span>
            <ResultBadge result={results.get(id) ?? null} isAsked={state !== 'asking'} />
          </li>
        ))}
      </Flex>
      <p role="status">{state === 'done' ? texts.bulk.result(results.size - refused, refused) : null}</p>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {state === 'done' ? words.close : words.cancel}
        </Button>
        {state === 'done' ? null : (
          <Button loading={state === 'busy'} onClick={() => void start()} data-autofocus>
            {texts.bulk[action](lines.length)}
          </Button>
        )}
      </Group>
    </Modal>
  )
}

function ResultBadge({ result, isAsked }: { readonly result: Result | null; readonly isAsked: boolean }) {
  const texts = useTexts(pipelinesTexts)
  if (!isAsked) return null
  if (result === null)
    return (
      <Badge tone="rest" icon="clock">
        {texts.bulk.waiting}
      </Badge>
    )
  if (result.kind === 'refused') return <p className={styles.warn}>{result.why}</p>
  return (
    <Badge tone={result.kind === 'ok' ? 'ok' : 'rest'} icon={result.kind === 'ok' ? 'check' : 'dash'}>
      {texts.bulk[result.kind]}
    </Badge>
  )
}

async function attempt(action: BulkAction, line: PipelineLine): Promise<Result> {
  try {
    if (action === 'cancel') {
      if (line.current_run === null) return { kind: 'skipped' }
      await actions.cancel(line.current_run.id)
    } else await actions[action](line.id)
    return { kind: 'ok' }
  } catch (error) {
    const { detail, hint } = asProblem(error).problem
    return { kind: 'refused', why: `${detail} ${hint}` }
  }
}

async function eachAbreast<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: ABREAST }, worker))
}
