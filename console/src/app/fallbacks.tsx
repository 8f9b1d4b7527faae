import type { ErrorComponentProps } from '@tanstack/react-router'
import { EmptyState } from '../components/layout/EmptyState.js'
import { ProblemCard } from '../components/layout/ProblemCard.js'
import { useTexts } from '../i18n/texts.js'
import { usePage } from './page.js'
import { Page } from './shell/Page.js'
import { appTexts } from './texts.js'

export function NotFound() {
  const texts = useTexts(appTexts)
  usePage({ title: [texts.notFound.title], path: [{ label: texts.notFound.title }] })
  return (
    <EmptyState
      icon="search"
      title={texts.notFound.title}
      link={{ to: '/pipelines', label: texts.notFound.back, isMain: true }}
    >
      {texts.notFound.text}
    </EmptyState>
  )
}

export function ScreenFailed({ error, reset }: ErrorComponentProps) {
  return (
    <Page>
      <ProblemCard error={error} onRetry={reset} />
    </Page>
  )
}
