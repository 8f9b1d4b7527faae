/** Hands a file to the browser, which saves it under this name. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has it once the click is handled.
  setTimeout(() => URL.revokeObjectURL(url), 1_000)
}
