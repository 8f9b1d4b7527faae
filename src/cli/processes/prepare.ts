import type { MainSettings } from '../../main/environment.js'
import { detail, step } from '../output/print.js'

/** Migrates, grants, and reports the result. */
export async function prepareAndReport(settings: MainSettings): Promise<void> {
  step('Migrating the meta store')
  // Not at the top: every other command would wait for modules that it does not use.
  const { prepareStore } = await import('../../main/prepare.js')
  const { applied, notices } = await prepareStore(settings)
  detail(applied.length === 0 ? 'The meta store is already up to date.' : `Applied ${applied.join(', ')}.`)
  for (const notice of notices) detail(`Note: ${notice}`)
}
