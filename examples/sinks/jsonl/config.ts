import { z } from 'zod'
import { list } from '../../../src/config/settings.js'

/** What an administrator can set. `.env.sample` and the reference page of settings list registered sinks too. */
export const JSONL_SETTINGS = {
  JSONL_FOLDER: {
    schema: z.string().min(1).optional(),
    means: 'Folder of the jsonl: targets. Unset: there are none.',
    example: '/var/lib/vitrina/jsonl',
  },
  ALLOWED_JSONL_FILES: {
    schema: z.string().default('*').transform(list),
    means: 'Files a pipeline may write: exact names or patterns.',
    example: 'films,genres',
  },
} as const
