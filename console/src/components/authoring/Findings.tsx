import { Flex } from '@mantine/core'
import type { Finding, Validation } from '../../api/wire.js'
import { Icon } from '../../theme/icons.js'
import styles from './authoring.module.css'

/** Errors that prevent a run, then warnings. */
export function Findings({ validation }: { readonly validation: Pick<Validation, 'errors' | 'warnings'> }) {
  const { errors, warnings } = validation
  if (errors.length + warnings.length === 0) return null
  return (
    <Flex component="ul" className={styles.findings} direction="column" gap={6}>
      {errors.map((finding) => (
        <One key={`${finding.code} ${finding.message}`} finding={finding} tone="bad" />
      ))}
      {warnings.map((finding) => (
        <One key={`${finding.code} ${finding.message}`} finding={finding} tone="warn" />
      ))}
    </Flex>
  )
}

function One({ finding, tone }: { readonly finding: Finding; readonly tone: 'bad' | 'warn' }) {
  const { code, field, message, hint, position } = finding
  const place = position === null ? field : `${field} ${position.line}:${position.column}`
  return (
    <li className={styles.finding} data-tone={tone}>
      <Icon name={tone === 'bad' ? 'cross' : 'warn'} size={14} />
      <div>
        <span>{message}</span> <span className="v-soft">{hint}</span>{' '}
        <code className="v-mono v-soft">
          {code} {place}
        </code>
      </div>
    </li>
  )
}
