import type { MartRows } from '../../../api/wire.js'
import { EmptyState } from '../../../components/layout/EmptyState.js'
import grid from '../../../components/layout/grid.module.css'
import { Scrollable } from '../../../components/layout/Scrollable.js'
import { useTexts } from '../../../i18n/texts.js'
import { Icon } from '../../../theme/icons.js'
import styles from './data.module.css'
import { dataTexts } from './data-texts.js'
import type { DataSearch } from './search.js'

interface Props {
  readonly pages: readonly MartRows[]
  readonly search: DataSearch
  readonly isDimmed: boolean
  /** Undefined: by the key. */
  readonly onSort: (sort: string | undefined) => void
}

type MartRowsColumn = MartRows['columns'][number]
type Direction = 'asc' | 'desc' | null

/** Values as the database writes them, so that none is shown as something else. */
export function MartRowsTable({ pages, search, isDimmed, onSort }: Props) {
  const texts = useTexts(dataTexts)
  const [first] = pages
  if (first === undefined) return null
  if (first.rows.length === 0)
    return search.filter === undefined ? (
      <EmptyState icon="table" title={texts.empty.title}>
        {texts.empty.text}
      </EmptyState>
    ) : (
      <EmptyState icon="search" title={texts.nothing.title}>
        {texts.nothing.text}
      </EmptyState>
    )
  return (
    <Scrollable className={styles.sheet} label={texts.rowsOf}>
      <table className={`${grid.grid} ${grid.stacked}`} data-dimmed={isDimmed || undefined}>
        <thead>
          <tr>
            {first.columns.map((column) => (
              <Head
                key={column.name}
                column={column}
                direction={first.sort?.column === column.name ? first.sort.direction : null}
                onSort={onSort}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {pages.flatMap((page, p) => {
            const lengths = new Map(page.cut.map(({ row, column, length }) => [`${row} ${column}`, length]))
            return page.rows.map((row, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows are only appended; a mart may have no key.
              <tr key={`${p} ${n}`}>
                {page.columns.map(({ name }) => (
                  <Cell
                    key={name}
                    name={name}
                    value={row[name] ?? null}
                    length={lengths.get(`${n} ${name}`) ?? null}
                  />
                ))}
              </tr>
            ))
          })}
        </tbody>
      </table>
    </Scrollable>
  )
}

const ARIA = { asc: 'ascending', desc: 'descending' } as const

function Head({
  column,
  direction,
  onSort,
}: {
  readonly column: MartRowsColumn
  readonly direction: Direction
  readonly onSort: Props['onSort']
}) {
  const texts = useTexts(dataTexts)
  const next = direction === null ? column.name : direction === 'asc' ? `-${column.name}` : undefined
  return (
    <th scope="col" aria-sort={direction === null ? 'none' : ARIA[direction]}>
      <button
        type="button"
        className={styles.sort}
        title={column.type}
        aria-description={texts.sortHint}
        onClick={() => onSort(next)}
      >
        <span>{column.name}</span>
        <span className={styles.arrow} data-shown={direction !== null || undefined}>
          <Icon name={direction === 'desc' ? 'down' : 'up'} size={12} />
        </span>
      </button>
      <span className={styles.type}>
        {column.type}
        {column.is_key ? ` · ${texts.key}` : ''}
      </span>
    </th>
  )
}

interface CellProps {
  readonly name: string
  readonly value: string | null
  /** Of the whole value, if only its beginning is shown. */
  readonly length: number | null
}

function Cell({ name, value, length }: CellProps) {
  const texts = useTexts(dataTexts)
  return (
    <td className="v-mono" data-name={name}>
      {value === null ? (
        <span className="v-soft">{texts.isNull}</span>
      ) : (
        <span className={grid.cut} title={length === null ? value : `${value}… ${texts.cut(length)}`}>
          {length === null ? value : `${texts.cut(length)} ${value}`}
        </span>
      )}
    </td>
  )
}
