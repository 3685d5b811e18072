// A picture of a graph: its nodes and edges, their places, and the part of it that is visible.

/** A node of a picture. */
export interface PictureNode {
  readonly key: string
  /** Shown under the node. */
  readonly title: string
  /** Decides the colour, such as the type of the node. */
  readonly kind: string
  /** In pixels at scale 1. Default: `RADIUS`. */
  readonly radius?: number
}

/** An edge of a picture. */
export interface PictureEdge {
  readonly key: string
  readonly source: string
  readonly target: string
  /** Shown on the edge. */
  readonly title: string
}

/** A place in the picture, in pixels at scale 1. It changes while the picture is arranged. */
export interface PicturePoint {
  x: number
  y: number
}

/** The visible part: the point at the centre, and pixels of the screen for a pixel of the picture. */
export interface PictureCamera {
  readonly x: number
  readonly y: number
  readonly scale: number
}

/** The size of an area of the screen in CSS pixels. */
export interface PictureSize {
  readonly width: number
  readonly height: number
}

/** Radius of a node without a radius of its own. */
export const RADIUS = 15
/** The radius of a node never becomes smaller, so that it can be seen and clicked. */
const SCREEN_RADIUS_MIN = 2.5
/** From this scale on nodes keep their size, so that zooming moves them apart. */
const NODE_SCALE_MAX = 1.35
const SCALE_MIN = 0.02
const SCALE_MAX = 4
/** A small graph is not magnified further than this to fit. */
const FIT_SCALE_MAX = 1.3
const FIT_MARGIN = 56

/** The radius on the screen. */
export function screenRadius({ radius = RADIUS }: PictureNode, scale: number): number {
  return Math.max(SCREEN_RADIUS_MIN, radius * Math.min(scale, NODE_SCALE_MAX))
}

/** The place on the screen. */
export function toScreen(point: PicturePoint, camera: PictureCamera, { width, height }: PictureSize): PicturePoint {
  return { x: (point.x - camera.x) * camera.scale + width / 2, y: (point.y - camera.y) * camera.scale + height / 2 }
}

/** The place in the picture. */
export function fromScreen(point: PicturePoint, camera: PictureCamera, { width, height }: PictureSize): PicturePoint {
  return { x: (point.x - width / 2) / camera.scale + camera.x, y: (point.y - height / 2) / camera.scale + camera.y }
}

/** The camera that shows all points. */
export function fitted(points: Iterable<PicturePoint>, { width, height }: PictureSize): PictureCamera {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const { x, y } of points) {
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  if (left > right) return { x: 0, y: 0, scale: 1 }
  const across = Math.max(1, width - 2 * FIT_MARGIN) / Math.max(1, right - left)
  const down = Math.max(1, height - 2 * FIT_MARGIN) / Math.max(1, bottom - top)
  return {
    x: (left + right) / 2,
    y: (top + bottom) / 2,
    scale: Math.max(SCALE_MIN, Math.min(across, down, FIT_SCALE_MAX)),
  }
}

/** Magnifies by a factor; the place at a point of the screen stays there. */
export function zoomed(camera: PictureCamera, factor: number, at: PicturePoint, size: PictureSize): PictureCamera {
  const scale = Math.min(SCALE_MAX, Math.max(SCALE_MIN, camera.scale * factor))
  const fixed = fromScreen(at, camera, size)
  return {
    x: fixed.x - (at.x - size.width / 2) / scale,
    y: fixed.y - (at.y - size.height / 2) / scale,
    scale,
  }
}

/** Moves by pixels of the screen. */
export function moved(camera: PictureCamera, x: number, y: number): PictureCamera {
  return { ...camera, x: camera.x - x / camera.scale, y: camera.y - y / camera.scale }
}
