import { useMediaQuery } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { pipelineActions } from '../../api/pipeline.js'
import { useMay, useSession } from '../../api/session.js'
import type { Finding } from '../../api/wire.js'
import { ActionButton } from '../../components/ActionButton.js'
import { Panel } from '../../components/Panel.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { draftOf, patchOfQuery, readerOf } from './draft.js'
import { editTexts } from './edit-texts.js'
import { PreviewTable } from './PreviewTable.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { ReviewDialog } from './ReviewDialog.js'
import { HowItGoes, Verdict } from './StepGraph.js'

const Editor = lazy(() => import('./SqlEditor.js').then(({ SqlEditor }) => ({ default: SqlEditor })))
const PREVIEW_ROWS = 50
const NONE: readonly Finding[] = []

export function SqlTab() {
  const texts = useTexts(editTexts)
  const { pipeline } = usePipeline()
  const { role } = useSession()
  const mayEdit = useMay('admin')
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  const saved = readerOf(pipeline)
  // Null: not edited. What was typed stays, whatever somebody else saves meanwhile.
  const [edited, edit] = useState<string | null>(null)
  const [isReviewed, review] = useState(false)
  const query = edited ?? saved
  const isChanged = query !== saved
  const draft = () => draftOf(pipeline, patchOfQuery(pipeline, query))
  const validation = useMutation({ mutationFn: () => pipelineActions.validate(draft()) })
  const preview = useMutation({ mutationFn: () => pipelineActions.preview(draft(), PREVIEW_ROWS) })
  const openReview = () => review(true)
  useShortcut('mod+s', texts.review, openReview, mayEdit && isChanged)
  return (
    <div className={styles.halves}>
      <Panel title={texts.query} isFlush>
        <Suspense fallback={<Skeleton lines={8} />}>
          <Editor
            text={query}
            label={texts.query}
            errors={validation.data?.errors ?? NONE}
            warnings={validation.data?.warnings ?? NONE}
            {...(isPhone ? {} : { onChange: edit })}
          />
        </Suspense>
        <div className={styles.versionHead}>
          {isPhone || !mayEdit ? (
            <span className="v-soft">{mayEdit ? texts.readOnlyPhone : texts.readOnlyRole(role)}</span>
          ) : null}
          <span className={styles.space} />
          {isChanged ? (
            <ActionButton needs="viewer" onClick={() => edit(null)}>
              {texts.discard}
            </ActionButton>
          ) : null}
          <ActionButton
            needs="admin"
            variant="filled"
            refusal={isChanged ? null : texts.nothingChanged}
            onClick={openReview}
          >
            {texts.review}
          </ActionButton>
        </div>
      </Panel>
      <Panel
        title={texts.result}
        actions={validation.data === undefined ? null : <Verdict isValid={validation.data.valid} />}
      >
        <div className={styles.stack}>
          <div className={styles.bar}>
            <ActionButton
              needs="viewer"
              icon="check"
              loading={validation.isPending}
              onClick={() => validation.mutate()}
            >
              {texts.validate}
            </ActionButton>
            <ActionButton
              needs="operator"
              icon="table"
              loading={preview.isPending}
              onClick={() => preview.mutate()}
            >
              {texts.preview(PREVIEW_ROWS)}
            </ActionButton>
          </div>
          {validation.error === null ? null : <ProblemCard error={validation.error} />}
          {validation.data === undefined ? null : <HowItGoes validation={validation.data} isWithColumns />}
          {preview.error === null ? null : <ProblemCard error={preview.error} />}
          {preview.data === undefined ? null : <PreviewTable preview={preview.data} />}
          {validation.data === undefined && preview.data === undefined ? (
            <p className={styles.note}>{texts.notLooked}</p>
          ) : null}
        </div>
      </Panel>
      {isReviewed ? (
        <ReviewDialog
          pipeline={pipeline}
          patchOf={(version) => patchOfQuery(version, query)}
          onSaved={() => edit(null)}
          onClose={() => review(false)}
        />
      ) : null}
    </div>
  )
}
