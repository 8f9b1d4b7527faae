/** What the server put into the page: styles that libraries write themselves are let in by it. See ADR 0020. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
}
