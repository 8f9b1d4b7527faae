import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { OVERVIEW_KEY } from '../../api/pipelines.js'
import { queryClient } from '../../api/query-client.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { toastDone } from '../../components/actions/toast.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { CodeView } from '../../components/text/CodeView.js'
import { useTexts } from '../../i18n/texts.js'
import { EXAMPLE } from './example.js'
import styles from './import.module.css'
import { PlannedList, type Saved } from './PlannedList.js'
import { carryOut, type Planned, planAll } from './plan.js'
import { type Mistake, readYaml } from './read-yaml.js'
import { importTexts } from './texts.js'

/** Imports pipelines from files: parsed here, planned by the server, saved after review. */
export function ImportScreen() {
  const texts = useTexts(importTexts)
  const [text, write] = useState('')
  const plan = useMutation({ mutationFn: () => planAll(readYaml(text).pipelines) })
  const change = (next: string) => {
    write(next)
    plan.reset()
  }
  const { mistakes } = readYaml(text)
  usePage({
    title: [texts.title],
    path: [{ label: texts.pipelines, to: '/pipelines' }, { label: texts.title }],
  })
  return (
    <Page>
      <header className={styles.head}>
        <h1>{texts.title}</h1>
        <p className="v-soft">{texts.lead}</p>
      </header>
      <Panel title={texts.yaml} isFlush actions={<Sources onText={change} isEmpty={text === ''} />}>
        <div className={styles.editor}>
          <CodeView text={text} language="yaml" label={texts.yaml} onChange={change} />
        </div>
        <Mistakes mistakes={mistakes} />
      </Panel>
      <div>
        <Button
          variant="default"
          disabled={text.trim() === '' || mistakes.length > 0}
          loading={plan.isPending}
          onClick={() => plan.mutate()}
        >
          {texts.plan}
        </Button>
      </div>
      <Panel title={texts.planned}>
        {plan.error === null ? null : <ProblemCard error={plan.error} onRetry={() => plan.mutate()} />}
        {plan.data === undefined ? (
          <p className={styles.none}>{texts.notPlanned}</p>
        ) : (
          <Deciding key={plan.submittedAt} plan={plan.data} />
        )}
      </Panel>
    </Page>
  )
}

interface SourcesProps {
  readonly onText: (text: string) => void
  readonly isEmpty: boolean
}

function Sources({ onText, isEmpty }: SourcesProps) {
  const texts = useTexts(importTexts)
  const read = async (files: FileList | null) =>
    onText((await Promise.all([...(files ?? [])].map((file) => file.text()))).join('\n---\n'))
  return (
    <Group gap={8}>
      {isEmpty ? (
        <Button variant="subtle" size="compact-sm" onClick={() => onText(EXAMPLE)}>
          {texts.example}
        </Button>
      ) : null}
      <label className={styles.files}>
        {texts.choose}
        <input
          type="file"
          accept=".yaml,.yml"
          multiple
          onChange={({ currentTarget: { files } }) => void read(files)}
        />
      </label>
    </Group>
  )
}

function Mistakes({ mistakes }: { readonly mistakes: readonly Mistake[] }) {
  const { mistakes: texts } = useTexts(importTexts)
  if (mistakes.length === 0) return null
  return (
    <ul className={styles.mistakes} role="alert">
      {mistakes.map(({ kind, line, what }) => (
        <li key={`${kind} ${line} ${what}`}>{texts[kind](line, what)}</li>
      ))}
    </ul>
  )
}

/** One after another: a rejected pipeline does not prevent the others from being saved. */
function Deciding({ plan }: { readonly plan: readonly Planned[] }) {
  const texts = useTexts(importTexts)
  const [saved, setSaved] = useState<Saved>(new Map())
  const [isBusy, setBusy] = useState(false)
  const wanted = plan.filter(({ outcome }) => outcome === 'create' || outcome === 'update')
  const apply = async () => {
    setBusy(true)
    const results = new Map<string, string | Error>()
    for (const each of wanted) {
      results.set(each.written.name, await carryOut(each).catch((error: Error) => error))
      setSaved(new Map(results))
    }
    setBusy(false)
    const done = [...results.values()].filter((result) => typeof result === 'string').length
    if (done > 0) toastDone(texts.didApply(done))
    await queryClient.invalidateQueries({ queryKey: OVERVIEW_KEY })
  }
  return (
    <>
      <PlannedList plan={plan} saved={saved} />
      {saved.size > 0 && !isBusy ? null : (
        <ActionButton
          needs="admin"
          variant="filled"
          loading={isBusy}
          refusal={wanted.length === 0 ? texts.nothingToApply : null}
          onClick={() => void apply()}
        >
          {texts.apply(wanted.length)}
        </ActionButton>
      )}
    </>
  )
}
