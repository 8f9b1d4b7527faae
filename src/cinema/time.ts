/** Microseconds since 1970: a double holds them exactly until the year 2255. */
export type Micros = number

const YEAR: Micros = 365 * 86_400 * 1_000_000

/** Where the history of every set ends. Never the current time: the same seed gives the same rows on any day. */
export const EPOCH: Micros = Date.UTC(2026, 0, 1) * 1000

/** Films are entered first, then users sign up, then they watch: no rating precedes its account. */
export const CATALOGUE_OPENS: Micros = EPOCH - 5 * YEAR
export const SIGN_UP_OPENS: Micros = EPOCH - 4 * YEAR
export const CINEMA_OPENS: Micros = EPOCH - 2 * YEAR
