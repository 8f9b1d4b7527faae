import { Button, CopyButton, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { AuditEntry } from '../../api/wire.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { DiffView } from '../../components/text/DiffView.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { factsOf, fieldsOf, isMoment } from './audit-facts.js'
import { auditTexts } from './audit-texts.js'
import styles from './settings.module.css'

export function AuditDetails({ entry }: { readonly entry: AuditEntry }) {
  const texts = useTexts(auditTexts)
  const words = useTexts(shared)
  const changes = fieldsOf(entry.diff)
  const link = `${window.location.origin}/ui/settings/audit?entry=${entry.id}`
  return (
    <Stack className={styles.entryMore} gap={10}>
      {Object.keys(changes).length === 0 ? null : (
        <Scrollable className={styles.scroll} label={texts.details(entry.action)}>
          <DiffView changes={changes} />
        </Scrollable>
      )}
      <dl className={`${styles.facts} ${styles.wide}`}>
        <Fact name={texts.entry}>{entry.id}</Fact>
        <Fact name={texts.what}>{entry.action}</Fact>
        <Moment name={texts.at} at={entry.at} />
        <Fact name={texts.target}>{`${entry.target_kind} ${entry.target_id}`}</Fact>
        {factsOf(entry).map(([name, value]) =>
          isMoment(value) ? (
            <Moment key={name} name={name} at={value} />
          ) : (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ),
        )}
        {entry.request_id === null ? null : (
          <div>
            <dt>{texts.request}</dt>
            <dd>
              <Link
                to="/settings/audit"
                search={{ request: entry.request_id } as never}
                className="v-link v-mono"
                aria-label={`${texts.ofRequest} ${entry.request_id}`}
              >
                {entry.request_id}
              </Link>
            </dd>
          </div>
        )}
      </dl>
      <div>
        <CopyButton value={link}>
          {({ copied, copy }) => (
            <Button
              variant="default"
              size="compact-sm"
              leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />}
              onClick={copy}
            >
              {copied ? words.copied : texts.link}
            </Button>
          )}
        </CopyButton>
      </div>
    </Stack>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="v-mono">{children}</dd>
    </div>
  )
}

function Moment({ name, at }: { readonly name: string; readonly at: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <TimeText at={at} as="moment" />
      </dd>
    </div>
  )
}
