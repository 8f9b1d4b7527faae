import { SimpleGrid, type SimpleGridProps } from '@mantine/core'

interface Props extends SimpleGridProps {
  /** The least width of a column in pixels; as many columns as fit. */
  readonly least: number
}

/** Equal columns whose contents keep their own height. */
export function Columns({ least, ...rest }: Props) {
  return (
    <SimpleGrid
      minColWidth={`min(${least}px, 100%)`}
      autoFlow="auto-fit"
      spacing={14}
      style={{ alignItems: 'start' }}
      {...rest}
    />
  )
}
