import type { Session } from '../../postgres/session.js'
import type { Column } from '../../sql/selection.js'
import { SELECTIONS } from '../marts/table.js'
import type { RowSource } from '../marts/table-writer.js'

/** How the rows of a selection get into the session of the target: the only difference between pushdown and relay. */
export interface Mover extends RowSource<string> {
  /** Reads all rows of a selection once, in its order, into the new temporary table `into`. */
  collect(selection: string, into: string, columns: readonly Column[]): Promise<number>
}

/** Source and target are in one database: the rows never leave the server. */
export function pushdown(session: Session): Mover {
  return {
    ...SELECTIONS,
    collect: (selection, into) => session.count(`CREATE TEMP TABLE ${into} AS ${selection}`),
  }
}
