/** The beginning of a text from outside, without half a surrogate pair at its end. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 2)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, isHalf ? most - 2 : most - 1)}…`
}
