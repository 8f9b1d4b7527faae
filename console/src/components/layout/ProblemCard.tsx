import { Button, CopyButton, Flex, Group } from '@mantine/core'
import { asProblem } from '../../api/problem.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { shared } from '../texts.js'
import styles from './panel.module.css'

interface Props {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
}

/** A problem, shown in its place; the rest of the page keeps working. */
export function ProblemCard({ error, onRetry }: Props) {
  const texts = useTexts(shared)
  const { problem } = asProblem(error)
  const fields = problem.errors ?? []
  return (
    <Flex component="section" className={styles.problem} direction="column" gap={6} role="alert">
      <Group className={styles.head} gap={8} wrap="nowrap">
        <Icon name="warn" />
        <span>{problem.title}</span>
        <code className="v-mono">{problem.vtr === '' ? problem.code : `${problem.vtr} ${problem.code}`}</code>
      </Group>
      <p className={styles.detail}>{problem.detail}</p>
      {fields.length === 0 ? null : (
        <ul>
          {fields.map(({ field, message }) => (
            <li key={`${field} ${message}`}>
              <code className="v-mono">{field}</code> {message}
            </li>
          ))}
        </ul>
      )}
      <p className={styles.hint}>{problem.hint}</p>
      <Group gap={8} mt={4}>
        {onRetry === undefined ? null : (
          <Button variant="default" leftSection={<Icon name="retry" size={14} />} onClick={onRetry}>
            {texts.retry}
          </Button>
        )}
        <CopyButton value={JSON.stringify(problem, null, 2)}>
          {({ copied, copy }) => (
            <Button variant="default" leftSection={<Icon name="copy" size={14} />} onClick={copy}>
              {copied ? texts.copied : texts.copy}
            </Button>
          )}
        </CopyButton>
        {problem.request_id === null ? null : (
          <span className="v-soft">
            {texts.request} <code className="v-mono">{problem.request_id}</code>
          </span>
        )}
      </Group>
    </Flex>
  )
}
