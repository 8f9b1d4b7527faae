import { Button, CopyButton, Flex } from '@mantine/core'
import { stringify } from 'yaml'

import type { SuggestedCheck } from '../../../api/wire.js'
import { ActionButton } from '../../../components/actions/ActionButton.js'
import type { Spec } from '../../../components/authoring/spec.js'
import { useEdit } from '../../../components/authoring/use-edit.js'
import { Panel } from '../../../components/layout/Panel.js'
import { useTexts } from '../../../i18n/texts.js'
import { Icon } from '../../../theme/icons.js'
import { usePipeline } from '../pipeline-context.js'
import styles from './data.module.css'
import { dataTexts } from './data-texts.js'

/** Checks that the mart passes now, ready for the field `checks` of a pipeline. */
export function SuggestedChecks({ checks }: { readonly checks: readonly SuggestedCheck[] }) {
  const texts = useTexts(dataTexts)
  const { spec, change } = useEdit(usePipeline().pipeline)
  const known = new Set(spec.checks.map(({ name }) => name))
  const missing = checks.filter(({ name }) => !known.has(name))
  // Into the draft: the review shows what changes, and saves it.
  const add = () => change({ checks: [...spec.checks, ...(missing as Spec['checks'])] })
  return (
    <Panel
      title={texts.checks}
      actions={
        checks.length === 0 ? null : (
          <Flex component="span" className={styles.headActions} gap={8} wrap="wrap">
            <ActionButton
              needs="admin"
              icon="plus"
              refusal={missing.length === 0 ? texts.allAdded : null}
              onClick={add}
            >
              {texts.addChecks}
            </ActionButton>
            <Copy label={texts.copyYaml} value={stringify({ checks }, { lineWidth: 0 })} />
            <Copy label={texts.copyJson} value={JSON.stringify(checks, null, 2)} />
          </Flex>
        )
      }
    >
      {checks.length === 0 ? (
        <p className={styles.note}>{texts.noChecks}</p>
      ) : (
        <>
          <p className={styles.note}>{texts.checksWhat}</p>
          <Flex component="ul" className={styles.checks} direction="column" gap={6}>
            {checks.map((check) => (
              <li key={check.name}>
                <span className="v-mono">{check.name}</span>
                <span className="v-soft">{sentence(check)}</span>
              </li>
            ))}
          </Flex>
        </>
      )}
    </Panel>
  )
}

/** In the notation of the configuration, which is the same in every language. */
function sentence({ type, column, values, min, max }: SuggestedCheck): string {
  const bounds = [min === undefined ? '' : `min ${min}`, max === undefined ? '' : `max ${max}`]
  return [type, column ?? '', values?.join(', ') ?? '', ...bounds].filter((part) => part !== '').join(' · ')
}

function Copy({ label, value }: { readonly label: string; readonly value: string }) {
  const texts = useTexts(dataTexts)
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />}
          aria-description={copied ? texts.copied : undefined}
          onClick={copy}
        >
          {label}
        </Button>
      )}
    </CopyButton>
  )
}
