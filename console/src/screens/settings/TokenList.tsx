import { Flex, SimpleGrid } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useSession } from '../../api/session.js'
import type { Token } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { RecordTable } from '../../components/layout/RecordTable.js'
import records from '../../components/layout/records.module.css'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { hasEnded, type TokenState, tokenStateOf } from '../../facts/tokens.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import { CardHead } from './CardHead.js'
import styles from './settings.module.css'
import { tokensTexts } from './tokens-texts.js'

interface TokenActions {
  readonly onRotate: (token: Token) => void
  readonly onRevoke: (token: Token) => void
}

interface CellProps {
  readonly token: Token
}

const BADGES: Readonly<Record<TokenState, { tone: Tone; icon: IconName }>> = {
  valid: { tone: 'ok', icon: 'check' },
  ending: { tone: 'warn', icon: 'clock' },
  expired: { tone: 'rest', icon: 'clock' },
  revoked: { tone: 'rest', icon: 'ban' },
}

export function TokenList({ tokens, ...actions }: TokenActions & { readonly tokens: readonly Token[] }) {
  const { title, columns } = useTexts(tokensTexts)
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  if (isPhone)
    return (
      <SimpleGrid minColWidth="min(100%, 420px)" spacing={14} style={{ alignItems: 'start' }}>
        {tokens.map((token) => (
          <TokenCard key={token.id} token={token} {...actions} />
        ))}
      </SimpleGrid>
    )
  return (
    <RecordTable title={title} columns={columns}>
      {tokens.map((token) => (
        <TokenRow key={token.id} token={token} {...actions} />
      ))}
    </RecordTable>
  )
}

function TokenRow({ token, ...actions }: CellProps & TokenActions) {
  const state = tokenStateOf(token, useNow())
  return (
    <tr data-ended={hasEnded(state) || undefined}>
      <td>
        <NameCell token={token} />
      </td>
      <td>{token.role}</td>
      <td>
        <div className={records.two}>
          <span>{token.created_by}</span>
          <span className={records.soft}>
            <TimeText at={token.created_at} as="short" />
          </span>
        </div>
      </td>
      <td>
        <UsedCell token={token} />
      </td>
      <td>
        <ExpiresCell token={token} />
      </td>
      <td>
        <Actions token={token} {...actions} />
      </td>
    </tr>
  )
}

function NameCell({ token }: CellProps) {
  const texts = useTexts(tokensTexts)
  const { token_id } = useSession()
  return (
    <div className={records.two}>
      <span className={records.name}>{token.name}</span>
      <span className={`v-mono ${records.soft}`}>{token.id.slice(0, 8)}</span>
      {token_id === token.id ? <span className={records.soft}>{texts.own}</span> : null}
    </div>
  )
}

function UsedCell({ token: { last_used_at: at, last_used_from: from } }: CellProps) {
  const texts = useTexts(tokensTexts)
  if (at === null) return <span className="v-soft">{texts.never}</span>
  return (
    <div className={records.two}>
      <TimeText at={at} as="relative" />
      {from === null ? null : <span className={records.soft}>{texts.from(from)}</span>}
    </div>
  )
}

function ExpiresCell({ token }: CellProps) {
  const texts = useTexts(tokensTexts)
  const state = tokenStateOf(token, useNow())
  const end = token.revoked_at ?? token.expires_at
  return (
    <div className={records.two}>
      {end === null ? (
        <span className="v-soft">{texts.never}</span>
      ) : state === 'valid' ? (
        <TimeText at={end} as="relative" />
      ) : (
        <Badge {...BADGES[state]} more={<TimeText at={end} as="relative" />}>
          {texts.state[state]}
        </Badge>
      )}
      {token.previous_until === null ? null : (
        <span className={records.soft}>
          {texts.oldWorks} <TimeText at={token.previous_until} as="short" />
        </span>
      )}
    </div>
  )
}

function Actions({ token, onRotate, onRevoke }: CellProps & TokenActions) {
  const texts = useTexts(tokensTexts)
  const refusal = hasEnded(tokenStateOf(token, useNow())) ? texts.hasEnded : null
  return (
    <Flex gap={6} wrap="wrap" justify="flex-end">
      <ActionButton
        needs="admin"
        icon="retry"
        size="compact-sm"
        refusal={refusal}
        aria-label={texts.rotateOf(token.name)}
        onClick={() => onRotate(token)}
      >
        {texts.rotate}
      </ActionButton>
      <ActionButton
        needs="admin"
        icon="ban"
        size="compact-sm"
        refusal={refusal}
        aria-label={texts.revokeOf(token.name)}
        onClick={() => onRevoke(token)}
      >
        {texts.revoke}
      </ActionButton>
    </Flex>
  )
}

function TokenCard({ token, ...actions }: CellProps & TokenActions) {
  const { columns } = useTexts(tokensTexts)
  return (
    <Flex component="article" className={styles.card} direction="column" gap={12}>
      <CardHead>
        <NameCell token={token} />
        <span>{token.role}</span>
      </CardHead>
      <dl className={styles.facts}>
        <div>
          <dt>{columns.lastUsed}</dt>
          <dd>
            <UsedCell token={token} />
          </dd>
        </div>
        <div>
          <dt>{columns.expires}</dt>
          <dd>
            <ExpiresCell token={token} />
          </dd>
        </div>
        <div>
          <dt>{columns.createdBy}</dt>
          <dd>{token.created_by}</dd>
        </div>
      </dl>
      <Actions token={token} {...actions} />
    </Flex>
  )
}
