/** The first number of an object that somebody added: PostgreSQL's own have smaller ones, whatever schema they are in. */
export const FIRST_ADDED = 16_384
