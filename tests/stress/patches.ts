import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../support/processes.js'

/** A text of the built program that a runner of a test replaces while it loads. It must occur exactly once. */
export interface Patch {
  /** Below dist/. */
  readonly file: string
  readonly from: string
  readonly to: string
}

const FOLDER = join(ROOT, 'tests/stress')

/** The environment of a runner that loads the patched program. */
export function patchedBy(patches: readonly Patch[]): Record<string, string> {
  if (patches.length === 0) return {}
  return {
    NODE_OPTIONS: `--import=${pathToFileURL(join(FOLDER, 'patch.mjs')).href}`,
    VITRINA_TEST_PATCHES: JSON.stringify(patches),
  }
}

/** Names of pipelines that go by rows although a faster route is possible, as the option `way` of a test's own runner does. */
export const ROWS_PREFIX = 'rows_'

export const ROWS_ROUTE: Patch = {
  file: 'transfers/routes/choose-route.js',
  from: `forced === 'rows'`,
  to: `pipeline.name.startsWith('${ROWS_PREFIX}')`,
}

/** The tables are small, so the planner would mostly prefer the full query. */
export const SCOPES_ONLY: Patch = {
  file: 'scopes/choose-recompute.js',
  from: `full < Math.min(lateral, any) ? 'full' : lateral <= any`,
  to: 'lateral <= any',
}

const PROBE = pathToFileURL(join(FOLDER, 'probe.mjs')).href

/**
 * A run keeps its snapshot until its rows are written, and compares the mart with the full query in this snapshot, before
 * it commits. Not for pushdown, where one session reads and writes.
 */
export const PROBED: readonly Patch[] = [
  {
    file: 'transfers/steps/changed.js',
    from: 'import { setTimeout as delay }',
    to: `import { probe, wayOf } from '${PROBE}';\nimport { setTimeout as delay }`,
  },
  {
    file: 'transfers/steps/changed.js',
    from: `await source.run('COMMIT');\n        return { next, changes, audit,`,
    to: `if (source === this.#attempt.session) await source.run('COMMIT');\n        return { way: wayOf(found, rows), next, changes, audit,`,
  },
  {
    file: 'transfers/steps/changed.js',
    from: 'const { next, changes } = collected;',
    to: 'const { next, changes, way } = collected;',
  },
  {
    file: 'transfers/steps/changed.js',
    from: 'const change = await finish(id);',
    to: 'const change = await finish(id);\n            await probe(this.#attempt, way);',
  },
  {
    file: 'transfers/steps/changed.js',
    from: 'await this.#parts.changes.applied(next);',
    to: `if (this.#attempt.source !== this.#attempt.session) await this.#attempt.source.run('COMMIT');\n        await this.#parts.changes.applied(next);`,
  },
]
