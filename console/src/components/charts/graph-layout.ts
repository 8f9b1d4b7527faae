/** A card of the graph, and its size. */
export interface Box {
  readonly id: string
  readonly width: number
  readonly height: number
}

export interface Arrow {
  readonly from: string
  readonly to: string
}

export interface Placed {
  readonly x: number
  readonly y: number
}

export interface Layout {
  readonly places: ReadonlyMap<string, Placed>
  readonly width: number
  readonly height: number
}

const BETWEEN_LAYERS = 84
const BETWEEN_BOXES = 18
/** More passes make no visible difference. */
const SWEEPS = 8

/** Between unconnected parts. */
const BETWEEN_PARTS = 40

/**
 * Cards in layers from left to right, along the arrows. 200 lines instead of a library of 76 kB: the graphs are small and
 * mostly trees. Cycles, such as a pipeline that reads its own mart, are broken at one arrow. Connected components are laid
 * out separately, the largest first.
 */
export function layOut(boxes: readonly Box[], arrows: readonly Arrow[]): Layout {
  const parts = partsOf(boxes, arrows).map((part) => layOutPart(part, arrows))
  const places = new Map<string, Placed>()
  let top = 0
  for (const part of parts) {
    for (const [id, { x, y }] of part.places) places.set(id, { x, y: y + top })
    top += part.height + BETWEEN_PARTS
  }
  const width = Math.max(0, ...parts.map((part) => part.width))
  return { places, width, height: Math.max(0, top - BETWEEN_PARTS) }
}

function partsOf(boxes: readonly Box[], arrows: readonly Arrow[]): Box[][] {
  const neighbours = neighboursOf(arrows)
  const left = new Map(boxes.map((box) => [box.id, box]))
  const parts: Box[][] = []
  for (const box of boxes) {
    if (!left.delete(box.id)) continue
    const part = [box]
    for (const { id } of part)
      for (const other of neighbours.get(id) ?? []) {
        const found = left.get(other)
        if (found !== undefined && left.delete(other)) part.push(found)
      }
    parts.push(part)
  }
  return parts.sort((a, b) => b.length - a.length)
}

function layOutPart(boxes: readonly Box[], arrows: readonly Arrow[]): Layout {
  const straight = withoutCircles(boxes, arrows)
  const layers = layersOf(boxes, straight)
  const neighbours = neighboursOf(straight)
  for (let sweep = 0; sweep < SWEEPS; sweep++) order(layers, neighbours, sweep % 2 === 0)
  return toLayout(layers, settle(layers, neighbours))
}

function withoutCircles(boxes: readonly Box[], arrows: readonly Arrow[]): Arrow[] {
  const known = new Set(boxes.map(({ id }) => id))
  const out = grouped(
    arrows.filter(({ from, to }) => known.has(from) && known.has(to)),
    'from',
  )
  const state = new Map<string, 'open' | 'done'>()
  const kept: Arrow[] = []
  const visit = (id: string) => {
    state.set(id, 'open')
    for (const arrow of out.get(id) ?? []) {
      if (state.get(arrow.to) === 'open') continue
      kept.push(arrow)
      if (!state.has(arrow.to)) visit(arrow.to)
    }
    state.set(id, 'done')
  }
  // Sources first, so that a cycle is broken where it closes.
  const entered = new Set(arrows.map(({ to }) => to))
  const starts = [...boxes].sort((a, b) => Number(entered.has(a.id)) - Number(entered.has(b.id)))
  for (const { id } of starts) if (!state.has(id)) visit(id)
  return kept
}

function grouped(arrows: readonly Arrow[], end: keyof Arrow): Map<string, Arrow[]> {
  const found = new Map<string, Arrow[]>()
  for (const arrow of arrows) found.set(arrow[end], [...(found.get(arrow[end]) ?? []), arrow])
  return found
}

/** To the right of its sources; a source is directly left of its first reader. */
function layersOf(boxes: readonly Box[], arrows: readonly Arrow[]): Box[][] {
  const into = grouped(arrows, 'to')
  const out = grouped(arrows, 'from')
  const ranks = new Map<string, number>()
  const rank = (id: string): number => {
    const known = ranks.get(id)
    if (known !== undefined) return known
    const found = Math.max(-1, ...(into.get(id) ?? []).map(({ from }) => rank(from))) + 1
    ranks.set(id, found)
    return found
  }
  for (const { id } of boxes) rank(id)
  for (const { id } of boxes)
    if (!into.has(id) && out.has(id))
      ranks.set(id, Math.min(...out.get(id)!.map(({ to }) => ranks.get(to)!)) - 1)
  const least = Math.min(0, ...ranks.values())
  const layers: Box[][] = []
  for (const box of boxes) {
    const at = ranks.get(box.id)! - least
    layers[at] = [...(layers[at] ?? []), box]
  }
  return layers.filter((layer) => layer !== undefined)
}

type Neighbours = ReadonlyMap<string, readonly string[]>

function neighboursOf(arrows: readonly Arrow[]): Neighbours {
  const found = new Map<string, string[]>()
  for (const { from, to } of arrows)
    for (const [at, other] of [
      [from, to],
      [to, from],
    ] as const)
      found.set(at, [...(found.get(at) ?? []), other])
  return found
}

/** Each card moves to the average position of its neighbours: that removes most crossings. */
function order(layers: Box[][], neighbours: Neighbours, isForward: boolean): void {
  const places = new Map(layers.flatMap((layer) => layer.map(({ id }, n) => [id, n / layer.length] as const)))
  const walk = isForward ? layers : [...layers].reverse()
  for (const layer of walk) {
    const average = new Map(
      layer.map(({ id }) => [
        id,
        mean(
          (neighbours.get(id) ?? []).map((other) => places.get(other)!),
          places.get(id)!,
        ),
      ]),
    )
    layer.sort((a, b) => average.get(a.id)! - average.get(b.id)!)
    for (const [n, { id }] of layer.entries()) places.set(id, n / layer.length)
  }
}

function mean(values: readonly number[], otherwise: number): number {
  return values.length === 0 ? otherwise : values.reduce((sum, each) => sum + each, 0) / values.length
}

/** From top to bottom without overlap, each as close as possible to the average of its neighbours. */
function settle(layers: readonly Box[][], neighbours: Neighbours): Map<string, number> {
  const tops = new Map<string, number>()
  const heights = new Map(layers.flat().map(({ id, height }) => [id, height]))
  for (const layer of layers) stack(layer, tops, () => null)
  const middle = (id: string) => tops.get(id)! + heights.get(id)! / 2
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse())
      stack(layer, tops, ({ id, height }) => {
        const around = neighbours.get(id) ?? []
        return around.length === 0 ? null : mean(around.map(middle), 0) - height / 2
      })
  const least = Math.min(...tops.values())
  return new Map([...tops].map(([id, top]) => [id, Math.round(top - least)]))
}

function stack(
  layer: readonly Box[],
  tops: Map<string, number>,
  desiredTop: (box: Box) => number | null,
): void {
  const desired = layer.map((box) => desiredTop(box) ?? tops.get(box.id) ?? Number.NEGATIVE_INFINITY)
  let least = Number.NEGATIVE_INFINITY
  const placed = layer.map((box, n) => {
    const top = Math.max(
      Number.isFinite(desired[n]!) ? desired[n]! : least === Number.NEGATIVE_INFINITY ? 0 : least,
      least,
    )
    least = top + box.height + BETWEEN_BOXES
    return top
  })
  // Removing overlaps shifts cards down; move the layer back by the average shift.
  const pushed = mean(
    placed.map((top, n) => (Number.isFinite(desired[n]!) ? top - desired[n]! : 0)),
    0,
  )
  for (const [n, { id }] of layer.entries()) tops.set(id, placed[n]! - pushed)
}

function toLayout(layers: readonly Box[][], tops: ReadonlyMap<string, number>): Layout {
  const places = new Map<string, Placed>()
  let x = 0
  for (const layer of layers) {
    for (const { id } of layer) places.set(id, { x, y: tops.get(id)! })
    x += Math.max(...layer.map(({ width }) => width)) + BETWEEN_LAYERS
  }
  const height = Math.max(0, ...layers.flat().map(({ id, height: own }) => tops.get(id)! + own))
  return { places, width: Math.max(0, x - BETWEEN_LAYERS), height }
}

/** A curve that starts to the right and ends from the left. */
export function curve(from: Placed, to: Placed): string {
  const bend = Math.max(36, Math.abs(to.x - from.x) / 2)
  return `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`
}
