import { Random } from './random.js'
import { CINEMA_OPENS, EPOCH, type Micros } from './time.js'

/** A user meets a film at some moment: to watch, rate, like or review it. */
export interface Encounter {
  film: number
  user: number
  created: Micros
  modified: Micros
}

export interface EncounterSet {
  kind: string
  seed: number
  films: number
  users: number
  /** At most films × users: a pair meets once in a set. */
  total: number
}

/** Share of encounters that are changed later, such as a revised rating. */
const CHANGED_LATER = 0.08
/** Above 1 some users are busier than others; at 1.6 the busiest tenth makes about a quarter of the encounters. */
const BUSY = 1.6

/**
 * Encounter n of a set, for any n, in order of time, no pair twice, and without a table of who met whom.
 *
 * The encounters form a sequence, film after film; `starts[film]` is where a film's own begin. Stepping through
 * that sequence with a stride that shares no factor with its length visits every position once, and mixes the films,
 * as in reality. The position within the film determines the user.
 */
export function encounters({ kind, seed, films, users, total }: EncounterSet): (n: number) => Encounter {
  const starts = shares(films, users, total)
  const stride = coprimeStride(total)
  const slot = (EPOCH - CINEMA_OPENS) / total
  const ofFilm = new Random(seed, `${kind}.film`)
  const ofRow = new Random(seed, `${kind}.time`)

  return (n) => {
    const place = (n * stride) % total
    const film = lastAtMost(starts, place)
    const first = starts[film]!
    const user = nthUser(place - first, { count: starts[film + 1]! - first, users }, ofFilm.at(film))
    const created = CINEMA_OPENS + Math.floor((n + ofRow.at(n).next()) * slot)
    const later = ofRow.chance(CHANGED_LATER) ? Math.floor((EPOCH - created) * ofRow.next() ** 2) : 0
    return { film, user, created, modified: created + later }
  }
}

/**
 * The nth of the `count` users who met a film, different for every n: n itself grows by one,
 * the rest never shrinks, so their sum is strictly increasing; it stays below `users`.
 */
function nthUser(n: number, { count, users }: { count: number; users: number }, random: Random): number {
  const spread = Math.floor((users - count) * ((n + random.next()) / count) ** BUSY)
  // Rotated slightly, or the very first users would have met every film.
  return (n + spread + random.below(users / 20)) % users
}

/**
 * Where each film's encounters begin, the total at the end. Film 0 is the most popular (Zipf with a flattened
 * head); what exceeds the number of users overflows to the films behind it. Eight bytes a film.
 */
function shares(films: number, users: number, total: number): Float64Array {
  // The weight of all films from this one on: the integral of (x + 8)^-0.9. A running sum would drift.
  const tail = (film: number) => (films + 8) ** 0.1 - (film + 8) ** 0.1
  const starts = new Float64Array(films + 1)
  for (let film = 0; film < films; film++) {
    const left = total - starts[film]!
    const share = Math.round(left * (1 - tail(film + 1) / tail(film)))
    starts[film + 1] = starts[film]! + Math.min(share, users)
  }
  return starts
}

/** The last film that begins at or before the position; films without an encounter are skipped. */
function lastAtMost(starts: Float64Array, place: number): number {
  let low = 0
  let high = starts.length - 1
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (starts[middle]! <= place) low = middle
    else high = middle
  }
  return low
}

/** Near the golden section of the length, which mixes best; smaller where n × stride would exceed 2⁵³. */
function coprimeStride(length: number): number {
  let stride = Math.max(1, Math.floor(0.618 * Math.min(length, Number.MAX_SAFE_INTEGER / length)))
  while (greatestDivisor(stride, length) !== 1) stride++
  return stride
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}
