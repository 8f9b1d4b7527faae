import { ActionIcon, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import type { AuditEntry } from '../../api/wire.js'
import records from '../../components/layout/records.module.css'
import { TimeText } from '../../components/text/TimeText.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { AuditDetails } from './AuditDetails.js'
import { changesOf, factsOf, isMoment } from './audit-facts.js'
import { auditTexts } from './audit-texts.js'
import styles from './settings.module.css'

interface Props {
  readonly entry: AuditEntry
  readonly isOpenAtFirst: boolean
}

export function AuditLine({ entry, isOpenAtFirst }: Props) {
  const texts = useTexts(auditTexts)
  const [isOpen, open] = useState(isOpenAtFirst)
  const details = useId()
  const words = texts.actions[entry.action as keyof typeof texts.actions] ?? entry.action
  const name = `${words} ${entry.target_name ?? entry.target_id}`
  return (
    <li className={styles.entry}>
      <div className={styles.entryLine}>
        <TimeText at={entry.at} as="moment" />
        <span className={records.name}>{entry.actor}</span>
        <div className={records.two}>
          <span>{words}</span>
          <span className={records.soft}>
            <Target entry={entry} />
          </span>
        </div>
        <span className={`${records.soft} ${styles.changed}`}>
          <Summary entry={entry} />
        </span>
        <Group className={styles.entryEnd} gap={4} wrap="nowrap" justify="flex-end">
          {entry.request_id === null ? null : (
            <span className={`v-mono ${records.soft}`}>{entry.request_id.slice(0, 8)}</span>
          )}
          <ActionIcon
            aria-label={texts.details(name)}
            aria-expanded={isOpen}
            aria-controls={details}
            onClick={() => open(!isOpen)}
          >
            <Icon name={isOpen ? 'up' : 'down'} />
          </ActionIcon>
        </Group>
      </div>
      <div id={details}>{isOpen ? <AuditDetails entry={entry} /> : null}</div>
    </li>
  )
}

/** A link to the object if it still exists and has a page. */
function Target({
  entry: { target_kind: kind, target_id: id, target_name: name, action },
}: {
  readonly entry: AuditEntry
}) {
  const text = name ?? id
  if (action === 'pipeline.delete') return text
  if (kind === 'pipeline')
    return (
      <Link to="/pipelines/$id/overview" params={{ id }} className="v-link">
        {text}
      </Link>
    )
  if (kind === 'run')
    return (
      <Link to="/runs/$id" params={{ id }} className="v-link">
        {text}
      </Link>
    )
  return text
}

/** A single short change is shown completely, several only by their fields. */
function Summary({ entry }: { readonly entry: AuditEntry }) {
  const texts = useTexts(auditTexts)
  const format = useFormat()
  const changes = Object.entries(changesOf(entry))
  const [only] = changes
  if (only === undefined)
    return factsOf(entry)
      .map(([key, value]) => `${key} ${isMoment(value) ? format.moment(value) : value}`)
      .join(', ')
  const [field, { old, new: next }] = only
  const brief = `${field} ${short(old)} → ${short(next)}`
  return changes.length === 1 && brief.length < BRIEF
    ? brief
    : texts.changed(changes.map(([each]) => each).join(', '))
}

const BRIEF = 80

function short(value: unknown): string {
  return value === null || value === undefined
    ? '–'
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)
}
