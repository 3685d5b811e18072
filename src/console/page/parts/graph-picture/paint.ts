// Draws a picture of a graph on a canvas. Shapes of one colour are one path, and what is outside the canvas is not drawn, so that a
// frame with 5,000 elements takes some milliseconds without a graphics processor. Text is drawn as text.
import { INVISIBLE_CHARACTER } from '../../../../kernel/text/invisible-characters.ts'
import {
  type PictureCamera,
  type PictureEdge,
  type PictureNode,
  type PicturePoint,
  type PictureSize,
  screenRadius,
} from './picture.ts'

/** The colours of a picture, as the canvas takes them. */
export interface PictureColours {
  readonly surface: string
  readonly text: string
  readonly soft: string
  readonly line: string
  readonly accent: string
  /** Of the kinds of nodes. */
  readonly kinds: readonly string[]
}

/** A graph with the state that decides how it is drawn. */
interface PaintedPicture {
  readonly graph: IndexedGraph
  readonly places: ReadonlyMap<string, PicturePoint>
  readonly camera: PictureCamera
  readonly size: PictureSize
  readonly colours: PictureColours
  /** The index of the colour of a kind. */
  readonly colourOf: (kind: string) => number
  readonly selected: string | null
  /** Under the pointer. */
  readonly hovered: string | null
  readonly pinned: ReadonlySet<string>
}

/** An edge, the indexes of its nodes, and its curve. */
export interface EdgeShape {
  readonly edge: PictureEdge
  readonly source: number
  readonly target: number
  /** Pixels from the straight line at its middle; edges between the same nodes do not cover each other. */
  readonly bend: number
}

/** Nodes and edges by index: a frame has no time for keys. */
export interface IndexedGraph {
  readonly nodes: readonly PictureNode[]
  readonly shapes: readonly EdgeShape[]
}

const BEND_STEP = 34
const LOOP_RADIUS = 16
/** A node with a smaller radius on the screen is a square. */
const SQUARE_MAX = 3.5
const ARROW_LENGTH = 9
const ARROW_SCALE_MIN = 0.3
const LABEL_SCALE_MIN = 0.42
const EDGE_LABEL_SCALE_MIN = 0.6
const LABELS_MAX = 220
const EDGE_LABELS_MAX = 120
const LABEL_CHARACTERS = 22
const CHARACTER_WIDTH = 6.4
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
const EDGE_FONT = '10.5px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace'
const MARGIN = 40
/** Characters that are invisible, or change the direction of what follows. */
const UNSEEN = new RegExp(`[\\n\\t]|${INVISIBLE_CHARACTER}`, 'gu')
/** So few nodes have labels at any scale. */
const LABELLED_MIN = 80

/** Indexes nodes and edges, and gives edges their curves. Edges without their nodes are left out. */
export function indexed(nodes: readonly PictureNode[], edges: readonly PictureEdge[]): IndexedGraph {
  const indexes = new Map(nodes.map(({ key }, index) => [key, index]))
  const pairs = new Map<number, number>()
  const pairOf = (source: number, target: number): number =>
    Math.min(source, target) * nodes.length + Math.max(source, target)
  const ends = edges.flatMap((edge) => {
    const source = indexes.get(edge.source)
    const target = indexes.get(edge.target)
    if (source === undefined || target === undefined) return []
    const pair = pairOf(source, target)
    const index = pairs.get(pair) ?? 0
    pairs.set(pair, index + 1)
    return [{ edge, source, target, index }]
  })
  const shapes = ends.map(({ edge, source, target, index }) => {
    if (source === target) return { edge, source, target, bend: index }
    const offset = (index - ((pairs.get(pairOf(source, target)) ?? 1) - 1) / 2) * BEND_STEP
    // The sides of both directions are opposite.
    return { edge, source, target, bend: source < target ? offset : -offset }
  })
  return { nodes, shapes }
}

/** Places and radii on the screen by the index of a node. A node without a place is not a number. */
interface ScreenPlaces {
  readonly x: Float64Array
  readonly y: Float64Array
  readonly radius: Float64Array
}

/** Draws everything. The canvas must have the size of the picture times `ratio`. */
export function paint(context: CanvasRenderingContext2D, picture: PaintedPicture, ratio: number): void {
  const { graph, camera, size, places, selected, hovered, colours } = picture
  const { nodes } = graph
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, size.width, size.height)
  const screen: ScreenPlaces = {
    x: new Float64Array(nodes.length),
    y: new Float64Array(nodes.length),
    radius: new Float64Array(nodes.length),
  }
  const visible: number[] = []
  nodes.forEach((node, index) => {
    const place = places.get(node.key)
    const x = place === undefined ? Number.NaN : (place.x - camera.x) * camera.scale + size.width / 2
    const y = place === undefined ? Number.NaN : (place.y - camera.y) * camera.scale + size.height / 2
    screen.x[index] = x
    screen.y[index] = y
    screen.radius[index] = screenRadius(node, camera.scale)
    if (isInside(x, y, size)) visible.push(index)
  })
  const focused = new Set([selected, hovered].filter((key) => key !== null))
  const [plain, strong] = edgesOf(picture, screen, focused)
  context.lineCap = 'round'
  strokeEdges(context, plain, screen, colours.line, camera.scale > 0.25 ? 1.2 : 0.8, camera.scale)
  strokeEdges(context, strong, screen, colours.accent, 2, camera.scale)
  if (camera.scale >= EDGE_LABEL_SCALE_MIN) labelEdges(context, [...strong, ...plain], screen, colours, size)
  else labelEdges(context, strong.slice(0, 12), screen, colours, size)
  fillNodes(context, visible, picture, screen)
  markNodes(context, visible, picture, screen)
  labelNodes(context, visible, picture, screen, focused)
}

function isInside(x: number, y: number, { width, height }: PictureSize): boolean {
  return x > -MARGIN && y > -MARGIN && x < width + MARGIN && y < height + MARGIN
}

/** The visible edges: the ones that are not marked, and the ones of the selected and the hovered element. */
function edgesOf(
  { graph, size }: PaintedPicture,
  { x, y }: ScreenPlaces,
  focused: ReadonlySet<string>,
): readonly [readonly EdgeShape[], readonly EdgeShape[]] {
  const plain: EdgeShape[] = []
  const strong: EdgeShape[] = []
  const [right, bottom] = [size.width + MARGIN, size.height + MARGIN]
  for (const shape of graph.shapes) {
    const { edge, source, target } = shape
    const [x1 = Number.NaN, y1 = Number.NaN, x2 = Number.NaN, y2 = Number.NaN] = [
      x[source],
      y[source],
      x[target],
      y[target],
    ]
    if ((x1 < -MARGIN && x2 < -MARGIN) || (x1 > right && x2 > right)) continue
    if ((y1 < -MARGIN && y2 < -MARGIN) || (y1 > bottom && y2 > bottom)) continue
    // A node without a place.
    if (Number.isNaN(x1 + x2)) continue
    const isStrong = focused.size > 0 && (focused.has(edge.key) || focused.has(edge.source) || focused.has(edge.target))
    if (isStrong) strong.push(shape)
    else plain.push(shape)
  }
  return [plain, strong]
}

function pointOf({ x, y }: ScreenPlaces, index: number): PicturePoint {
  return { x: x[index] ?? 0, y: y[index] ?? 0 }
}

/** The middle of a curved edge, which its curve goes through. */
export function middleOf({ bend }: EdgeShape, from: PicturePoint, to: PicturePoint, scale: number): PicturePoint {
  const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2]
  if (bend === 0) return { x, y }
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
  const off = bend * Math.min(1, scale)
  return { x: x - ((to.y - from.y) / length) * off, y: y + ((to.x - from.x) / length) * off }
}

/** The centre and the radius of an edge from a node to itself. */
export function loopOf({ bend }: EdgeShape, at: PicturePoint, radius: number, scale: number) {
  const loop = Math.max(4, (LOOP_RADIUS + bend * 8) * Math.min(1.4, scale))
  return { x: at.x, y: at.y - radius - loop * 0.7, radius: loop }
}

function strokeEdges(
  context: CanvasRenderingContext2D,
  shapes: readonly EdgeShape[],
  screen: ScreenPlaces,
  colour: string,
  width: number,
  scale: number,
): void {
  if (shapes.length === 0) return
  const hasArrows = scale >= ARROW_SCALE_MIN
  context.beginPath()
  const heads: number[] = []
  for (const shape of shapes) {
    const { source, target, bend } = shape
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = [screen.x[source], screen.y[source], screen.x[target], screen.y[target]]
    const targetRadius = screen.radius[target] ?? 0
    if (source === target) {
      const { x, y, radius } = loopOf(shape, { x: x1, y: y1 }, targetRadius, scale)
      context.moveTo(x + radius, y)
      context.arc(x, y, radius, 0, 2 * Math.PI)
      continue
    }
    context.moveTo(x1, y1)
    if (bend === 0 && !hasArrows) {
      context.lineTo(x2, y2)
      continue
    }
    const middle = middleOf(shape, { x: x1, y: y1 }, { x: x2, y: y2 }, scale)
    // The control point of a curve through the middle.
    const [cx, cy] = [2 * middle.x - (x1 + x2) / 2, 2 * middle.y - (y1 + y2) / 2]
    const length = Math.hypot(x2 - cx, y2 - cy) || 1
    const [ux, uy] = [(x2 - cx) / length, (y2 - cy) / length]
    const gap = hasArrows ? targetRadius + 2 : 0
    const [ex, ey] = [x2 - ux * gap, y2 - uy * gap]
    if (bend === 0) context.lineTo(ex, ey)
    else context.quadraticCurveTo(cx, cy, ex, ey)
    if (hasArrows) heads.push(ex, ey, ux, uy)
  }
  context.strokeStyle = colour
  context.lineWidth = width
  context.stroke()
  if (hasArrows) fillHeads(context, heads, colour, ARROW_LENGTH * Math.min(1.2, Math.max(0.6, scale)))
}

/** `heads`: for each arrow its point and its direction. */
function fillHeads(context: CanvasRenderingContext2D, heads: readonly number[], colour: string, length: number): void {
  context.beginPath()
  for (let at = 0; at < heads.length; at += 4) {
    const [x = 0, y = 0, ux = 0, uy = 0] = [heads[at], heads[at + 1], heads[at + 2], heads[at + 3]]
    const [bx, by, half] = [x - ux * length, y - uy * length, length * 0.42]
    context.moveTo(x, y)
    context.lineTo(bx - uy * half, by + ux * half)
    context.lineTo(bx + uy * half, by - ux * half)
  }
  context.fillStyle = colour
  context.fill()
}

function labelEdges(
  context: CanvasRenderingContext2D,
  shapes: readonly EdgeShape[],
  screen: ScreenPlaces,
  { surface, soft }: PictureColours,
  size: PictureSize,
): void {
  context.font = EDGE_FONT
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.lineJoin = 'round'
  let count = 0
  for (const shape of shapes) {
    const text = shortened(shape.edge.title)
    if (text === '') continue
    const from = pointOf(screen, shape.source)
    const to = pointOf(screen, shape.target)
    const isLoop = shape.source === shape.target
    const length = Math.hypot(to.x - from.x, to.y - from.y)
    if (!isLoop && length < text.length * CHARACTER_WIDTH + 34) continue
    const loop = loopOf(shape, from, screen.radius[shape.target] ?? 0, 1)
    const at = isLoop ? { x: loop.x, y: loop.y - loop.radius } : middleOf(shape, from, to, 1)
    if (!isInside(at.x, at.y, size)) continue
    count += 1
    if (count > EDGE_LABELS_MAX) return
    const angle = isLoop ? 0 : Math.atan2(to.y - from.y, to.x - from.x)
    context.save()
    context.translate(at.x, at.y)
    // Never upside down.
    context.rotate(Math.abs(angle) > Math.PI / 2 ? angle + Math.PI : angle)
    context.strokeStyle = surface
    context.lineWidth = 5
    context.strokeText(text, 0, 0)
    context.fillStyle = soft
    context.fillText(text, 0, 0)
    context.restore()
  }
}

function fillNodes(
  context: CanvasRenderingContext2D,
  visible: readonly number[],
  { graph, colours, colourOf, camera }: PaintedPicture,
  screen: ScreenPlaces,
): void {
  const byColour: number[][] = colours.kinds.map(() => [])
  for (const index of visible) byColour[colourOf(graph.nodes[index]?.kind ?? '') % byColour.length]?.push(index)
  // A small square looks like a circle, and is faster.
  byColour.forEach((indexes, colour) => {
    if (indexes.length === 0) return
    context.beginPath()
    for (const index of indexes) {
      const [x = 0, y = 0, radius = 0] = [screen.x[index], screen.y[index], screen.radius[index]]
      if (radius < SQUARE_MAX) context.rect(x - radius, y - radius, 2 * radius, 2 * radius)
      else {
        context.moveTo(x + radius, y)
        context.arc(x, y, radius, 0, 2 * Math.PI)
      }
    }
    context.fillStyle = colours.kinds[colour] ?? colours.soft
    context.fill()
    if (camera.scale < 0.2) return
    context.strokeStyle = colours.surface
    context.lineWidth = 1.5
    context.stroke()
  })
}

/** Rings around the selected and the hovered node, and a dot in pinned ones. */
function markNodes(
  context: CanvasRenderingContext2D,
  visible: readonly number[],
  { graph, selected, hovered, pinned, colours }: PaintedPicture,
  screen: ScreenPlaces,
): void {
  for (const index of visible) {
    const key = graph.nodes[index]?.key ?? ''
    if (key !== selected && key !== hovered && !pinned.has(key)) continue
    const { x, y } = pointOf(screen, index)
    const radius = screen.radius[index] ?? 0
    if (pinned.has(key)) {
      context.beginPath()
      context.arc(x, y, Math.max(1.5, radius * 0.3), 0, 2 * Math.PI)
      context.fillStyle = colours.surface
      context.fill()
    }
    if (key !== selected && key !== hovered) continue
    context.beginPath()
    context.arc(x, y, radius + 4, 0, 2 * Math.PI)
    context.strokeStyle = key === selected ? colours.accent : colours.soft
    context.lineWidth = key === selected ? 3 : 1.5
    context.stroke()
  }
}

/** Labels under nodes, as far as they do not cover each other. */
function labelNodes(
  context: CanvasRenderingContext2D,
  visible: readonly number[],
  { graph, colours, camera }: PaintedPicture,
  screen: ScreenPlaces,
  focused: ReadonlySet<string>,
): void {
  const near = new Set<number>()
  if (focused.size > 0) {
    for (const index of visible) if (focused.has(graph.nodes[index]?.key ?? '')) near.add(index)
    for (const { edge, source, target } of graph.shapes) {
      if (focused.has(edge.key) || focused.has(edge.source)) near.add(target)
      if (focused.has(edge.key) || focused.has(edge.target)) near.add(source)
    }
  }
  const hasLabels = camera.scale >= LABEL_SCALE_MIN || visible.length <= LABELLED_MIN
  if (near.size === 0 && !hasLabels) return
  const first = visible.filter((index) => near.has(index))
  const rest = hasLabels ? visible.filter((index) => !near.has(index)) : []
  context.font = FONT
  context.textAlign = 'center'
  context.textBaseline = 'top'
  context.lineJoin = 'round'
  const taken = new LabelSpace()
  let count = 0
  for (const index of [...first, ...rest]) {
    if (count >= LABELS_MAX) return
    const { key = '', title = '' } = graph.nodes[index] ?? {}
    const text = shortened(title)
    const { x, y } = pointOf(screen, index)
    const top = y + (screen.radius[index] ?? 0) + 4
    if (!taken.take(x, top, text.length * CHARACTER_WIDTH, focused.has(key))) continue
    count += 1
    context.strokeStyle = colours.surface
    context.lineWidth = 3.5
    context.strokeText(text, x, top)
    context.fillStyle = colours.text
    context.fillText(text, x, top)
  }
}

/** The parts of the canvas that labels cover, in cells. */
class LabelSpace {
  private readonly cells = new Set<string>()

  /** Returns false if another label is there. `isForced`: takes the space anyway. */
  take(x: number, top: number, width: number, isForced: boolean): boolean {
    const cells: string[] = []
    for (let column = Math.floor((x - width / 2) / 8); column <= Math.floor((x + width / 2) / 8); column++)
      for (let row = Math.floor(top / 8); row <= Math.floor((top + 13) / 8); row++) cells.push(`${column} ${row}`)
    if (!isForced && cells.some((cell) => this.cells.has(cell))) return false
    for (const cell of cells) this.cells.add(cell)
    return true
  }
}

function shortened(text: string): string {
  const line = text.length > 4 * LABEL_CHARACTERS ? text.slice(0, 4 * LABEL_CHARACTERS) : text
  const characters = [...line.replace(/\s+/g, ' ').replace(UNSEEN, '\uFFFD')]
  return characters.length <= LABEL_CHARACTERS
    ? characters.join('')
    : `${characters.slice(0, LABEL_CHARACTERS - 1).join('')}…`
}
