import { type Document, isMap, isPair, isScalar, isSeq, type LineCounter, type Node, type Scalar } from 'yaml'
import type { FilePosition, SourceText } from './source-text.js'

type YamlPathSegment = string | number

/** The places of the parts of a document in its file. */
export class YamlPlaces {
  readonly #source: SourceText
  readonly #lines: LineCounter
  readonly #document: Document

  constructor(source: SourceText, lines: LineCounter, document: Document) {
    this.#source = source
    this.#lines = lines
    this.#document = document
  }

  /** The value at a path; if it does not exist, the nearest existing part around it. */
  ofValue(path: readonly YamlPathSegment[]): FilePosition {
    for (let length = path.length; length > 0; length--) {
      const node = this.#node(path.slice(0, length))
      if (node !== null && length === path.length) return this.#at(node)
      if (node !== null) return this.#atStart(node)
    }
    return this.#atStart(this.#document.contents as Node | null)
  }

  ofNode(node: Node): FilePosition {
    return this.#at(node)
  }

  /** The name of a field; without one, the start of the mapping. */
  ofKey(path: readonly YamlPathSegment[]): FilePosition {
    const mapping = this.#node(path.slice(0, -1))
    const pair = isMap(mapping)
      ? mapping.items.find((item) => isScalar(item.key) && item.key.value === path.at(-1))
      : undefined
    return isPair(pair) ? this.#at(pair.key as Node) : this.ofValue(path)
  }

  /** A place in the text of a value; if its lines are not those of the file, the value itself. */
  inText(path: readonly YamlPathSegment[], line: number, column: number): FilePosition {
    const node = this.#node(path)
    const start = this.#start(node)
    if (!isScalar(node) || start === null) return this.ofValue(path)
    if (node.type === 'BLOCK_LITERAL') return this.#inBlock(node, start.line + line, column)
    const written = this.#source.text.slice(node.range?.[0], node.range?.[1])
    // A folded text has other lines than the file.
    if (line > 1 || written.includes('\n') || node.type === 'BLOCK_FOLDED') return this.ofValue(path)
    const quote = node.type === 'PLAIN' ? 0 : 1
    return this.#source.place(start.line, start.col + quote + column - 1)
  }

  /** In a block, each line of the value is a line of the file, indented. */
  #inBlock(node: Scalar, line: number, column: number): FilePosition {
    const [first = ''] = String(node.value)
      .split('\n')
      .filter((text) => text.trim() !== '')
    const written = this.#source.text.slice(node.range?.[0]).split(/\r?\n/).slice(1)
    const raw = written.find((text) => text.trim() !== '') ?? ''
    return this.#source.place(line, Math.max(0, raw.trimEnd().length - first.trimEnd().length) + column)
  }

  #node(path: readonly YamlPathSegment[]): Node | null {
    let node = this.#document.contents as Node | null
    for (const step of path) {
      const next: unknown = isMap(node) || isSeq(node) ? node.get(step, true) : null
      node = (next ?? null) as Node | null
    }
    return node
  }

  #at(node: Node): FilePosition {
    const start = this.#start(node)
    if (start === null) return this.#source.place(1, 1)
    const isShort = isScalar(node) && node.type !== 'BLOCK_LITERAL' && node.type !== 'BLOCK_FOLDED'
    const [from = 0, to = 0] = node.range ?? []
    return this.#source.place(start.line, start.col, isShort ? Math.max(1, to - from) : 1)
  }

  #atStart(node: Node | null): FilePosition {
    const start = this.#start(node) ?? { line: 1, col: 1 }
    return this.#source.place(start.line, start.col)
  }

  #start(node: Node | null): { line: number; col: number } | null {
    return node?.range ? this.#lines.linePos(node.range[0]) : null
  }
}
