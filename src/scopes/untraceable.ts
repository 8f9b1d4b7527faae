/** Why changes cannot be followed through the query: a sentence for the person who wrote it. Never leaves this room. */
export class Untraceable extends Error {}
