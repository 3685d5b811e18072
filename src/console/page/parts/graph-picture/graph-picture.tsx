// A picture of a graph that is moved and magnified by mouse, touch and keyboard. A screen shows the same elements as text next to it,
// because the picture itself cannot be read by a screen reader.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from '../icon.tsx'
import { arrange, type PicturePlaces } from './arrange.ts'
import { colourIndex } from './colour-order.ts'
import { usePictureColours } from './colours.ts'
import { edgeAt, nodeAt } from './hit.ts'
import { type IndexedGraph, indexed, paint } from './paint.ts'
import {
  fitted,
  fromScreen,
  moved,
  type PictureCamera,
  type PictureEdge,
  type PictureNode,
  type PicturePoint,
  type PictureSize,
  screenRadius,
  toScreen,
  zoomed,
} from './picture.ts'

const ZOOM_STEP = 1.25
const MOVE_STEP = 60
const CLICK_DISTANCE = 5
const DOUBLE_CLICK_MS = 350
const none: ReadonlySet<string> = new Set()

/** Properties of a picture. Keys of nodes and edges must differ from each other. */
interface GraphPictureProps {
  /** Names the picture, such as `12 nodes and 14 relationships`. */
  readonly label: string
  readonly nodes: readonly PictureNode[]
  readonly edges: readonly PictureEdge[]
  /** The kinds in the order of their colours (`kindColour`). */
  readonly kinds: readonly string[]
  /** The key of a node or an edge. */
  readonly selected: string | null
  readonly onSelect: (key: string | null) => void
  /** Double click on a node, or Enter while it is selected. */
  readonly onOpen?: (key: string) => void
  /** Other keys while the picture has the focus. Returns true if the key has a meaning. */
  readonly onKey?: (key: string) => boolean
  /** Describes the other keys, for the description of the picture. */
  readonly keysHint?: string
  readonly pinned?: ReadonlySet<string>
  /** A node was moved by the user. */
  readonly onMoved?: (key: string) => void
  /** Pixels between two nodes with an edge. */
  readonly edgeLength?: number
  /** The places of the nodes, for a picture that is shown again. Default: the picture has its own. */
  readonly places?: PicturePlaces
  /** A new node begins next to this one. */
  readonly anchorOf?: (key: string) => string | undefined
  /** More buttons in the tool bar. */
  readonly children?: ComponentChildren
}

/** The state that changes without rendering the component. */
interface Stage {
  readonly places: PicturePlaces
  camera: PictureCamera
  size: PictureSize
  /** True until the user moves the picture: it is then not fitted by itself. */
  isFitting: boolean
  frame: number
  hovered: string | null
}

interface Drag {
  /** Null: the picture moves. */
  readonly node: string | null
  readonly start: PicturePoint
  last: PicturePoint
  isMoved: boolean
}

/** The picture. */
export function GraphPicture(props: GraphPictureProps) {
  const { label, nodes, edges, kinds, selected, pinned = none, keysHint = '' } = props
  const id = useId()
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const colours = usePictureColours()
  const graph = useMemo(() => indexed(nodes, edges), [nodes, edges])
  const colourOf = useMemo(() => colourIndex(kinds), [kinds])
  const [arranged, setArranged] = useState(0)
  const [isArranging, setArranging] = useState(false)
  const stage = useRef<Stage>({
    places: props.places ?? new Map(),
    camera: { x: 0, y: 0, scale: 1 },
    size: { width: 0, height: 0 },
    isFitting: true,
    frame: 0,
    hovered: null,
  }).current
  const current = useRef({ props, graph, colours, colourOf, pinned })
  current.current = { props, graph, colours, colourOf, pinned }

  const draw = (): void => {
    stage.frame = 0
    const context = canvas.current?.getContext('2d')
    if (!context || stage.size.width === 0) return
    const now = current.current
    if (stage.isFitting) stage.camera = fitted(stage.places.values(), stage.size)
    const { selected: chosen } = now.props
    const { places, camera, size, hovered } = stage
    const rest = { colours: now.colours, colourOf: now.colourOf, pinned: now.pinned }
    paint(context, { graph: now.graph, places, camera, size, selected: chosen, hovered, ...rest }, pixelRatio())
  }
  const redraw = (): void => {
    if (stage.frame === 0) stage.frame = requestAnimationFrame(draw)
  }
  const setCamera = (camera: PictureCamera): void => {
    stage.camera = camera
    stage.isFitting = false
    redraw()
  }
  const fit = (): void => {
    stage.isFitting = true
    redraw()
  }
  const centre = (): PicturePoint => ({ x: stage.size.width / 2, y: stage.size.height / 2 })

  useEffect(redraw, [graph, colours, colourOf, selected, pinned])
  useEffect(() => () => cancelAnimationFrame(stage.frame), [])
  useEffect(() => {
    const control = new AbortController()
    const isAgain = arranged > 0 && lastArranged.current !== arranged
    lastArranged.current = arranged
    if (stage.places.size === 0 || isAgain) stage.isFitting = true
    setArranging(true)
    const anchorOf = props.anchorOf ?? (() => undefined)
    arrange(nodes, edges, stage.places, {
      pinned,
      isAgain,
      anchorOf,
      edgeLength: props.edgeLength,
      onStep: redraw,
      signal: control.signal,
    }).then(() => control.signal.aborted || setArranging(false))
    return () => control.abort()
  }, [nodes, edges, arranged])
  const lastArranged = useRef(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const element = canvas.current
      if (entry === undefined || element === null) return
      const { width, height } = entry.contentRect
      stage.size = { width, height }
      element.width = Math.round(width * pixelRatio())
      element.height = Math.round(height * pixelRatio())
      // At once: a canvas is empty after its size has changed.
      draw()
    })
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  // Selected elsewhere: the node moves into view.
  useEffect(() => {
    const place = selected === null ? undefined : stage.places.get(selected)
    if (place === undefined) return
    const { x, y } = toScreen(place, stage.camera, stage.size)
    const { width, height } = stage.size
    if (x < 20 || y < 20 || x > width - 20 || y > height - 20) setCamera({ ...stage.camera, x: place.x, y: place.y })
  }, [selected])
  usePointers(box, stage, () => current.current, { setCamera, redraw })

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return
    const { key } = event
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => setCamera(moved(stage.camera, MOVE_STEP, 0)),
      ArrowRight: () => setCamera(moved(stage.camera, -MOVE_STEP, 0)),
      ArrowUp: () => setCamera(moved(stage.camera, 0, MOVE_STEP)),
      ArrowDown: () => setCamera(moved(stage.camera, 0, -MOVE_STEP)),
      '+': () => setCamera(zoomed(stage.camera, ZOOM_STEP, centre(), stage.size)),
      '=': () => setCamera(zoomed(stage.camera, ZOOM_STEP, centre(), stage.size)),
      '-': () => setCamera(zoomed(stage.camera, 1 / ZOOM_STEP, centre(), stage.size)),
      '0': fit,
      Escape: () => props.onSelect(null),
      Enter: () => selected !== null && props.onOpen?.(selected),
      n: () => props.onSelect(after(nodes, selected, 1)),
      b: () => props.onSelect(after(nodes, selected, -1)),
    }
    const action = actions[key]
    if (action === undefined && props.onKey?.(key) !== true) return
    action?.()
    event.preventDefault()
  }
  return (
    <div class="graph-picture" aria-busy={isArranging}>
      <div
        ref={box}
        class="graph-canvas"
        role="application"
        aria-label={label}
        aria-describedby={`${id}-keys`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the picture handles keys itself.
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas without tabindex has no focus. */}
        <canvas ref={canvas} aria-hidden="true" />
      </div>
      <p id={`${id}-keys`} class="visually-hidden">
        Arrow keys move the picture, + and - zoom, 0 fits it. N and B select the next node and the one before, Escape
        selects nothing. {keysHint}
      </p>
      <div class="graph-tools" role="toolbar" aria-label="Picture">
        <ToolButton
          icon="plus"
          label="Zoom in"
          onClick={() => setCamera(zoomed(stage.camera, ZOOM_STEP, centre(), stage.size))}
        />
        <ToolButton
          icon="minus"
          label="Zoom out"
          onClick={() => setCamera(zoomed(stage.camera, 1 / ZOOM_STEP, centre(), stage.size))}
        />
        <ToolButton icon="fit" label="Fit" onClick={fit} />
        <ToolButton icon="refresh" label="Arrange again" onClick={() => setArranged(arranged + 1)} />
        {props.children}
      </div>
    </div>
  )
}

/** A button with an icon in the tool bar of a picture. */
function ToolButton(props: { readonly icon: IconName; readonly label: string; readonly onClick: () => void }) {
  return (
    <button type="button" class="quiet" aria-label={props.label} title={props.label} onClick={props.onClick}>
      <Icon name={props.icon} />
    </button>
  )
}

/** More pixels than this for a pixel of the page take time, and no person sees them. */
function pixelRatio(): number {
  return Math.min(2, devicePixelRatio)
}

function after(nodes: readonly PictureNode[], selected: string | null, step: number): string | null {
  const at = nodes.findIndex(({ key }) => key === selected)
  return nodes[at < 0 && step < 0 ? nodes.length - 1 : (at + step + nodes.length) % nodes.length]?.key ?? null
}

interface PointerDeps {
  setCamera(camera: PictureCamera): void
  redraw(): void
}

/** Mouse, pen and touch: one pointer moves the picture or a node, two magnify; the wheel magnifies while the picture has the focus. */
function usePointers(
  box: { readonly current: HTMLDivElement | null },
  stage: Stage,
  now: () => { readonly props: GraphPictureProps; readonly graph: IndexedGraph },
  { setCamera, redraw }: PointerDeps,
): void {
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const pointers = new Map<number, PicturePoint>()
    let drag: Drag | null = null
    let lastClick = { key: '', timeMs: 0 }
    const pointOf = ({ clientX, clientY }: MouseEvent): PicturePoint => {
      const { left, top } = element.getBoundingClientRect()
      return { x: clientX - left, y: clientY - top }
    }
    const toPoint = (key: string): PicturePoint | null => {
      const place = stage.places.get(key)
      return place === undefined ? null : toScreen(place, stage.camera, stage.size)
    }
    const onDown = (event: PointerEvent): void => {
      if (event.button !== 0) return
      const at = pointOf(event)
      element.setPointerCapture(event.pointerId)
      pointers.set(event.pointerId, at)
      const node = pointers.size > 1 ? null : nodeAt(at, now().props.nodes, toPoint, stage.camera.scale)
      drag = { node, start: at, last: at, isMoved: pointers.size > 1 }
    }
    const onMove = (event: PointerEvent): void => {
      const at = pointOf(event)
      if (!pointers.has(event.pointerId)) {
        const hovered = nodeAt(at, now().props.nodes, toPoint, stage.camera.scale)
        if (hovered === stage.hovered) return
        stage.hovered = hovered
        element.classList.toggle('is-over-node', hovered !== null)
        redraw()
        return
      }
      const before = pointers.get(event.pointerId) ?? at
      if (pointers.size === 2) {
        const other = [...pointers].find(([key]) => key !== event.pointerId)?.[1] ?? at
        const factor = distance(at, other) / Math.max(1, distance(before, other))
        const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 }
        const panned = moved(stage.camera, (at.x - before.x) / 2, (at.y - before.y) / 2)
        setCamera(zoomed(panned, factor, middle, stage.size))
      } else if (drag !== null && (drag.isMoved || distance(at, drag.start) > CLICK_DISTANCE)) {
        drag.isMoved = true
        const place = drag.node === null ? undefined : stage.places.get(drag.node)
        if (place === undefined) setCamera(moved(stage.camera, at.x - drag.last.x, at.y - drag.last.y))
        else {
          stage.isFitting = false
          Object.assign(place, fromScreen(at, stage.camera, stage.size))
          redraw()
        }
        drag.last = at
      }
      pointers.set(event.pointerId, at)
    }
    const onUp = (event: PointerEvent): void => {
      const at = pointOf(event)
      pointers.delete(event.pointerId)
      const ended = drag
      if (pointers.size > 0 || ended === null) return
      drag = null
      const { props, graph } = now()
      if (ended.isMoved) {
        if (ended.node !== null) props.onMoved?.(ended.node)
        return
      }
      if (event.type === 'pointercancel') return
      const { scale } = stage.camera
      const byKey = new Map(props.nodes.map((node) => [node.key, node]))
      const radiusOf = (key: string): number => {
        const node = byKey.get(key)
        return node === undefined ? 0 : screenRadius(node, scale)
      }
      const key = ended.node ?? edgeAt(at, graph.shapes, toPoint, scale, radiusOf)
      props.onSelect(key)
      const isDouble = key !== null && lastClick.key === key && event.timeStamp - lastClick.timeMs < DOUBLE_CLICK_MS
      lastClick = { key: isDouble ? '' : (key ?? ''), timeMs: event.timeStamp }
      if (isDouble && key === ended.node) props.onOpen?.(key)
    }
    const onWheel = (event: WheelEvent): void => {
      // Otherwise the page scrolls.
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== element) return
      event.preventDefault()
      setCamera(
        zoomed(stage.camera, Math.exp(-event.deltaY * (event.ctrlKey ? 0.008 : 0.0016)), pointOf(event), stage.size),
      )
    }
    const onLeave = (): void => {
      if (stage.hovered === null) return
      stage.hovered = null
      redraw()
    }
    element.addEventListener('pointerdown', onDown)
    element.addEventListener('pointermove', onMove)
    element.addEventListener('pointerup', onUp)
    element.addEventListener('pointercancel', onUp)
    element.addEventListener('pointerleave', onLeave)
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => {
      element.removeEventListener('pointerdown', onDown)
      element.removeEventListener('pointermove', onMove)
      element.removeEventListener('pointerup', onUp)
      element.removeEventListener('pointercancel', onUp)
      element.removeEventListener('pointerleave', onLeave)
      element.removeEventListener('wheel', onWheel)
    }
  }, [])
}

function distance(a: PicturePoint, b: PicturePoint): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}
