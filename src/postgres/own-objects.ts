/** The first OID of user-defined objects: built-in ones are lower, whatever schema they are in. */
export const FIRST_ADDED = 16_384
