/** A value that a document cannot hold; the message gives the reason. */
export class ElasticsearchValueError extends Error {}
