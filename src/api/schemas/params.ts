import { z } from 'zod'

/** Any text: an id that cannot exist is one that is not found, and the service says so. */
export const byId = z.object({ id: z.string() })
