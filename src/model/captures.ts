/** How an incremental pipeline finds out what has changed. */
export const CAPTURES = ['key', 'xmin', 'wal'] as const
