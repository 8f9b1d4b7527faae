import type { LabTable } from './lab.js'
import type { SeededRandom } from './seeded-random.js'

/** A query for a mart, with its key columns. */
export interface RandomQuery {
  readonly sql: string
  readonly key: readonly string[]
}

/** What a column can be joined with: columns of one domain have values in common. */
type Domain = 'film' | 'person' | 'studio' | 'tag' | 'number' | 'word'
type Columns = Readonly<Record<string, Domain>>

interface Item {
  readonly alias: string
  readonly columns: Columns
  readonly isLateral?: boolean
}

interface From {
  readonly sql: string
  readonly items: readonly Item[]
}

const TABLES: Readonly<Record<LabTable, Columns>> = {
  studio: { id: 'studio', country: 'word' },
  film: { id: 'film', kind: 'word', year: 'number', studio_id: 'studio' },
  person: { id: 'person', name: 'word' },
  film_person: { film_id: 'film', person_id: 'person', role: 'word' },
  rating: { film_id: 'film', user_id: 'person', stars: 'number', bucket: 'number' },
  tag: { id: 'tag', film_id: 'film', label: 'word' },
}
const VIEWS: Readonly<Record<string, Columns>> = {
  film_stats: { film_id: 'film', studio_id: 'studio', ratings: 'number', stars: 'number' },
  casting: { film_id: 'film', person_id: 'person', name: 'word' },
}
const WORDS = ['A', 'B', 'x', 'act', 'p1']

/** Makes SELECTs of every kind that tracing knows, and of some that it refuses. */
export class QueryMaker {
  readonly #random: SeededRandom
  #aliases = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  query(): RandomQuery {
    this.#aliases = 0
    const keys = this.#random.int(2)
    const one = this.#select(keys)
    const isBranched = this.#random.chance(0.15)
    const sql = isBranched ? `${one} ${this.#setOperator()} ${this.#select(keys)}` : one
    const key = Array.from({ length: keys }, (_, place) => `k${place}`)
    return { sql: this.#random.chance(0.15) ? this.#asWith(sql) : sql, key }
  }

  #asWith(sql: string): string {
    const how = this.#random.pick(['', 'MATERIALIZED ', 'NOT MATERIALIZED '])
    const twice = this.#random.chance(0.4)
    return twice
      ? `WITH q AS ${how}(${sql}) SELECT a.* FROM q a WHERE EXISTS (SELECT FROM q b WHERE b.k0 = a.k0)`
      : `WITH q AS ${how}(${sql}) SELECT * FROM q`
  }

  #setOperator(): string {
    return this.#random.pick(['UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT', 'EXCEPT ALL'])
  }

  #alias(): string {
    return `a${this.#aliases++}`
  }

  /** Keys as text, so that branches fit each other; the last column is text too. */
  #select(keys: number): string {
    const random = this.#random
    const from = this.#join(random.int(3))
    const where = this.#where(from)
    const exprs = Array.from({ length: keys }, () => this.#keyExpression(from.items))
    const out = exprs.map((expression, place) => `${expression} AS k${place}`).join(', ')
    const value = `${this.#column(from.items)}::text`
    const order = allColumns(from.items)
    const body = `FROM ${from.sql}${where}`
    switch (
      random.pick(['group', 'group', 'group', 'plain', 'plain', 'distinct', 'on', 'window', 'window', 'sets'])
    ) {
      case 'group':
        return `SELECT ${out}, concat_ws('|', count(*), string_agg(${value}, ',' ORDER BY ${value}))${this.#scalar(exprs)} AS v ${body} GROUP BY ${exprs.join(', ')}${random.chance(0.2) ? ' HAVING count(*) > 1' : ''}`
      case 'sets':
        return `SELECT ${out}, concat_ws('|', count(*), max(${value})) AS v ${body} GROUP BY GROUPING SETS ((${exprs.join(', ')}), (${exprs[0]}))`
      case 'distinct':
        return `SELECT DISTINCT ${out}, ${value} AS v ${body}`
      case 'on':
        return `(SELECT DISTINCT ON (${exprs.join(', ')}) ${out}, ${value} AS v ${body} ORDER BY ${exprs.join(', ')}, ${order})`
      case 'window':
        return `SELECT ${out}, concat_ws('|', ${value}, ${this.#window(exprs, order)}) AS v ${body}`
      default:
        return `SELECT ${out}, concat_ws('|', ${value}, ${this.#subquery(from.items) ?? "''"}) AS v ${body}${random.chance(0.05) ? ' LIMIT 3' : ''}`
    }
  }

  #window(exprs: readonly string[], order: string): string {
    const partition = this.#random.pick([exprs[0]!, exprs.join(', ')])
    return this.#random.pick([
      `count(*) OVER (PARTITION BY ${partition})`,
      `rank() OVER (PARTITION BY ${partition} ORDER BY ${order})`,
      `count(*) OVER (PARTITION BY ${partition}) + count(*) OVER (PARTITION BY ${exprs.join(', ')})`,
    ])
  }

  /** A subquery over what a grouped query may name: its keys. */
  #scalar(exprs: readonly string[]): string {
    return this.#random.chance(0.15) ? ` || (SELECT count(*) FROM lab.tag s WHERE s.label = ${exprs[0]})` : ''
  }

  #keyExpression(items: readonly Item[]): string {
    const random = this.#random
    const column = this.#column(items)
    return random.chance(0.75)
      ? `${column}::text`
      : random.pick([`coalesce(${column}::text, '0')`, `upper(${column}::text)`, `concat('k', ${column})`])
  }

  #column(items: readonly Item[]): string {
    const item = this.#random.pick(items)
    return `${item.alias}.${this.#random.pick(Object.keys(item.columns))}`
  }

  /** One item joined with `more` others, some of them joins in brackets. */
  #join(more: number, outside: readonly Item[] = []): From {
    const random = this.#random
    let from = this.#item(outside)
    for (let left = more; left > 0; left--) {
      const right = random.chance(0.2) ? this.#bracketed() : this.#item([...outside, ...from.items])
      const isLateral = right.items.some((item) => item.isLateral)
      const kind = random.pick(
        isLateral
          ? ['JOIN', 'LEFT JOIN', 'CROSS JOIN']
          : ['JOIN', 'JOIN', 'LEFT JOIN', 'LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'CROSS JOIN'],
      )
      const on = kind === 'CROSS JOIN' ? '' : ` ON ${this.#on(from.items, right.items)}`
      from = { sql: `${from.sql} ${kind} ${right.sql}${on}`, items: [...from.items, ...right.items] }
    }
    return from
  }

  #bracketed(): From {
    const inner = this.#join(1)
    return { sql: `(${inner.sql})`, items: inner.items }
  }

  #on(left: readonly Item[], right: readonly Item[]): string {
    const random = this.#random
    const pairs = pairsOf(left, right)
    const conditions = random.some(pairs, random.chance(0.3) ? 2 : 1).map((pair) => this.#compared(pair))
    if (conditions.length === 0 || random.chance(0.05)) conditions.push('true')
    if (random.chance(0.25)) conditions.push(this.#filter([...left, ...right]))
    if (random.chance(0.12)) conditions.push(this.#exists([...left, ...right]) ?? 'true')
    return conditions.join(' AND ')
  }

  #compared([left, right]: readonly [string, string]): string {
    return this.#random.chance(0.08) ? `${left} < ${right}` : `${left} = ${right}`
  }

  #filter(items: readonly Item[]): string {
    const random = this.#random
    const item = random.pick(items)
    const [name, domain] = random.pick(Object.entries(item.columns))
    const column = `${item.alias}.${name}`
    if (random.chance(0.2)) return random.pick([`${column} IS NOT NULL`, `${column} IS NULL`])
    if (domain === 'word') return `${column} <> '${random.pick(WORDS)}'`
    return random.pick([`${column} > 2`, `coalesce(${column}, 0) <> 3`, `${column} % 2 = 0`])
  }

  #where({ items }: From): string {
    const random = this.#random
    const conditions: string[] = []
    if (random.chance(0.25)) conditions.push(this.#filter(items))
    if (random.chance(0.3)) conditions.push(this.#exists(items) ?? 'true')
    const pairs = items.length > 1 ? pairsOf(items.slice(0, 1), items.slice(1)) : []
    if (pairs.length > 0 && random.chance(0.2)) conditions.push(this.#compared(random.pick(pairs)))
    if (random.chance(0.1)) conditions.push(`(${this.#filter(items)} OR ${this.#exists(items) ?? 'false'})`)
    return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  }

  /** A condition with a subquery that may name the outer items. */
  #exists(items: readonly Item[]): string | null {
    const random = this.#random
    const inner = this.#join(random.chance(0.25) ? 1 : 0)
    const pairs = pairsOf(items, inner.items)
    if (pairs.length === 0) return null
    const [outer, own] = random.pick(pairs)
    const filter = random.chance(0.4) ? ` AND ${this.#filter(inner.items)}` : ''
    const more = random.chance(0.2) ? ` AND ${this.#compared(random.pick(pairs))}` : ''
    return random.pick([
      `EXISTS (SELECT 1 FROM ${inner.sql} WHERE ${outer} = ${own}${more}${filter})`,
      `NOT EXISTS (SELECT 1 FROM ${inner.sql} WHERE ${outer} = ${own}${more}${filter})`,
      `${outer} IN (SELECT ${own} FROM ${inner.sql} WHERE true${filter})`,
      `${outer} NOT IN (SELECT ${own} FROM ${inner.sql} WHERE ${own} IS NOT NULL${filter})`,
      `${outer} = ANY (SELECT ${own} FROM ${inner.sql} WHERE true${more}${filter})`,
      `(SELECT count(*) FROM ${inner.sql} WHERE ${outer} = ${own}${filter}) < 2`,
    ])
  }

  /** A value with a subquery. */
  #subquery(items: readonly Item[]): string | null {
    const random = this.#random
    if (random.chance(0.6)) return null
    const inner = this.#join(random.chance(0.25) ? 1 : 0)
    const pairs = pairsOf(items, inner.items)
    if (pairs.length === 0) return null
    const [outer, own] = random.pick(pairs)
    const column = `${this.#column(inner.items)}::text`
    return random.pick([
      `(SELECT count(*) FROM ${inner.sql} WHERE ${own} = ${outer})`,
      `(SELECT max(${column}) FROM ${inner.sql} WHERE ${own} = ${outer})`,
      `(SELECT ${column} FROM ${inner.sql} WHERE ${own} = ${outer} ORDER BY ${column} LIMIT 1)`,
      `(SELECT max(${column}) FROM ${inner.sql})`,
    ])
  }

  #item(before: readonly Item[]): From {
    const random = this.#random
    if (random.chance(0.08)) return this.#functionRows(before)
    if (random.chance(0.06)) return this.#fullJoin()
    if (random.chance(0.3)) return this.#derived(before)
    const isView = random.chance(0.1)
    const [name, columns] = random.pick(Object.entries(isView ? VIEWS : TABLES))
    const alias = this.#alias()
    return { sql: `lab.${name} ${alias}`, items: [{ alias, columns }] }
  }

  /** Rows that a function makes of columns of the items before it. */
  #functionRows(before: readonly Item[]): From {
    const random = this.#random
    const alias = this.#alias()
    const all = domainColumns(before)
    if (all.length === 0 || random.chance(0.2)) {
      const columns: Columns = { c0: 'number' }
      return { sql: `generate_series(1, 3) AS ${alias}(c0)`, items: [{ alias, columns, isLateral: true }] }
    }
    const { domain } = random.pick(all)
    const hasOrdinality = random.chance(0.3)
    const columns: Columns = { c0: domain, ...(hasOrdinality ? { n: 'number' as const } : {}) }
    const names = Object.keys(columns).join(', ')
    const how = hasOrdinality ? 'WITH ORDINALITY ' : ''
    return {
      sql: `unnest(${this.#array(all, domain)}) ${how}AS ${alias}(${names})`,
      items: [{ alias, columns, isLateral: true }],
    }
  }

  #array(all: readonly { column: string; domain: Domain }[], domain: Domain): string {
    const columns = this.#random.some(
      all.filter((each) => each.domain === domain),
      2,
    )
    return `ARRAY[${columns.map(({ column }) => column).join(', ')}]`
  }

  /** Of an aggregate and a table, by columns of one domain. */
  #fullJoin(): From {
    const random = this.#random
    const domain = random.pick(['film', 'person', 'number', 'word'] as const)
    const uses = Object.entries(TABLES).flatMap(([table, own]) =>
      Object.entries(own).flatMap(([name, each]) => (each === domain ? [{ table, name }] : [])),
    )
    const [one, other] = [random.pick(uses), random.pick(uses)]
    const [x, y] = [
      `(SELECT ${one.name} AS c0, count(*)::int AS n FROM lab.${one.table} GROUP BY 1) x`,
      `(SELECT ${other.name} AS c0 FROM lab.${other.table}) y`,
    ]
    const alias = this.#alias()
    const sql = random.pick([
      `SELECT c0, x.n FROM ${x} FULL JOIN ${y} USING (c0)`,
      `SELECT coalesce(x.c0, y.c0) AS c0, x.n FROM ${x} FULL JOIN ${y} ON y.c0 = x.c0`,
      `SELECT y.c0, x.n FROM ${x} FULL JOIN ${y} ON x.c0 = y.c0`,
    ])
    return { sql: `(${sql}) ${alias}`, items: [{ alias, columns: { c0: domain, n: 'number' } }] }
  }

  #derived(before: readonly Item[]): From {
    const random = this.#random
    const isLateral = before.length > 0 && random.chance(0.35)
    const inner = this.#join(random.chance(0.4) ? 1 : 0)
    const pairs = isLateral ? pairsOf(before, inner.items) : []
    const conditions = [
      ...random.some(pairs, 2).map((pair) => this.#compared(pair)),
      ...(random.chance(0.3) ? [this.#filter(inner.items)] : []),
    ]
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
    const alias = this.#alias()
    const made = this.#derivedSelect(inner, where)
    const lateral = isLateral ? 'LATERAL ' : ''
    return {
      sql: `${lateral}(${made.sql}) ${alias}`,
      items: [{ alias, columns: made.columns, isLateral }],
    }
  }

  #derivedSelect(inner: From, where: string): { sql: string; columns: Columns } {
    const random = this.#random
    const chosen = random.some(domainColumns(inner.items), random.int(2) + 1)
    const columns = Object.fromEntries(chosen.map(({ domain }, place) => [`c${place}`, domain]))
    const out = chosen.map(({ column }, place) => `${column} AS c${place}`).join(', ')
    const [first] = chosen
    const body = `FROM ${inner.sql}${where}`
    const order = allColumns(inner.items)
    switch (
      random.pick([
        'plain',
        'plain',
        'group',
        'group',
        'one',
        'distinct',
        'on',
        'window',
        'limit',
        'set',
        'constant',
        'rows',
        'dependent',
      ])
    ) {
      case 'group':
        return {
          sql: `SELECT ${out}, count(*)::int AS n ${body} GROUP BY ${chosen.map(({ column }) => column).join(', ')}`,
          columns: { ...columns, n: 'number' },
        }
      case 'one':
        return {
          sql: `SELECT count(*)::int AS n, max(${first!.column}) AS c0 ${body}`,
          columns: { n: 'number', c0: first!.domain },
        }
      case 'distinct':
        return { sql: `SELECT DISTINCT ${out} ${body}`, columns }
      case 'on':
        return {
          sql: `SELECT DISTINCT ON (${first!.column}) ${out} ${body} ORDER BY ${first!.column}, ${order}`,
          columns,
        }
      case 'window':
        return {
          sql: `SELECT ${out}, (row_number() OVER (PARTITION BY ${first!.column} ORDER BY ${order}))::int AS n ${body}`,
          columns: { ...columns, n: 'number' },
        }
      case 'limit':
        return { sql: `SELECT ${out} ${body} ORDER BY ${order} LIMIT 2`, columns }
      case 'set': {
        const other = Object.entries(TABLES).flatMap(([table, own]) =>
          Object.entries(own).flatMap(([name, domain]) =>
            domain === first!.domain ? [`SELECT ${name} FROM lab.${table}`] : [],
          ),
        )
        return {
          sql: `SELECT ${first!.column} AS c0 ${body} ${this.#setOperator()} ${random.pick(other)}`,
          columns: { c0: first!.domain },
        }
      }
      case 'dependent': {
        // Other columns of a table may be selected if its primary key is in GROUP BY.
        const whole = inner.items.filter((item) => 'id' in item.columns)
        if (whole.length === 0) return { sql: `SELECT ${out} ${body}`, columns }
        const { alias, columns: own } = random.pick(whole)
        const other = random.pick(Object.keys(own))
        return {
          sql: `SELECT ${alias}.id AS c0, ${alias}.${other} AS c1, count(*)::int AS n ${body} GROUP BY ${alias}.id`,
          columns: { c0: own.id!, c1: own[other]!, n: 'number' },
        }
      }
      case 'rows': {
        const array = this.#array(domainColumns(inner.items), first!.domain)
        const second = random.chance(0.5) ? ', generate_series(1, 2) AS n' : ''
        return {
          sql: `SELECT ${out}, unnest(${array}) AS u${second} ${body}`,
          columns: { ...columns, u: first!.domain, ...(second === '' ? {} : { n: 'number' as const }) },
        }
      }
      case 'constant':
        return {
          sql: `SELECT ${out}, 1 AS n, 'x'::text AS w ${body}`,
          columns: { ...columns, n: 'number', w: 'word' },
        }
      default:
        return { sql: `SELECT ${out} ${body}`, columns }
    }
  }
}

function domainColumns(items: readonly Item[]): { column: string; domain: Domain }[] {
  return items.flatMap(({ alias, columns }) =>
    Object.entries(columns).map(([name, domain]) => ({ column: `${alias}.${name}`, domain })),
  )
}

function pairsOf(left: readonly Item[], right: readonly Item[]): (readonly [string, string])[] {
  return domainColumns(left).flatMap((one) =>
    domainColumns(right).flatMap((other) =>
      one.domain === other.domain ? [[one.column, other.column] as const] : [],
    ),
  )
}

function allColumns(items: readonly Item[]): string {
  return domainColumns(items)
    .map(({ column }) => column)
    .join(', ')
}
