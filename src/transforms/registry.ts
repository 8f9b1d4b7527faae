import { didYouMean } from '../config/did-you-mean.js'
import { VitrinaError } from '../model/errors.js'
import type {
  OutputListener,
  TransformChain,
  TransformHosts,
  TransformInfo,
  TransformList,
} from '../ports/transforms.js'
import type { Column } from '../sql/selection.js'
import { Chain } from './chain.js'
import { columnsAfter, requireDistinct } from './columns.js'
import type { Limits } from './failures.js'
import type { Language } from './host.js'
import { LanguageCatalog, type LanguageList } from './language-catalog.js'
import { Segment, type SegmentPlan } from './segment.js'

/** All transforms of all languages, with unique names. */
export class TransformRegistry implements TransformHosts {
  readonly #catalogs: readonly LanguageCatalog[]
  readonly #limits: Limits
  readonly #open = new Set<Chain>()
  /** The folder of an entry: the same file name may exist in two of them. */
  readonly #languages = new WeakMap<TransformInfo, Language>()

  constructor(languages: readonly Language[], limits: Limits) {
    this.#catalogs = languages.map((language) => new LanguageCatalog(language))
    this.#limits = limits
  }

  async list(): Promise<TransformList> {
    const { items, problems } = await this.#list()
    return { items, problems }
  }

  async open(
    names: readonly string[],
    columns: readonly Column[],
    options: { readonly signal: AbortSignal; readonly onOutput: OutputListener },
  ): Promise<TransformChain> {
    const infos = names.length === 0 ? [] : findAll(names, await this.#list())
    if (infos.length > 0) requireDistinct(columns)
    const plans = this.#plan(infos, columns)
    const segments = plans.map((plan) => new Segment(plan, this.#limits, options.onOutput))
    const chain: Chain = new Chain(columns, segments, {
      signal: options.signal,
      closed: () => void this.#open.delete(chain),
    })
    this.#open.add(chain)
    try {
      await chain.open()
      return chain
    } catch (error) {
      await chain.close()
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((chain) => chain.close()))
  }

  async #list(): Promise<LanguageList> {
    const lists = await Promise.all(
      this.#catalogs.map(async (catalog) => {
        const list = await catalog.list()
        for (const item of list.items) this.#languages.set(item, catalog.language)
        return list
      }),
    )
    const whole = withoutDoubled({
      items: lists.flatMap(({ items }) => items),
      problems: lists.flatMap(({ problems }) => problems),
    })
    return { ...whole, missing: lists.find(({ missing }) => missing !== null)?.missing ?? null }
  }

  /** Consecutive functions of one folder share a host: values pass between them unchanged. */
  #plan(infos: readonly TransformInfo[], columns: readonly Column[]): SegmentPlan[] {
    const plans: (SegmentPlan & { steps: { name: string; columns: Column[] }[]; files: string[] })[] = []
    let current = columns
    for (const info of infos) {
      const after = columnsAfter(current, info)
      const last = plans.at(-1)
      const language = this.#languages.get(info)!
      const plan = last?.language === language ? last : { language, files: [], columns: current, steps: [] }
      if (plan !== last) plans.push(plan)
      plan.steps.push({ name: info.name, columns: after })
      const file = fileOf(info)
      if (!plan.files.includes(file)) plan.files.push(file)
      current = after
    }
    return plans
  }
}

function fileOf({ file }: TransformInfo): string {
  return file.slice(0, file.lastIndexOf(':'))
}

function findAll(names: readonly string[], list: LanguageList): TransformInfo[] {
  const found = names.map((name) => list.items.find((item) => item.name === name))
  const unknown = names.filter((_, n) => found[n] === undefined)
  // If the files cannot be read, it is unknown whether the task is registered.
  if (unknown.length > 0) throw list.missing ?? unknownTransforms(unknown, list)
  return found as TransformInfo[]
}

/** All missing names together, each with its own sentence. */
function unknownTransforms(names: readonly string[], { items, problems }: TransformList): VitrinaError {
  const known = items.map((item) => item.name)
  const unknown = [...new Set(names)].map((transform) => {
    const about = problems.find(({ message }) => message.includes(`"${transform}"`))
    const more = about === undefined ? didYouMean(transform, known) : ` ${about.message}`
    return { transform, detail: `No transform is registered as "${transform}".${more}` }
  })
  const [first] = problems
  const files =
    first === undefined ? '' : ` ${problems.length} files have problems, first ${problemText(first)}`
  return new VitrinaError(
    'TRANSFORM_UNKNOWN',
    unknown.map(({ detail }) => detail).join(' '),
    known.length === 0
      ? `Register it in a file of VITRINA_PYTHON_TASKS or VITRINA_TYPESCRIPT_TASKS.${files}`
      : `"vitrina tasks list" shows the registered tasks.${files}`,
    { facts: { unknown } },
  )
}

const problemText = ({ file, message }: TransformList['problems'][number]) =>
  message.includes(file) ? message : `${file}: ${message}`

/** Two functions with the same name: neither is used, because it might be the wrong one. */
function withoutDoubled({ items, problems }: TransformList): TransformList {
  const places = new Map<string, TransformInfo[]>()
  for (const item of items) places.set(item.name, [...(places.get(item.name) ?? []), item])
  const doubled = [...places.values()].filter((same) => same.length > 1)
  const messages = doubled.map((same) => ({
    file: same[0]!.file,
    message: `"${same[0]!.name}" is registered more than once: ${same.map((one) => `${one.file} (${one.language})`).join(', ')}.`,
  }))
  return {
    items: items
      .filter((item) => places.get(item.name)!.length === 1)
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    problems: [...problems, ...messages],
  }
}
