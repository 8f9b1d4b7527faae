import { type Command, Option } from 'commander'
import type { paths } from '../../client/api-types.js'
import { type FormatFlags, isData, printData } from '../output/format.js'
import { type Cell, hintAtNextPage, printTable } from '../output/print-table.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { type PageFlags, pageOrAll } from '../server/pages.js'
import { openServer, type Server } from '../server/server.js'
import type { Get } from '../server/wire.js'
import { type CommandHelp, readingCommand, wholeNumber } from './command.js'

/** Routes that return a list. */
type ListRoute = {
  [P in keyof paths]: Get<P> extends { items: unknown[] } ? P : never
}[keyof paths]
type Query<P extends ListRoute> = paths[P] extends { get: { parameters: { query?: infer Q } } }
  ? Partial<NonNullable<Q>>
  : never
type List<P extends ListRoute> = Get<P> & { items: Item<P>[]; next_cursor: string | null }
type Item<P extends ListRoute> = Get<P> extends { items: (infer I)[] } ? I : never

/** The cells of a row, by the heading of their column. */
export type ListColumns<T> = Readonly<Record<string, (item: T) => Cell>>

/** An option that selects items: by a parameter that has its value, or by computed parameters. */
type Filter<P extends ListRoute> = { readonly option: Option } & (
  | { readonly equals: keyof Query<P> & string }
  | { readonly query: (value: string, server: Server) => Query<P> | Promise<Query<P>> }
)

interface ListCommand<P extends ListRoute> extends CommandHelp {
  /** `{id}` stands for the pipeline that the usage names. */
  readonly route: P
  /** The parameters for the pipeline that the usage names, if the route has no `{id}`. */
  readonly ofPipeline?: (id: string) => Query<P>
  readonly filters?: readonly Filter<NoInfer<P>>[]
  /** Of a route with pages: the plural of what is listed, and the size of a page (default: all pages). */
  readonly pages?: { readonly of: string; readonly limit?: number }
  readonly columns:
    | ListColumns<Item<NoInfer<P>>>
    | ((pipeline: string | undefined) => ListColumns<Item<NoInfer<P>>>)
  /** Printed instead of an empty table. */
  readonly none: string
  /** Prints what does not fit into the table. */
  readonly after?: (answer: List<P>) => void
}

type Flags = ServerFlags & FormatFlags & PageFlags & Readonly<Record<string, unknown>>

/** A command that lists what a route of the API returns. */
export function listCommand<P extends ListRoute>(parent: Command, list: ListCommand<P>): void {
  const command = readingCommand(parent, list)
  for (const { option } of list.filters ?? []) command.addOption(option)
  if (list.pages !== undefined) addPageOptions(command, list.pages)
  const hasPipeline = command.registeredArguments.length > 0
  command.action((...given: unknown[]) => {
    const [name, flags] = hasPipeline ? given : [undefined, ...given]
    return show(list, name as string | undefined, flags as Flags)
  })
}

function addPageOptions(command: Command, { of, limit }: { of: string; limit?: number }): void {
  const maximum = `maximum number of ${of}`
  command
    .addOption(
      limit === undefined
        ? new Option('--limit <n>', `${maximum} (default: all)`).argParser(wholeNumber)
        : new Option('--limit <n>', maximum).argParser(wholeNumber).default(limit),
    )
    .option('--cursor <cursor>', 'show the page after this cursor')
}

async function show<P extends ListRoute>(
  list: ListCommand<P>,
  name: string | undefined,
  flags: Flags,
): Promise<void> {
  const server = await openServer(flags)
  const id = name === undefined ? undefined : (await findPipeline(server, name)).id
  const filter = {
    ...(await filterOf(list, flags, server)),
    ...(id !== undefined && list.ofPipeline?.(id)),
  }
  const read = (page: object) => {
    const params = { path: { id }, query: { ...filter, ...page } }
    return server.ask<List<P>>(server.api.GET(list.route as never, { params } as never) as never)
  }
  const answer = list.pages === undefined ? await read({}) : await pageOrAll(flags, read)
  if (isData(flags)) return printData(answer, flags)
  const columns = typeof list.columns === 'function' ? list.columns(name) : list.columns
  printItems(columns, answer.items as Item<P>[], list.none)
  if (list.pages !== undefined) hintAtNextPage(answer.next_cursor)
  list.after?.(answer as List<P>)
}

/** If two filters set the same parameter, the first wins. */
async function filterOf<P extends ListRoute>(
  { filters = [] }: ListCommand<P>,
  flags: Flags,
  server: Server,
): Promise<object> {
  let query = {}
  for (const filter of filters) {
    const value = flags[filter.option.attributeName()] as string | undefined
    if (value !== undefined) query = { ...(await parametersOf(filter, value, server)), ...query }
  }
  return query
}

/** An empty value selects everything. */
function parametersOf<P extends ListRoute>(
  filter: Filter<P>,
  value: string,
  server: Server,
): object | Promise<object> {
  if ('query' in filter) return filter.query(value, server)
  return value === '' ? {} : { [filter.equals]: value }
}

export function printItems<T>(columns: ListColumns<T>, items: readonly T[], none: string): void {
  const cells = Object.values(columns)
  printTable(
    Object.keys(columns),
    items.map((item) => cells.map((cell) => cell(item))),
    none,
  )
}
