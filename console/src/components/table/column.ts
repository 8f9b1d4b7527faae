import type { ReactNode } from 'react'

export interface Column<Row> {
  readonly id: string
  readonly header: string
  /** A track of a CSS grid: `minmax(180px, 1.4fr)`. */
  readonly width: string
  readonly align?: 'end'
  readonly isSortable?: boolean
  readonly cell: (row: Row) => ReactNode
}

export interface Sort {
  readonly by: string
  readonly isDescending: boolean
}

/** `-name` in an address is `name`, descending. */
export function readSort(text: string): Sort {
  return { by: text.replace(/^-/, ''), isDescending: text.startsWith('-') }
}

export function writeSort({ by, isDescending }: Sort): string {
  return `${isDescending ? '-' : ''}${by}`
}
