import { z } from 'zod'
import { list } from '../../../src/config/settings.js'

/** Settings for an administrator. `.env.sample` and the settings reference also list those of registered sinks. */
export const JSONL_SETTINGS = {
  JSONL_FOLDER: {
    schema: z.string().min(1).optional(),
    means: 'Folder of the jsonl: targets. If unset, they are not available.',
    example: '/var/lib/vitrina/jsonl',
  },
  ALLOWED_JSONL_FILES: {
    schema: z.string().default('*').transform(list),
    means: 'Files that a pipeline may write: exact names or patterns.',
    example: 'films,genres',
  },
} as const
