/** The nonce that the server put into the page: it allows styles injected by libraries. See ADR 0020. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
}
