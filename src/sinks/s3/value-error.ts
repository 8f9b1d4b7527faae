const LONGEST = 200

/** A value that its column cannot hold; the row is rejected with this reason. */
export class S3ValueError extends Error {
  constructor(reason: string) {
    super(reason.length > LONGEST ? `${reason.slice(0, LONGEST)}…` : reason)
  }
}
