/** The logo. */
export function Logo({ size = 22 }: { readonly size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#0b6bb0" />
      <path d="M7 9h4.200l4.800 11.200L20.800 9H25l-7.100 15h-3.800z" fill="#fff" />
    </svg>
  )
}
