/** Latin and Cyrillic are separate files of a font; the digits come with Latin. */
const SAMPLE = 'aя'
/** A page in the system font is better than none, even if its lines move once. */
const TIMEOUT_MS = 1_000

/** Resolves when the fonts are loaded: text that is drawn earlier has another width, and lines would move. */
export async function fontsLoaded(): Promise<void> {
  const fonts = ["1rem 'Inter Variable'", "1rem 'JetBrains Mono Variable'"]
  const loads = fonts.map((font) => document.fonts.load(font, SAMPLE))
  const timeout = new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS))
  await Promise.race([Promise.allSettled(loads), timeout])
}
