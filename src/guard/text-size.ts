import { constant, lastName } from './constants.js'
import type { Tree } from './parser.js'

/** Characters that an expression produces regardless of the data; 0 if the text does not show it. */
export function textSize(node: Tree | undefined): number {
  if (node === undefined) return 0
  const [kind = '', inner] = Object.entries(node)[0] ?? []
  return SIZES[kind]?.((inner ?? {}) as Tree) ?? 0
}

const SIZES: Readonly<Record<string, (node: Tree) => number>> = {
  A_Const: (node) => String((node.sval as Tree | undefined)?.sval ?? '').length,
  TypeCast: (node) => Math.max(textSize(node.arg as Tree), typeSize(node.typeName as Tree)),
  A_Expr: ({ name, lexpr, rexpr }) =>
    lastName(name) === '||' ? textSize(lexpr as Tree) + textSize(rexpr as Tree) : 0,
  FuncCall: ({ funcname, args = [] }) => callSize(lastName(funcname), args as Tree[]),
  CoalesceExpr: ({ args = [] }) => textSize((args as Tree[])[0]),
}

const CALLS: Readonly<Record<string, (args: readonly Tree[]) => number>> = {
  repeat: ([text, times]) => atLeastOne(text) * count(times),
  lpad: ([, length]) => count(length),
  rpad: ([, length]) => count(length),
  format: formatSize,
  concat: (args) => sum(args.map(textSize)),
  concat_ws: ([separator, ...parts]) =>
    sum(parts.map(textSize)) + textSize(separator) * Math.max(0, parts.length - 1),
  replace: ([text, from, instead]) => (textSize(text) / atLeastOne(from)) * textSize(instead),
  regexp_replace: ([text, , instead]) => textSize(text) * textSize(instead),
  array_to_string: ([array, delimiter]) => elements(array) * (1 + textSize(delimiter)),
  // Functions that keep the length, or only double it.
  upper: ([text]) => textSize(text),
  lower: ([text]) => textSize(text),
  initcap: ([text]) => textSize(text),
  reverse: ([text]) => textSize(text),
  quote_literal: ([text]) => textSize(text),
  text: ([text]) => textSize(text),
  varchar: ([text]) => textSize(text),
}

export function callSize(name: string, args: readonly Tree[]): number {
  return CALLS[name]?.(args) ?? 0
}

/** Size of an array_fill() with constant bounds; 0 for any other array. */
function elements(node: Tree | undefined): number {
  const call = node?.FuncCall as Tree | undefined
  if (call === undefined || lastName(call.funcname) !== 'array_fill') return 0
  return arraySize((call.args as Tree[] | undefined)?.[1])
}

/** Product of the numbers in ARRAY[2, 3] or '{2,3}'; 0 if the text does not show them. */
export function arraySize(node: Tree | undefined): number {
  const cast = node?.TypeCast as Tree | undefined
  if (cast !== undefined) return arraySize(cast.arg as Tree)
  const list = (node?.A_ArrayExpr as Tree | undefined)?.elements as Tree[] | undefined
  const text = ((node?.A_Const as Tree | undefined)?.sval as Tree | undefined)?.sval
  const sizes = list?.map(constant) ??
    String(text ?? '')
      .match(/\d+/g)
      ?.map(Number) ?? [0]
  return sizes.reduce((all: number, size) => all * (size ?? 0), 1)
}

/** `bit(1000000000)` has the declared length, whatever is cast to it. */
export function typeSize(type: Tree | undefined): number {
  const name = lastName(type?.names)
  if (name !== 'bit' && name !== 'bpchar') return 0
  return count((type?.typmods as Tree[] | undefined)?.[0])
}

/** A width: `%10s`, `%2$-10s`. A star uses the next argument, or the one it names. */
const WIDTH = /%%|%(?:\d{1,9}\$)?-?(?:(\d+)(?![\d$])|(\*))/g

function formatSize([pattern, ...args]: readonly Tree[]): number {
  const text = String(((pattern?.A_Const as Tree | undefined)?.sval as Tree | undefined)?.sval ?? '')
  const widths = [...text.matchAll(WIDTH)].map(([, width, star]) =>
    star === undefined ? Number(width ?? 0) : Math.max(0, ...args.map((arg) => Math.abs(constant(arg) ?? 0))),
  )
  return text.length + sum(widths) + sum(args.map(textSize))
}

function atLeastOne(node: Tree | undefined): number {
  return Math.max(1, textSize(node))
}

function count(node: Tree | undefined): number {
  return Math.max(0, constant(node) ?? 0)
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all + size, 0)
}
