import { Flex } from '@mantine/core'
import type { Validation } from '../../api/wire.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import styles from './authoring.module.css'
import { inspectionTexts } from './inspection-texts.js'

type Changes = NonNullable<Validation['changes']>

/** How changes of each table reach the mart. What is wrong with it is among the warnings. */
export function ChangeSummary({ changes }: { readonly changes: Changes }) {
  const texts = useTexts(inspectionTexts)
  const { scope, tables, full_cost, followed, full } = changes
  return (
    <section aria-label={texts.changes}>
      {full === null ? <p className={styles.note}>{texts.scope(scope.join(', '))}</p> : null}
      {followed.length === 0 ? null : (
        <p className={styles.note}>
          {texts.followed(followed.map(({ table, column }) => `${table}.${column}`).join(', '))}
        </p>
      )}
      <Flex component="ul" className={styles.findings} direction="column" gap={6} aria-label={texts.changes}>
        {tables.map((table) => (
          <TableLine key={table.table} table={table} fullCost={full_cost} />
        ))}
      </Flex>
    </section>
  )
}

interface LineProps {
  readonly table: Changes['tables'][number]
  readonly fullCost: number | null
}

function TableLine({ table, fullCost }: LineProps) {
  const texts = useTexts(inspectionTexts)
  const format = useFormat()
  const { table: name, traced, cost, key_queries, identity } = table
  const number = (value: number) => format.number(Math.round(value))
  const isWeak = identity !== null && !identity.is_lossless
  return (
    <li className={styles.finding} data-tone={traced && !isWeak ? undefined : 'warn'}>
      <Icon name={traced && !isWeak ? 'check' : 'warn'} size={14} />
      <div>
        <strong>{name}</strong>{' '}
        {traced && cost !== null && fullCost !== null
          ? texts.tracedAt(number(cost), number(fullCost))
          : texts.wholeQuery}
        {isWeak ? ` ${texts.weakIdentity}` : ''}
        {key_queries.length === 0 ? null : (
          <details>
            <summary>{texts.keyQuery}</summary>
            {key_queries.map((text) => (
              <code key={text} className="v-mono">
                {text}
              </code>
            ))}
          </details>
        )}
      </div>
    </li>
  )
}
