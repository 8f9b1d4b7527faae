/** Our own icons: 16 units square, lines of 1.5 units. The name is the shape or its meaning. */
const PATHS = {
  overview: 'M2.5 2.5h4.5v5h-4.5zM9 2.5h4.5v3h-4.5zM9 8h4.5v5.5h-4.5zM2.5 10h4.5v3.5h-4.5z',
  pipelines: 'M2.5 4h4a2.5 2.5 0 0 1 2.5 2.5v3a2.5 2.5 0 0 0 2.5 2.5h2M11 9.5l2.5 2.5-2.5 2.5M2.5 12h3',
  runs: 'M2.5 13.5v-4M6.200 13.5v-8M9.800 13.5v-5.5M13.5 13.5v-11',
  quality:
    'M8 1.800l5 1.900v4c0 3.200-2.100 5.5-5 6.5c-2.900-1-5-3.300-5-6.5v-4zM5.700 8l1.700 1.700l3-3.200',
  checks:
    'M2.5 4l1.200 1.200l2-2.200M2.5 8.400l1.200 1.200l2-2.200M2.5 12.800l1.200 1.200l2-2.200M8 4.200h5.5M8 8.600h5.5M8 13h5.5',
  quarantine: 'M2.5 9.5h3l1 1.700h3l1-1.700h3v4h-11zM2.5 9.5l2-4M13.5 9.5l-2-4M5.5 2.5h5M5.5 5.5h5',
  lineage:
    'M4 5.5a1.5 1.5 0 1 0 0-3a1.5 1.5 0 0 0 0 3zM4 13.5a1.5 1.5 0 1 0 0-3a1.5 1.5 0 0 0 0 3zM12 9.5a1.5 1.5 0 1 0 0-3a1.5 1.5 0 0 0 0 3zM5.5 4h1.5c1.600 0 2 4 3.5 4M5.5 12h1.5c1.600 0 2-4 3.5-4',
  runners: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01M8 5h3M8 11h3',
  sources:
    'M13 4c0 1.100-2.200 2-5 2s-5-.9-5-2s2.200-2 5-2s5 .9 5 2zM3 4v8c0 1.100 2.200 2 5 2s5-.9 5-2v-8M3 8c0 1.100 2.200 2 5 2s5-.9 5-2',
  settings:
    'M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 6.5a1.5 1.5 0 1 0 0-3a1.5 1.5 0 0 0 0 3zM6 12.5a1.5 1.5 0 1 0 0-3a1.5 1.5 0 0 0 0 3z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9a4.5 4.5 0 0 0 0 9zM10.300 10.300l3.200 3.200',
  check: 'M3 8.5l3.200 3.200l6.800-7.200',
  cross: 'M4 4l8 8M12 4l-8 8',
  warn: 'M8 2.5l6 11h-12zM8 6.5v3.200M8 11.600h.01',
  clock: 'M8 14a6 6 0 1 0 0-12a6 6 0 0 0 0 12zM8 4.800v3.200l2.200 1.5',
  play: 'M4.5 2.800v10.400l8.5-5.200z',
  retry: 'M13 8a5 5 0 1 1-1.5-3.600M13 2.5v2.800h-2.800',
  pause: 'M5 3v10M11 3v10',
  stop: 'M3.5 3.5h9v9h-9z',
  ban: 'M8 14a6 6 0 1 0 0-12a6 6 0 0 0 0 12zM3.800 3.800l8.400 8.400',
  dash: 'M4.5 8h7',
  dot: 'M8 9.5a1.5 1.5 0 1 0 0-3a1.5 1.5 0 0 0 0 3z',
  sun: 'M8 10.800a2.800 2.800 0 1 0 0-5.600a2.800 2.800 0 0 0 0 5.600zM8 1.5v1.200M8 13.300v1.200M1.5 8h1.200M13.300 8h1.200M3.400 3.400l.8.8M11.800 11.800l.8.8M12.600 3.400l-.8.8M4.200 11.800l-.8.8',
  moon: 'M13 9.600a5.5 5.5 0 1 1-6.600-6.600a4.400 4.400 0 0 0 6.600 6.600z',
  contrast: 'M8 14a6 6 0 1 0 0-12a6 6 0 0 0 0 12zM8 2v12M8 5h4.5M8 8h6M8 11h4.5',
  globe:
    'M8 14a6 6 0 1 0 0-12a6 6 0 0 0 0 12zM2 8h12M8 2c2 1.700 2.800 3.700 2.800 6s-.8 4.300-2.800 6c-2-1.700-2.800-3.700-2.800-6s.8-4.300 2.800-6z',
  user: 'M8 8a2.700 2.700 0 1 0 0-5.400a2.700 2.700 0 0 0 0 5.400zM3 13.5c.6-2.300 2.5-3.5 5-3.5s4.400 1.200 5 3.5',
  down: 'M4.5 6.5l3.5 3.5l3.5-3.5',
  right: 'M6.5 4.5l3.5 3.5l-3.5 3.5',
  rows: 'M2.5 4h11M2.5 6.700h11M2.5 9.300h11M2.5 12h11',
  left: 'M9.5 4.5l-3.5 3.5l3.5 3.5',
  up: 'M4.5 9.5l3.5-3.5l3.5 3.5',
  dots: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  external: 'M9 2.5h4.5v4.5M13.5 2.5l-6 6M11.5 9.5v4h-9v-9h4',
  plus: 'M8 3v10M3 8h10',
  keyboard: 'M1.5 4h13v8h-13zM4 6.700h.01M6.700 6.700h.01M9.300 6.700h.01M12 6.700h.01M5 9.5h6',
  signOut: 'M6.5 13.5h-4v-11h4M10 11l3-3l-3-3M13 8h-7',
  info: 'M8 14a6 6 0 1 0 0-12a6 6 0 0 0 0 12zM8 7.300v3.700M8 5h.01',
  table: 'M2.5 3h11v10h-11zM2.5 6.300h11M2.5 9.700h11M6.5 6.300v6.700',
  download: 'M8 2.5v7.5M5 7.200l3 3l3-3M2.5 13.5h11',
  rail: 'M2.5 3h11v10h-11zM6 3v10',
} as const

export type IconName = keyof typeof PATHS

interface Props {
  readonly name: IconName
  readonly size?: number
  readonly className?: string | undefined
}

/** Decorative: screen readers read the adjacent text or the label of the button. */
export function Icon({ name, size = 16, className }: Props) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      className={className}
      fill={name === 'play' || name === 'dot' ? 'currentColor' : 'none'}
      stroke="currentColor"
      strokeWidth={name === 'dots' ? 2.2 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
