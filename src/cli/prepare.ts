import type { MainSettings } from '../main/environment.js'
import { detail, step } from './output.js'

/** Migrates and grants, and says what came of it. */
export async function prepareAndTell(settings: MainSettings): Promise<void> {
  step('Bringing the meta store up to date')
  // Not at the top: every other command would wait for modules that it does not use.
  const { prepareStore } = await import('../main/prepare.js')
  const { applied, notices } = await prepareStore(settings)
  detail(applied.length === 0 ? 'All migrations were there already.' : `Applied ${applied.join(', ')}.`)
  for (const notice of notices) detail(`Note: ${notice}`)
}
