import type { Session } from '../../postgres/session.js'
import type { ClosableGuardSession } from '../index.js'

/** The guard closes the session it is given; a test with hundreds of checks lends one and keeps it. */
export function borrowed(session: Session): () => Promise<ClosableGuardSession> {
  return async () => ({
    run: (text) => session.run(text),
    rows: (text, values) => session.rows(text, values),
    close: async () => {},
  })
}
