import { useQuery } from '@tanstack/react-query'
import { sourcesQuery } from '../../api/sources.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { useTexts } from '../../i18n/texts.js'
import { SourcePanel } from './SourcePanel.js'
import { sourcesTexts } from './texts.js'

/** The databases whose changes are read from their write-ahead log. */
export function SourcesScreen() {
  const texts = useTexts(sourcesTexts)
  const { data, error, refetch } = useQuery(sourcesQuery)
  usePage({ title: [texts.title], path: [{ label: texts.title }] })
  if (data === undefined)
    return <WaitingPage title={texts.title} error={error} onRetry={refetch} lines={5} height={32} />
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      {error === null ? null : <ProblemCard error={error} onRetry={refetch} />}
      {data.length > 0 ? (
        data.map((source) => <SourcePanel key={source.connection} source={source} />)
      ) : (
        <EmptyState icon="sources" title={texts.empty.title}>
          {texts.empty.text}
        </EmptyState>
      )}
    </Page>
  )
}
