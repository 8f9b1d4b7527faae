import { toastDone, toastProblem } from './toast.js'

interface Messages {
  readonly done: string
  readonly failed: string
}

/** Performs an action and reports the result. */
export async function perform(action: () => Promise<unknown>, { done, failed }: Messages): Promise<void> {
  try {
    await action()
    toastDone(done)
  } catch (error) {
    toastProblem(failed, error)
  }
}
