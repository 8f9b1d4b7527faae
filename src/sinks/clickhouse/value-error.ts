/** A value that its ClickHouse column cannot hold; the message gives the reason. */
export class ClickHouseValueError extends Error {}
