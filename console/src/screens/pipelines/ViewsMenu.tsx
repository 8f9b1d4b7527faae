import { Menu } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { type SavedView, setPreferences, usePreferences } from '../../preferences/preferences.js'
import { Icon } from '../../theme/icons.js'
import { type PipelinesSearch, readPipelinesSearch } from './search.js'
import { pipelinesTexts } from './texts.js'
import { useChosenView, ViewsButton } from './ViewsButton.js'

const SaveViewDialog = lazy(() =>
  import('./SaveViewDialog.js').then((module) => ({ default: module.SaveViewDialog })),
)

/** Saved views, stored in this browser. */
export function ViewsMenu({ search }: { readonly search: PipelinesSearch }) {
  const texts = useTexts(pipelinesTexts)
  const { views } = usePreferences()
  const [isSaving, save] = useState(false)
  const { shown, chosen } = useChosenView(search)
  return (
    <>
      <Menu defaultOpened>
        <Menu.Target>
          <ViewsButton name={chosen?.name ?? null} />
        </Menu.Target>
        <Menu.Dropdown>
          <Items views={views} chosen={chosen} />
          <Menu.Item
            leftSection={<Icon name="plus" size={14} />}
            disabled={shown === '' || chosen !== undefined}
            onClick={() => save(true)}
          >
            {texts.views.save}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isSaving ? (
        <Suspense fallback={null}>
          <SaveViewDialog search={shown} onClose={() => save(false)} />
        </Suspense>
      ) : null}
    </>
  )
}

interface ItemsProps {
  readonly views: readonly SavedView[]
  readonly chosen: SavedView | undefined
}

function Items({ views, chosen }: ItemsProps) {
  const texts = useTexts(pipelinesTexts)
  const navigate = useNavigate()
  const show = (search: string) =>
    void navigate({
      to: '/pipelines',
      search: readPipelinesSearch(Object.fromEntries(new URLSearchParams(search))),
    })
  return (
    <>
      <Menu.Item onClick={() => show('')}>{texts.views.all}</Menu.Item>
      {views.map((view) => (
        <Menu.Item
          key={view.name}
          leftSection={view === chosen ? <Icon name="check" size={14} /> : null}
          onClick={() => show(view.search)}
        >
          {view.name}
        </Menu.Item>
      ))}
      <Menu.Divider />
      {chosen === undefined ? null : (
        <Menu.Item
          leftSection={<Icon name="cross" size={14} />}
          onClick={() => setPreferences({ views: views.filter((view) => view !== chosen) })}
        >
          {texts.views.forget(chosen.name)}
        </Menu.Item>
      )}
    </>
  )
}
