import { ActionIcon, Menu } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { pipelineActions, pipelineKey } from '../../api/pipeline.js'
import { queryClient } from '../../api/query-client.js'
import type { Pipeline } from '../../api/wire.js'
import { useRefusal } from '../../components/actions/ActionButton.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import { isUnderWay } from './pipeline-context.js'
import { TakeOver } from './TakeOver.js'

/** Less frequent actions. */
export function HeaderMenu({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(editTexts)
  const [isAsked, ask] = useState(false)
  const refusal = useRefusal('admin')
  const deletion = useRefusal('admin', isUnderWay(pipeline) ? texts.deleteBusy : null)
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon size="input-xs" variant="default" aria-label={texts.moreActions(pipeline.name)}>
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<Icon name="copy" size={14} />}
            disabled={refusal !== null}
            title={refusal ?? undefined}
            component={Link}
            to="/pipelines/new"
            search={{ from: pipeline.id } as never}
          >
            {texts.duplicate}
          </Menu.Item>
          <Menu.Item
            leftSection={<Icon name="cross" size={14} />}
            color="red"
            disabled={deletion !== null}
            title={deletion ?? undefined}
            onClick={() => ask(true)}
          >
            {texts.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isAsked ? <DeleteDialog pipeline={pipeline} onClose={() => ask(false)} /> : null}
    </>
  )
}

function DeleteDialog({ pipeline, onClose }: { readonly pipeline: Pipeline; readonly onClose: () => void }) {
  const texts = useTexts(editTexts)
  const navigate = useNavigate()
  const [isTaken, take] = useState(false)
  const remove = async () => {
    await pipelineActions.remove(pipeline, isTaken)
    await navigate({ to: '/pipelines' })
    queryClient.removeQueries({ queryKey: pipelineKey(pipeline.id) })
    toastDone(texts.didDelete(pipeline.name))
  }
  return (
    <ConfirmDialog
      title={texts.deleteTitle(pipeline.name)}
      action={texts.deleteDo}
      nameToType={pipeline.name}
      isDangerous
      onConfirm={remove}
      onClose={onClose}
    >
      <div className={styles.stack}>
        <p className={styles.words}>{texts.deleteText(pipeline.config_version, pipeline.target_table)}</p>
        <TakeOver pipeline={pipeline} isTaken={isTaken} onTake={take} />
      </div>
    </ConfirmDialog>
  )
}
