import type { Author } from '../../model/access.js'
import type { Queryable } from '../database.js'

/** Who did what to which object; configuration changes are recorded by triggers of the database. */
export interface AuditedAction {
  readonly action: string
  readonly kind: 'pipeline' | 'run' | 'quarantine' | 'token' | 'session' | 'notification'
  readonly id: string
  readonly name: string | null
  readonly diff?: Readonly<Record<string, unknown>>
}

/** Passes the actor of this transaction to the triggers. */
export async function signTransaction(session: Queryable, author: Author, action = ''): Promise<void> {
  await session.query(
    `SELECT set_config('vitrina.actor', $1, true), set_config('vitrina.request_id', $2, true),
            set_config('vitrina.action', $3, true), set_config('vitrina.trigger', 'api', true),
            set_config('vitrina.traceparent', $4, true)`,
    [author.name, author.requestId, action, author.traceparent ?? ''],
  )
}

/** In the transaction of the action, so that neither exists without the other. */
export async function writeAudit(session: Queryable, author: Author, done: AuditedAction): Promise<void> {
  await session.query(
    `INSERT INTO etl.etl_audit (actor, action, target_kind, target_id, target_name, diff, request_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      author.name,
      done.action,
      done.kind,
      done.id,
      done.name,
      JSON.stringify(done.diff ?? {}),
      author.requestId,
    ],
  )
}
