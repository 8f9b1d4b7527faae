import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight'
import '@mantine/spotlight/styles.layer.css'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { overviewQuery } from '../../api/pipelines.js'
import { useMay } from '../../api/session.js'
import type { PipelineLine } from '../../api/wire.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { router } from '../router-handle.js'
import { PLACES } from '../shell/Rail.js'
import { appTexts } from '../texts.js'
import { paletteSwitch } from './open-palette.js'

/** The command palette: pages and actions by part of their name. */
export function Palette() {
  const texts = useTexts(appTexts)
  const isOpen = paletteSwitch.use()
  const { data } = useQuery({ ...overviewQuery(), enabled: isOpen })
  const mayRun = useMay('operator')
  const actionsOf = usePipelineActions()
  useEffect(() => {
    if (isOpen) spotlight.open()
  }, [isOpen])
  const pipelines = data?.items ?? []
  return (
    <Spotlight
      shortcut={null}
      onSpotlightClose={() => paletteSwitch.set(false)}
      nothingFound={texts.palette.nothing}
      searchProps={{
        placeholder: texts.search,
        leftSection: <Icon name="search" />,
        'aria-label': texts.search,
      }}
      limit={12}
      scrollable
      highlightQuery
      actions={[
        {
          group: texts.palette.pages,
          actions: PLACES.map(({ to, icon, key }) => goTo(to, texts.nav[key], icon)),
        },
        { group: texts.palette.pipelines, actions: pipelines.map(openPipeline) },
        {
          group: texts.palette.actions,
          actions: mayRun
            ? pipelines.map((line) =>
                runPipeline(line, texts.palette.run(line.name), actionsOf(line).run.onClick),
              )
            : [],
        },
      ]}
    />
  )
}

function goTo(to: string, label: string, icon: Parameters<typeof Icon>[0]['name']): SpotlightActionData {
  return { id: to, label, leftSection: <Icon name={icon} />, onClick: () => void router().navigate({ to }) }
}

function openPipeline({ id, name, target_table }: PipelineLine): SpotlightActionData {
  return {
    id,
    label: name,
    description: target_table,
    leftSection: <Icon name="pipelines" />,
    onClick: () => void router().navigate({ to: '/pipelines/$id/overview', params: { id } }),
  }
}

function runPipeline({ id }: PipelineLine, label: string, onClick: () => void): SpotlightActionData {
  return { id: `run ${id}`, label, leftSection: <Icon name="play" />, onClick }
}
