const ONE_TEXT =
  /^(smallint|integer|bigint|oid|uuid|text|boolean|date|bytea|"char"|name|character( varying)?(\(\d+\))?|timestamp(\(\d\))? with(out)? time zone|time(\(\d\))? without time zone)$/

/**
 * Whether equal values of a type, as format_type writes it, are the same in every respect. 1.0 and 1.00 are not, nor are
 * '1 day' and '24 hours': a group of them has one of them as its value, and a function of it may differ.
 */
export function hasOneText(type: string): boolean {
  return ONE_TEXT.test(type)
}
