import { Button, Flex } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { versionsQuery } from '../../api/pipeline.js'
import type { Pipeline, PipelineVersion } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import grid from '../../components/layout/grid.module.css'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { Badge } from '../../components/status/Badge.js'
import { DiffView } from '../../components/text/DiffView.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { RestoreDialog } from './RestoreDialog.js'

const PAGE = 20
const MOST = 200

export function VersionsTab() {
  const texts = useTexts(editTexts)
  const { pipeline } = usePipeline()
  const [limit, setLimit] = useState(PAGE)
  const [asked, ask] = useState<number | null>(null)
  const { data, error, refetch } = useQuery(versionsQuery(pipeline.id, limit))
  return (
    <>
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null ? (
          <Skeleton lines={6} />
        ) : null
      ) : (
        <Panel title={texts.versions} isFlush>
          {data.items.map((version) => (
            <Version key={version.version} version={version} pipeline={pipeline} onRestore={ask} />
          ))}
        </Panel>
      )}
      {data === undefined || data.next_cursor === null || limit >= MOST ? null : (
        <div>
          <Button variant="default" onClick={() => setLimit(MOST)}>
            {texts.more}
          </Button>
        </div>
      )}
      {asked === null ? null : (
        <RestoreDialog pipeline={pipeline} version={asked} onClose={() => ask(null)} />
      )}
    </>
  )
}

interface Props {
  readonly version: PipelineVersion
  readonly pipeline: Pipeline
  readonly onRestore: (version: number) => void
}

function Version({ version: { version, author, at, diff }, pipeline, onRestore }: Props) {
  const texts = useTexts(editTexts)
  const isPresent = version === pipeline.config_version
  const changed = Object.keys(diff).length
  return (
    <article className={styles.version} aria-label={texts.version(version)}>
      <Flex rowGap={4} columnGap={14} align="center" wrap="wrap" py={10} px={14}>
        <strong>{texts.version(version)}</strong>
        {isPresent ? (
          <Badge tone="run" icon="dot">
            {texts.present}
          </Badge>
        ) : null}
        <span>{author}</span>
        <TimeText at={at} as="moment" />
        <span className={styles.space} />
        {isPresent ? null : (
          <ActionButton needs="admin" icon="retry" size="compact-sm" onClick={() => onRestore(version)}>
            {texts.restore}
          </ActionButton>
        )}
      </Flex>
      {changed === 0 || version === 1 ? (
        version === 1 ? (
          <p className={`${styles.note} ${styles.inset}`}>{texts.first}</p>
        ) : null
      ) : (
        <details className={styles.inset} open={changed <= 3}>
          <summary>{texts.changedFields(changed)}</summary>
          <Scrollable className={grid.scroll} label={texts.changedFields(changed)}>
            <DiffView changes={diff as never} />
          </Scrollable>
        </details>
      )}
    </article>
  )
}
