import type { ReactNode } from 'react'
import { toastDone, toastProblem } from './toast.js'

interface Words {
  readonly done: string
  readonly more?: ReactNode
  readonly refused: string
}

/** Does it and says so, or says why not. */
export async function perform(deed: () => Promise<unknown>, { done, more, refused }: Words): Promise<void> {
  try {
    await deed()
    toastDone(done, more)
  } catch (error) {
    toastProblem(refused, error)
  }
}
