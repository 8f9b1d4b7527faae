import { Button } from '@mantine/core'
import { usePage } from '../../app/page.js'
import { appTexts } from '../../app/texts.js'
import { EmptyState } from '../../components/EmptyState.js'
import { useTexts } from '../../i18n/texts.js'

/** Stands where a screen is not built yet. */
export function PendingScreen() {
  const texts = useTexts(appTexts)
  usePage({ title: [texts.pending.title], path: [{ label: texts.pending.title }] })
  return (
    <EmptyState
      icon="info"
      title={texts.pending.title}
      actions={
        <Button component="a" href="/docs" variant="default">
          {texts.apiReference}
        </Button>
      }
    >
      {texts.pending.text}
    </EmptyState>
  )
}
