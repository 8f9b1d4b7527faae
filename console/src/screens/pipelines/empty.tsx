import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { useTexts } from '../../i18n/texts.js'
import { pipelinesTexts } from './texts.js'

export function NoPipelines() {
  const texts = useTexts(pipelinesTexts)
  return (
    <EmptyState
      icon="pipelines"
      title={texts.empty.title}
      actions={
        <>
          <Button component={Link} to="/pipelines/new">
            {texts.create}
          </Button>
          <Button component={Link} to="/pipelines/import" variant="default">
            {texts.importYaml}
          </Button>
        </>
      }
    >
      {texts.empty.text}
      <br />
      <span className="v-mono">{texts.empty.import}</span>
    </EmptyState>
  )
}

export function NothingMatches() {
  const texts = useTexts(pipelinesTexts)
  return (
    <EmptyState icon="search" title={texts.none.title} link={{ to: '/pipelines', label: texts.none.clear }}>
      {texts.none.text}
    </EmptyState>
  )
}
