import type { Tree } from './parser.js'

type Operation = (left: number, right: number) => number

/** Operators whose result follows from the text alone. Accurate enough to distinguish a million from a billion, not more. */
const BINARY: Readonly<Record<string, Operation>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
  '^': (left, right) => left ** right,
  '<<': (left, right) => left * 2 ** (right % 64),
  '>>': (left, right) => Math.floor(left / 2 ** (right % 64)),
  '|': (left, right) => Number(BigInt(Math.trunc(left)) | BigInt(Math.trunc(right))),
  '&': (left, right) => Number(BigInt(Math.trunc(left)) & BigInt(Math.trunc(right))),
  '#': (left, right) => Number(BigInt(Math.trunc(left)) ^ BigInt(Math.trunc(right))),
}

const UNARY: Readonly<Record<string, (value: number) => number>> = {
  '-': (value) => -value,
  '+': (value) => value,
  '@': Math.abs,
  '~': (value) => -value - 1,
  '|/': Math.sqrt,
  '||/': Math.cbrt,
}

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  abs: Math.abs,
  cbrt: Math.cbrt,
  ceil: Math.ceil,
  ceiling: Math.ceil,
  div: (left, right) => Math.trunc(left! / right!),
  exp: Math.exp,
  floor: Math.floor,
  mod: (left, right) => left! % right!,
  pow: Math.pow,
  power: Math.pow,
  // The number of decimal places is irrelevant here.
  round: (value) => Math.round(value!),
  sqrt: Math.sqrt,
  trunc: (value) => Math.trunc(value!),
  // A type name called as a function is a cast.
  int2: (value) => value!,
  int4: (value) => value!,
  int8: (value) => value!,
  numeric: (value) => value!,
  float4: (value) => value!,
  float8: (value) => value!,
}

/** The value of an expression that does not depend on data; null if the text does not show it. */
export function constant(node: Tree | undefined): number | null {
  if (node === undefined) return null
  const [kind = '', inner] = Object.entries(node)[0] ?? []
  const value = FOLDS[kind]?.((inner ?? {}) as Tree) ?? null
  return value === null || !Number.isFinite(value) ? null : value
}

const FOLDS: Readonly<Record<string, (node: Tree) => number | null>> = {
  A_Const: numberOf,
  TypeCast: (node) => constant(node.arg as Tree),
  A_Expr: foldOperator,
  FuncCall: foldFunction,
  MinMaxExpr: (node) => foldExtreme(node.op === 'IS_LEAST' ? Math.min : Math.max, node),
  CoalesceExpr: (node) => constant(((node.args ?? []) as Tree[])[0]),
  SubLink: foldSubquery,
}

function numberOf(node: Tree): number | null {
  if (node.ival !== undefined) return Number((node.ival as Tree).ival ?? 0)
  const text = (node.fval as Tree | undefined)?.fval ?? (node.sval as Tree | undefined)?.sval
  return text === undefined || text === '' ? null : Number(text)
}

function foldOperator({ kind, name, lexpr, rexpr }: Tree): number | null {
  if (kind !== 'AEXPR_OP') return null
  const operator = lastName(name)
  const right = constant(rexpr as Tree)
  if (right === null) return null
  if (lexpr === undefined) return UNARY[operator]?.(right) ?? null
  const left = constant(lexpr as Tree)
  return left === null ? null : (BINARY[operator]?.(left, right) ?? null)
}

function foldFunction({ funcname, args = [] }: Tree): number | null {
  const fold = FUNCTIONS[lastName(funcname)]
  if (fold === undefined) return null
  const values = known((args as Tree[]).map(constant))
  return values === null ? null : fold(...values)
}

/** Only known arguments: for a limit, too large a GREATEST is found, and too small a LEAST is not rejected. */
function foldExtreme(pick: (...values: number[]) => number, { args = [] }: Tree): number | null {
  const values = known((args as Tree[]).map(constant))
  return values === null || values.length === 0 ? null : pick(...values)
}

/** `(SELECT 1000000000)` */
function foldSubquery({ subLinkType, subselect }: Tree): number | null {
  const select = (subselect as Tree | undefined)?.SelectStmt as Tree | undefined
  const [target, ...more] = (select?.targetList ?? []) as Tree[]
  if (subLinkType !== 'EXPR_SUBLINK' || select?.fromClause !== undefined || more.length > 0) return null
  return constant((target?.ResTarget as Tree | undefined)?.val as Tree | undefined)
}

function known(values: readonly (number | null)[]): number[] | null {
  return values.every((value) => value !== null) ? (values as number[]) : null
}

/** `repeat` of `pg_catalog.repeat`, `*` of `OPERATOR(pg_catalog.*)`. */
export function lastName(names: unknown): string {
  const last = Array.isArray(names) ? (names.at(-1) as Tree | undefined) : undefined
  const text = (last?.String as Tree | undefined)?.sval
  return typeof text === 'string' ? text : ''
}
