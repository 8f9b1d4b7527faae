import { Kbd, Modal } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { useActiveShortcuts } from '../../keyboard/shortcuts.js'
import { appTexts } from '../texts.js'
import { helpSwitch } from './open-help.js'

export function HelpDialog() {
  const texts = useTexts(appTexts)
  const isOpen = helpSwitch.use()
  const shortcuts = useActiveShortcuts()
  const shown = [...new Map(shortcuts.map((shortcut) => [shortcut.keys, shortcut])).values()]
  return (
    <Modal opened={isOpen} onClose={() => helpSwitch.set(false)} title={texts.help} size="md">
      <p className="v-soft">{texts.helpHint}</p>
      <dl style={{ display: 'grid', gridTemplateColumns: 'auto 1fr', gap: '6px 16px', margin: 0 }}>
        {shown.map(({ keys, label }) => (
          <div key={keys} style={{ display: 'contents' }}>
            <dt>
              {keys.split(' ').map((key) => (
                <Kbd key={key} size="xs" mr={4}>
                  {key.replace('mod+k', 'Ctrl K')}
                </Kbd>
              ))}
            </dt>
            <dd style={{ margin: 0 }}>{label}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  )
}
