/** Makes the browser save a file under this name. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // No longer needed once the click is handled.
  setTimeout(() => URL.revokeObjectURL(url), 1_000)
}
