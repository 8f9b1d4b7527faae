import { parser } from '@prometheus-io/lezer-promql'

/** What an expression reads from the metrics. */
export interface Asked {
  readonly series: string
  readonly matchers: readonly { readonly label: string; readonly op: string; readonly value: string }[]
}

export interface PromqlExpression {
  readonly asked: readonly Asked[]
  /** Labels that it groups or joins by. */
  readonly groupedBy: readonly string[]
}

/** With the grammar of Prometheus itself. Throws on a syntax error. */
export function readPromql(text: string): PromqlExpression {
  // Grafana inserts a duration there.
  const query = text.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '6h')
  const asked: Asked[] = []
  const groupedBy: string[] = []
  const textOf = ({ from, to }: { from: number; to: number }) => query.slice(from, to)
  parser.parse(query).iterate({
    enter: (ref) => {
      const { node } = ref
      if (node.type.isError)
        throw new Error(`not PromQL near "${query.slice(Math.max(0, node.from - 20))}": ${text}`)
      if (node.name === 'GroupingLabels') groupedBy.push(...node.getChildren('LabelName').map(textOf))
      if (node.name !== 'VectorSelector') return
      const matchers = (node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []).map(
        (matcher) => ({
          label: textOf(matcher.getChild('LabelName')!),
          op: textOf(matcher.getChild('MatchOp')!),
          value: JSON.parse(textOf(matcher.getChild('StringLiteral')!)) as string,
        }),
      )
      asked.push({ series: textOf(node.getChild('Identifier')!), matchers })
    },
  })
  return { asked, groupedBy }
}
