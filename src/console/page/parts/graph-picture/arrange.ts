// Places for the nodes of a picture. Each connected part begins as a tree around its best connected node and is then relaxed by forces;
// the parts are packed next to each other, and nodes without edges form blocks. The work is done in slices, so that the page stays
// responsive, and ends after a time limit. The result is the same for the same graph if the limit is not reached.
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from 'd3-force'
import { type PictureEdge, type PictureNode, type PicturePoint, RADIUS } from './picture.ts'

/** Places by the key of a node. */
export type PicturePlaces = Map<string, PicturePoint>

const EDGE_LENGTH = 115
const REPULSION = -340
/** Nodes further apart do not affect each other. */
const REPULSION_DISTANCE_MAX = 700
/** Steps of the forces. A large part has as many as fit into the time limit. */
const TICKS = 120
const TICKS_MIN = 40
const TICKS_MAX = 250
const LARGE_PART = 300
/** Of work, without the time of the rest of the page. */
const TIME_LIMIT_MS = 1500
const SLICE_MS = 10
/** Space between parts. */
const GAP = 96
const BLOCK_STEP = 74
/** More nodes than this are not kept from overlapping by a force of their own. */
const COLLIDE_MAX = 800
/** So few nodes may move when others are added. */
const KEPT_MIN = 2
/** New nodes next to more nodes than this are placed without forces. */
const LOCAL_MAX = 1500

interface MovingNode {
  readonly key: string
  readonly radius: number
  x: number
  y: number
  fx?: number
  fy?: number
}

/** Divides the work: the rest of the page runs between two slices. */
class WorkSlices {
  private workMs = 0
  private sliceMs = performance.now()

  private readonly onStep: () => void
  private readonly signal: AbortSignal

  constructor(onStep: () => void, signal: AbortSignal) {
    this.onStep = onStep
    this.signal = signal
  }

  /** Ends a slice if it has lasted long enough; `beforeStep` writes what it has found. Returns false when the work must end. */
  async next(beforeStep: () => void): Promise<boolean> {
    const nowMs = performance.now()
    if (nowMs - this.sliceMs < SLICE_MS) return true
    this.workMs += nowMs - this.sliceMs
    // Some more time lets a large part come to rest.
    if (this.workMs > 2 * TIME_LIMIT_MS) return false
    beforeStep()
    this.onStep()
    await new Promise((resolve) => setTimeout(resolve, 0))
    this.sliceMs = performance.now()
    return !this.signal.aborted
  }
}

/**
 * Gives places to all nodes. Nodes that have a place keep it; with `isAgain`, only those of `pinned` do. `anchorOf`: a new node begins
 * next to this one. Calls `onStep` when places have changed. Resolves early when the signal is aborted.
 */
export async function arrange(
  nodes: readonly PictureNode[],
  edges: readonly PictureEdge[],
  places: PicturePlaces,
  options: {
    readonly pinned: ReadonlySet<string>
    readonly isAgain: boolean
    readonly anchorOf: (key: string) => string | undefined
    readonly edgeLength?: number | undefined
    readonly onStep: () => void
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { pinned, isAgain, anchorOf, edgeLength = EDGE_LENGTH, onStep, signal } = options
  const keys = new Set(nodes.map(({ key }) => key))
  for (const key of [...places.keys()]) if (!keys.has(key)) places.delete(key)
  const isNew = nodes.filter(({ key }) => !places.has(key))
  const hasPinned = [...pinned].some((key) => places.has(key))
  const isFirst = isNew.length > 0 && places.size <= KEPT_MIN && !hasPinned
  if (isFirst || (isAgain && !hasPinned)) {
    await arrangeAll(nodes, edges, places, edgeLength, onStep, signal)
  } else if (isAgain) {
    const bodies = bodiesOf(nodes, places, (key) => pinned.has(key))
    await relax(bodies, edges, places, new WorkSlices(onStep, signal), TICKS, edgeLength)
    onStep()
  } else if (isNew.length > 0) {
    placeNew(isNew, edges, places, anchorOf)
    onStep()
    if (nodes.length > LOCAL_MAX) return
    const added = new Set(isNew.map(({ key }) => key))
    const bodies = bodiesOf(nodes, places, (key) => !added.has(key))
    await relax(bodies, edges, places, new WorkSlices(onStep, signal), TICKS / 2, edgeLength)
    onStep()
  }
}

async function arrangeAll(
  nodes: readonly PictureNode[],
  edges: readonly PictureEdge[],
  places: PicturePlaces,
  edgeLength: number,
  onStep: () => void,
  signal: AbortSignal,
): Promise<void> {
  const neighbours = neighboursOf(nodes, edges)
  const { parts, single } = partsOf(nodes, neighbours)
  for (const part of parts) placeAsTree(part, neighbours, places)
  const blocks = blocksOf(single, places)
  const groups = [...parts.map((part) => part.map(({ key }) => key)), ...blocks]
  const step = (): void => {
    pack(groups, places)
    onStep()
  }
  step()
  const partOf = new Map(parts.flatMap((part) => part.map(({ key }) => [key, part] as const)))
  const edgesOf = new Map<readonly PictureNode[] | undefined, PictureEdge[]>()
  for (const edge of edges) addTo(edgesOf, partOf.get(edge.source), edge)
  const slices = new WorkSlices(step, signal)
  for (const part of parts) {
    const isDone = await relax(
      bodiesOf(part, places, () => false),
      edgesOf.get(part) ?? [],
      places,
      slices,
      TICKS,
      edgeLength,
    )
    if (!isDone) break
  }
  if (!signal.aborted) step()
}

function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

function neighboursOf(
  nodes: readonly PictureNode[],
  edges: readonly PictureEdge[],
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>(nodes.map(({ key }) => [key, []]))
  for (const { source, target } of edges) {
    if (source === target) continue
    found.get(source)?.push(target)
    found.get(target)?.push(source)
  }
  return found
}

/** The connected parts, the largest first, and the nodes without a neighbour. */
function partsOf(nodes: readonly PictureNode[], neighbours: ReadonlyMap<string, readonly string[]>) {
  const byKey = new Map(nodes.map((node) => [node.key, node]))
  const seen = new Set<string>()
  const parts: PictureNode[][] = []
  const single: PictureNode[] = []
  for (const { key } of nodes) {
    if (seen.has(key)) continue
    seen.add(key)
    const queue = [key]
    for (const next of queue)
      for (const other of neighbours.get(next) ?? [])
        if (!seen.has(other)) {
          seen.add(other)
          queue.push(other)
        }
    const part = queue.flatMap((one) => byKey.get(one) ?? [])
    if (part.length === 1) single.push(...part)
    else parts.push(part)
  }
  return { parts: parts.sort((a, b) => b.length - a.length), single }
}

/** Places a part as a tree around its best connected node: each branch has an angle by its number of leaves. */
function placeAsTree(
  part: readonly PictureNode[],
  neighbours: ReadonlyMap<string, readonly string[]>,
  places: PicturePlaces,
): void {
  const degree = (key: string): number => neighbours.get(key)?.length ?? 0
  const root = part.reduce((best, { key }) => (degree(key) > degree(best) ? key : best), part[0]?.key ?? '')
  const children = new Map<string, string[]>()
  const seen = new Set([root])
  const order = [root]
  for (const key of order) {
    const own = (neighbours.get(key) ?? []).filter((other) => !seen.has(other) && seen.add(other))
    children.set(key, own)
    order.push(...own)
  }
  const leaves = new Map<string, number>()
  for (const key of order.toReversed()) {
    const own = children.get(key) ?? []
    leaves.set(key, own.length === 0 ? 1 : own.reduce((sum, child) => sum + (leaves.get(child) ?? 1), 0))
  }
  const depths = new Map([[root, 0]])
  for (const key of order) for (const child of children.get(key) ?? []) depths.set(child, (depths.get(key) ?? 0) + 1)
  const depthMax = Math.max(1, depths.get(order.at(-1) ?? root) ?? 1)
  // About the size that the forces will lead to.
  const ring = Math.min(1.3 * EDGE_LENGTH, Math.max(40, (Math.sqrt(part.length) * 50) / depthMax))
  const spans = new Map<string, { from: number; to: number }>([[root, { from: 0, to: 2 * Math.PI }]])
  for (const key of order) {
    const { from, to } = spans.get(key) ?? { from: 0, to: 2 * Math.PI }
    const angle = (from + to) / 2
    const distance = (depths.get(key) ?? 0) * ring
    places.set(key, { x: Math.cos(angle) * distance, y: Math.sin(angle) * distance })
    let at = from
    for (const child of children.get(key) ?? []) {
      const width = ((to - from) * (leaves.get(child) ?? 1)) / (leaves.get(key) ?? 1)
      spans.set(child, { from: at, to: at + width })
      at += width
    }
  }
}

/** Blocks of nodes without edges, one for each kind. */
function blocksOf(single: readonly PictureNode[], places: PicturePlaces): readonly (readonly string[])[] {
  const byKind = new Map<string, string[]>()
  for (const { kind, key } of single) addTo(byKind, kind, key)
  return [...byKind.values()].map((keys) => {
    const across = Math.ceil(Math.sqrt(keys.length * 1.6))
    keys.forEach((key, index) => {
      places.set(key, { x: (index % across) * BLOCK_STEP, y: Math.floor(index / across) * BLOCK_STEP })
    })
    return keys
  })
}

/** Moves whole groups so that none overlaps another: rows of about equal width, the first group first. */
function pack(groups: readonly (readonly string[])[], places: PicturePlaces): void {
  const boxes = groups.map((keys) => {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
    for (const key of keys) {
      const place = places.get(key)
      if (place === undefined) continue
      left = Math.min(left, place.x)
      right = Math.max(right, place.x)
      top = Math.min(top, place.y)
      bottom = Math.max(bottom, place.y)
    }
    return { keys, left, top, width: right - left + GAP, height: bottom - top + GAP }
  })
  const area = boxes.reduce((sum, { width, height }) => sum + width * height, 0)
  const rowWidth = Math.max(Math.sqrt(area * 1.7), ...boxes.map(({ width }) => width))
  let [x, y, rowHeight] = [0, 0, 0]
  for (const { keys, left, top, width, height } of boxes) {
    if (x > 0 && x + width > rowWidth) {
      x = 0
      y += rowHeight
      rowHeight = 0
    }
    for (const key of keys) {
      const place = places.get(key)
      if (place === undefined) continue
      place.x += x - left
      place.y += y - top
    }
    x += width
    rowHeight = Math.max(rowHeight, height)
  }
}

/** Places new nodes around their anchor or a neighbour, on the side with the most space. */
function placeNew(
  nodes: readonly PictureNode[],
  edges: readonly PictureEdge[],
  places: PicturePlaces,
  anchorOf: (key: string) => string | undefined,
): void {
  const neighbours = new Map<string, string[]>()
  for (const { source, target } of edges) {
    addTo(neighbours, source, target)
    addTo(neighbours, target, source)
  }
  const byAnchor = new Map<string | undefined, PictureNode[]>()
  for (const node of nodes) {
    const given = anchorOf(node.key)
    const anchor =
      given !== undefined && places.has(given) ? given : neighbours.get(node.key)?.find((key) => places.has(key))
    addTo(byAnchor, anchor, node)
  }
  const right = Math.max(0, ...[...places.values()].map(({ x }) => x))
  for (const [anchor, added] of byAnchor) {
    const centre = anchor === undefined ? undefined : places.get(anchor)
    if (centre === undefined) {
      added.forEach(({ key }, index) => {
        places.set(key, { x: right + GAP + EDGE_LENGTH, y: index * BLOCK_STEP })
      })
      continue
    }
    const old = (neighbours.get(anchor as string) ?? []).flatMap((key) => places.get(key) ?? [])
    const away = old.length === 0 ? 0 : awayFrom(centre, old)
    const spread = old.length === 0 ? 2 * Math.PI : Math.min(1.5 * Math.PI, 0.4 * added.length)
    added.forEach(({ key }, index) => {
      const angle = away + (added.length === 1 ? 0 : (index / added.length - 0.5 + 0.5 / added.length) * spread)
      // Two rings, so that many neighbours have space.
      const distance = EDGE_LENGTH * (added.length > 14 ? 1.3 + (index % 2) * 0.7 : 1)
      places.set(key, { x: centre.x + Math.cos(angle) * distance, y: centre.y + Math.sin(angle) * distance })
    })
  }
}

function awayFrom(centre: PicturePoint, old: readonly PicturePoint[]): number {
  const x = old.reduce((sum, point) => sum + centre.x - point.x, 0)
  const y = old.reduce((sum, point) => sum + centre.y - point.y, 0)
  return Math.atan2(y, x)
}

function bodiesOf(
  nodes: readonly PictureNode[],
  places: PicturePlaces,
  isFixed: (key: string) => boolean,
): readonly MovingNode[] {
  return nodes.map(({ key, radius = RADIUS }) => {
    const { x, y } = places.get(key) ?? { x: 0, y: 0 }
    return { key, radius, x, y, ...(isFixed(key) && { fx: x, fy: y }) }
  })
}

/** Relaxes nodes by forces. Returns false if it ended early. */
async function relax(
  bodies: readonly MovingNode[],
  edges: readonly PictureEdge[],
  places: PicturePlaces,
  slices: WorkSlices,
  ticks: number,
  edgeLength: number,
): Promise<boolean> {
  const keys = new Set(bodies.map(({ key }) => key))
  const links = edges
    .filter(({ source, target }) => source !== target && keys.has(source) && keys.has(target))
    .map(({ source, target }) => ({ source, target }))
  const centre = { x: mean(bodies, 'x'), y: mean(bodies, 'y') }
  const simulation = forceSimulation<MovingNode>([...bodies])
    .stop()
    .alphaDecay(decayFor(ticks))
    .velocityDecay(0.35)
    .force(
      'link',
      forceLink<MovingNode, { source: string | MovingNode; target: string | MovingNode }>(links)
        .id(({ key }) => key)
        .distance(({ source, target }) => edgeLength + radiusOf(source) + radiusOf(target) - 2 * RADIUS),
    )
    .force('repulsion', forceManyBody<MovingNode>().strength(REPULSION).distanceMax(REPULSION_DISTANCE_MAX).theta(1))
    .force('x', forceX<MovingNode>(centre.x).strength(0.03))
    .force('y', forceY<MovingNode>(centre.y).strength(0.04))
  if (bodies.length <= COLLIDE_MAX)
    simulation.force(
      'collide',
      forceCollide<MovingNode>(({ radius }) => radius + 14),
    )
  // The places may move as a whole between two slices, so only differences are written.
  const written = bodies.map(({ x, y }) => ({ x, y }))
  const write = (): void => {
    bodies.forEach(({ key, x, y }, index) => {
      const place = places.get(key)
      const before = written[index]
      if (place === undefined || before === undefined) return
      place.x += x - before.x
      place.y += y - before.y
      before.x = x
      before.y = y
    })
  }
  let isDone = true
  let last = ticks
  for (let tick = 0; tick < last && isDone; tick++) {
    const startMs = performance.now()
    simulation.tick()
    // The first step has built what the others use again.
    if (tick === 1 && bodies.length > LARGE_PART) {
      last = Math.min(TICKS_MAX, Math.max(TICKS_MIN, Math.round(TIME_LIMIT_MS / (performance.now() - startMs))))
      simulation.alphaDecay(decayFor(last))
    }
    isDone = await slices.next(write)
  }
  write()
  return isDone
}

/** The forces have almost ended after these steps. */
function decayFor(ticks: number): number {
  return 1 - 0.002 ** (1 / ticks)
}

function mean(bodies: readonly MovingNode[], axis: 'x' | 'y'): number {
  return bodies.reduce((sum, body) => sum + body[axis], 0) / Math.max(1, bodies.length)
}

function radiusOf(end: string | number | MovingNode): number {
  return typeof end === 'object' ? end.radius : RADIUS
}
