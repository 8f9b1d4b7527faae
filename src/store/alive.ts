/** A runner sends a heartbeat every five seconds; after three missed ones it counts as silent. */
export const ALIVE = "interval '15 seconds'"
