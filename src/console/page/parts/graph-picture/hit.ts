// The element of a picture at a point of the screen.
import { type EdgeShape, loopOf, middleOf } from './paint.ts'
import { type PictureNode, type PicturePoint, screenRadius } from './picture.ts'

/** Pixels between a point and an element that it still belongs to. */
const TOLERANCE = 6

/** The nearest node at a point, or null. `toPoint`: the place on the screen of a node. */
export function nodeAt(
  at: PicturePoint,
  nodes: readonly PictureNode[],
  toPoint: (key: string) => PicturePoint | null,
  scale: number,
): string | null {
  let best: string | null = null
  let bestDistance = Infinity
  for (const node of nodes) {
    const point = toPoint(node.key)
    if (point === null) continue
    const distance = Math.hypot(point.x - at.x, point.y - at.y) - screenRadius(node, scale)
    if (distance < Math.min(TOLERANCE, bestDistance)) {
      best = node.key
      bestDistance = distance
    }
  }
  return best
}

/** The nearest edge at a point, or null. */
export function edgeAt(
  at: PicturePoint,
  shapes: readonly EdgeShape[],
  toPoint: (key: string) => PicturePoint | null,
  scale: number,
  radiusOf: (key: string) => number,
): string | null {
  let best: string | null = null
  let bestDistance = TOLERANCE
  for (const shape of shapes) {
    const from = toPoint(shape.edge.source)
    const to = toPoint(shape.edge.target)
    if (from === null || to === null) continue
    const distance = edgeDistance(at, shape, from, to, scale, radiusOf(shape.edge.target))
    if (distance < bestDistance) {
      best = shape.edge.key
      bestDistance = distance
    }
  }
  return best
}

function edgeDistance(
  at: PicturePoint,
  shape: EdgeShape,
  from: PicturePoint,
  to: PicturePoint,
  scale: number,
  radius: number,
): number {
  if (shape.edge.source === shape.edge.target) {
    const loop = loopOf(shape, from, radius, scale)
    return Math.abs(Math.hypot(at.x - loop.x, at.y - loop.y) - loop.radius)
  }
  const middle = middleOf(shape, from, to, scale)
  return Math.min(lineDistance(at, from, middle), lineDistance(at, middle, to))
}

function lineDistance(at: PicturePoint, from: PicturePoint, to: PicturePoint): number {
  const [x, y] = [to.x - from.x, to.y - from.y]
  const along = ((at.x - from.x) * x + (at.y - from.y) * y) / (x * x + y * y || 1)
  const part = Math.min(1, Math.max(0, along))
  return Math.hypot(at.x - from.x - part * x, at.y - from.y - part * y)
}
