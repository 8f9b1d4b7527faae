import type { ReactNode } from 'react'
import { toastDone, toastProblem } from './toast.js'

interface Words {
  readonly done: string
  readonly more?: ReactNode
  readonly refused: string
}

/** Performs an action and reports the result. */
export async function perform(action: () => Promise<unknown>, { done, more, refused }: Words): Promise<void> {
  try {
    await action()
    toastDone(done, more)
  } catch (error) {
    toastProblem(refused, error)
  }
}
