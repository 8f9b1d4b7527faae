import { Button, Menu } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { type SavedView, setPreferences, usePreferences } from '../../preferences/preferences.js'
import { Icon } from '../../theme/icons.js'
import { type PipelinesSearch, readPipelinesSearch } from './search.js'
import { pipelinesTexts } from './texts.js'

const SaveViewDialog = lazy(() =>
  import('./SaveViewDialog.js').then((module) => ({ default: module.SaveViewDialog })),
)

/** What is shown, in the form in which it is kept: the same list gives the same text. */
function writeView(search: PipelinesSearch): string {
  const parts = Object.entries(search).filter(([, value]) => value !== undefined)
  return new URLSearchParams(parts.sort(([a], [b]) => a.localeCompare(b)) as [string, string][]).toString()
}

/** Lists that somebody comes back to, kept in this browser. */
export function ViewsMenu({ search }: { readonly search: PipelinesSearch }) {
  const texts = useTexts(pipelinesTexts)
  const { views } = usePreferences()
  const [isSaving, save] = useState(false)
  const shown = writeView(search)
  const chosen = views.find((view) => view.search === shown)
  return (
    <>
      <Menu>
        <Menu.Target>
          <Button
            variant="default"
            rightSection={<Icon name="down" size={12} />}
            aria-label={texts.views.label(chosen?.name ?? null)}
          >
            {chosen?.name ?? texts.views.title}
          </Button>
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
