import type { SinkKind } from '../../../src/ports/sink.js'
import type { SinkModule } from '../../../src/sinks/index.js'
import { JSONL_SETTINGS } from './config.js'
import { JsonlSink } from './sink.js'

/** `jsonl:<file>`: the mart is a file with one JSON object per line. */
export const jsonl: SinkModule<typeof JSONL_SETTINGS> = {
  settings: JSONL_SETTINGS,
  create: ({ JSONL_FOLDER: folder, ALLOWED_JSONL_FILES: names }): SinkKind => ({
    kind: 'jsonl',
    prefix: 'jsonl:',
    allowList: { setting: 'ALLOWED_JSONL_FILES', names },
    missing: async () =>
      folder === undefined
        ? { message: 'JSONL_FOLDER is not set.', hint: 'Set it to a folder that the runner may write.' }
        : null,
    nameProblem: (name) => (/^[\w-]{1,100}$/.test(name) ? null : 'must be letters, digits, _ and -'),
    readOptions: (raw) => {
      const [unknown] = Object.keys(raw)
      return unknown === undefined
        ? { options: {} }
        : { problems: [{ field: unknown, message: 'is not an option of a jsonl target' }] }
    },
    ping: async () => `writes to ${folder}`,
    open: async (mart) => new JsonlSink(`${folder}/${mart.name}.jsonl`, mart),
  }),
}
