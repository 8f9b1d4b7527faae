import { useState } from 'react'
import { OVERVIEW_KEY } from '../../api/pipelines.js'
import { queryClient } from '../../api/query-client.js'
import type { Overview } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import type { LiveEvent } from '../../live/event.js'
import { useLiveEvents } from '../../live/live.js'
import { appTexts } from '../texts.js'

/** Announces starts, ends and failures to screen readers. Not progress, which would never stop. */
export function Announcer() {
  const texts = useTexts(appTexts)
  const [announcement, announce] = useState('')
  useLiveEvents((events) => {
    const news = events.flatMap((event) => sentence(event, texts.announcements))
    if (news.length > 0) announce(news.length > 3 ? texts.announcements.many(news.length) : news.join('. '))
  })
  return (
    <div className="v-heard-only" aria-live="polite" role="status" data-announcer>
      {announcement}
    </div>
  )
}

function sentence(event: LiveEvent, texts: (typeof appTexts)['en']['announcements']): string[] {
  if (event.kind !== 'run.status' || event.status === 'REQUESTED') return []
  const name = nameOf(event.pipeline_id)
  if (event.status !== 'RUNNING') return [texts[event.status](name)]
  return event.attempt <= 1 && event.batches === 0 && !event.cancel_requested ? [texts.started(name)] : []
}

function nameOf(pipelineId: string): string {
  const lists = queryClient.getQueriesData<Overview>({ queryKey: OVERVIEW_KEY })
  const line = lists.flatMap(([, data]) => data?.items ?? []).find(({ id }) => id === pipelineId)
  return line?.name ?? pipelineId.slice(0, 8)
}
