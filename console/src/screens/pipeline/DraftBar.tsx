import { Button, Flex } from '@mantine/core'
import { useState } from 'react'
import { useMay } from '../../api/session.js'
import type { Pipeline } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import authoring from '../../components/authoring/authoring.module.css'
import { type UnsavedChanges, useEdit } from '../../components/authoring/use-edit.js'
import { Badge } from '../../components/status/Badge.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { editTexts } from './edit-texts.js'
import { ReviewDialog } from './ReviewDialog.js'

/** The unsaved changes, shown on every tab; null without changes. */
export function DraftBar({ pipeline }: { readonly pipeline: Pipeline }) {
  const { draft, discard } = useEdit(pipeline)
  // A new draft gets a new bar.
  return draft === null ? null : (
    <Bar key={draft.base.config_version} pipeline={pipeline} draft={draft} onDiscard={discard} />
  )
}

interface Props {
  readonly pipeline: Pipeline
  readonly draft: UnsavedChanges
  readonly onDiscard: () => void
}

function Bar({ pipeline, draft, onDiscard }: Props) {
  const texts = useTexts(editTexts)
  const [isReviewed, review] = useState(false)
  const mayEdit = useMay('admin')
  const { base, fields } = draft
  const isBehind = base.config_version !== pipeline.config_version
  const open = () => review(true)
  useShortcut({ keys: 'mod+s', label: texts.review, isOn: mayEdit }, open)
  return (
    <Flex
      component="section"
      className={authoring.draftBar}
      rowGap={6}
      columnGap={12}
      align="center"
      wrap="wrap"
      aria-label={texts.draft}
    >
      <Badge tone="hold" icon="dot">
        {texts.draft}
      </Badge>
      <span>{texts.draftOver(base.config_version)}</span>
      <span className="v-mono v-soft">{Object.keys(fields).join(', ')}</span>
      {isBehind ? (
        <Badge tone="warn" icon="warn">
          {texts.savedMeanwhile(pipeline.config_version)}
        </Badge>
      ) : null}
      <span className={authoring.space} />
      <Button variant="default" onClick={onDiscard}>
        {texts.discard}
      </Button>
      <ActionButton needs="admin" variant="filled" onClick={open}>
        {isBehind ? texts.compareThree : texts.review}
      </ActionButton>
      {isReviewed ? (
        <ReviewDialog latest={pipeline} draft={draft} onSaved={onDiscard} onClose={() => review(false)} />
      ) : null}
    </Flex>
  )
}
