/** What `isDecodable` refuses, for a message. */
export const NOT_DECODABLE = 'has a % that is not part of an escape such as %25'

/** Otherwise, the first use of the password in an address would fail with "URI malformed". */
export function isDecodable(address: string): boolean {
  try {
    decodeURIComponent(address)
    return true
  } catch {
    return false
  }
}
