import { createTheme, type MantineColorsTuple } from '@mantine/core'

/** The blue of Okabe and Ito, from pale to deep. */
const BLUE: MantineColorsTuple = [
  '#e8f3fb',
  '#cfe5f5',
  '#a0cbea',
  '#6caedf',
  '#4698d5',
  '#2b86cc',
  '#0f76bd',
  '#0067a8',
  '#005a94',
  '#004a7c',
]

/** From text to the darkest background; Mantine takes its dark surfaces from here. */
const DARK: MantineColorsTuple = [
  '#e4e7ea',
  '#bcc3ca',
  '#949da7',
  '#6b747e',
  '#343b43',
  '#272d34',
  '#1c2126',
  '#121519',
  '#0d0f12',
  '#090b0d',
]

const SANS =
  "'Inter Variable', ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
const MONO = "'JetBrains Mono Variable', ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"

export const theme = createTheme({
  primaryColor: 'blue',
  primaryShade: { light: 7, dark: 6 },
  colors: { blue: BLUE, dark: DARK },
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: { fontFamily: SANS, fontWeight: '600' },
  defaultRadius: 'sm',
  radius: { xs: '3px', sm: '5px', md: '8px', lg: '12px', xl: '16px' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'xs' } },
    Select: { defaultProps: { size: 'xs' } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    Tooltip: { defaultProps: { position: 'bottom', withinPortal: true } },
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.4 } } },
    Menu: { defaultProps: { shadow: 'md', position: 'bottom-end', withinPortal: true } },
  },
})
