import { onTestFinished } from 'vitest'

type Close = () => Promise<unknown>

const ofFile: Close[] = []

/** Calls `close` when the test ends, or after the last hook of the file if this is not inside a test but in beforeAll. */
export function closeAtEnd(close: Close): void {
  try {
    onTestFinished(async () => void (await close()))
  } catch {
    ofFile.push(close)
  }
}

/** The last one first: what was opened later may use what was opened before. */
export async function closeAllOfFile(): Promise<void> {
  const errors: unknown[] = []
  for (const close of ofFile.splice(0).reverse()) await close().catch((error) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}
