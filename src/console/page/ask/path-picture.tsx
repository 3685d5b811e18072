// Draws a path of the graph: nodes in a line from the subject to the resource, from top to bottom on a narrow screen.
import { useEffect, useState } from 'preact/hooks'
import { describePicture, type PathEdge, type PathPicture, type PathPlace, placed } from './path-layout.ts'

const NODE_WIDTH = 148
const NODE_HEIGHT = 52
const GAP_ALONG = 112
const GAP_ALONG_NARROW = 56
const GAP_ACROSS = 28
const MARGIN = 8
const TEXT_CHARACTERS = 17

interface Point {
  readonly x: number
  readonly y: number
}

function useIsNarrow(): boolean {
  const query = '(max-width: 720px)'
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = (): void => setNarrow(list.matches)
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [])
  return isNarrow
}

function short(text: string): string {
  const characters = [...text]
  return characters.length <= TEXT_CHARACTERS ? text : `${characters.slice(0, TEXT_CHARACTERS - 1).join('')}…`
}

/** The drawing. */
export function PathDrawing({ picture }: { readonly picture: PathPicture }) {
  const isNarrow = useIsNarrow()
  const nodes = placed(picture)
  const layers = Math.max(...nodes.map(({ layer }) => layer)) + 1
  const rows = Math.max(...nodes.map((node) => node.rows))
  const stepAlong = isNarrow ? NODE_HEIGHT + GAP_ALONG_NARROW : NODE_WIDTH + GAP_ALONG
  const stepAcross = isNarrow ? NODE_WIDTH + GAP_ACROSS : NODE_HEIGHT + GAP_ACROSS
  const along = stepAlong * layers - (isNarrow ? GAP_ALONG_NARROW : GAP_ALONG) + 2 * MARGIN
  const across = stepAcross * rows - GAP_ACROSS + 2 * MARGIN
  const [width, height] = isNarrow ? [across, along] : [along, across]
  const centre = ({ layer, row, rows: inLayer }: PathPlace): Point => {
    const offset = (rows - inLayer) / 2
    const half = isNarrow ? [NODE_HEIGHT, NODE_WIDTH] : [NODE_WIDTH, NODE_HEIGHT]
    const a = MARGIN + layer * stepAlong + (half[0] as number) / 2
    const b = MARGIN + (row + offset) * stepAcross + (half[1] as number) / 2
    return isNarrow ? { x: b, y: a } : { x: a, y: b }
  }
  const byKey = new Map(nodes.map((node) => [node.key, node]))
  return (
    <div class="path-picture">
      <svg
        role="img"
        aria-label={describePicture(picture)}
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
      >
        <defs>
          {(['met', 'absent', 'forbidden'] as const).map((state) => (
            <marker
              key={state}
              id={`arrow-${state}`}
              class={`is-${state}`}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              orient="auto"
            >
              <path d="M0 0.5L8 4L0 7.5z" />
            </marker>
          ))}
        </defs>
        {picture.edges.map((edge) => {
          const from = byKey.get(edge.from)
          const to = byKey.get(edge.to)
          if (from === undefined || to === undefined) return null
          return (
            <Edge
              key={`${edge.from} ${edge.to} ${edge.label}`}
              edge={edge}
              from={centre(from)}
              to={centre(to)}
              bend={bendOf(edge, picture.edges)}
            />
          )
        })}
        {nodes.map((node) => {
          const { x, y } = centre(node)
          return (
            <g
              key={node.key}
              class={`node is-${node.state} is-${node.role}`}
              transform={`translate(${x - NODE_WIDTH / 2} ${y - NODE_HEIGHT / 2})`}
            >
              <title>{`${node.type} ${node.id}`}</title>
              <rect width={NODE_WIDTH} height={NODE_HEIGHT} rx="12" />
              <text class="type" x="14" y="20">
                {short(node.type)}
              </text>
              <text class="id" x="14" y="39">
                {short(node.id)}
              </text>
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** Relationships between the same two nodes are drawn next to each other. */
function bendOf(edge: PathEdge, edges: readonly PathEdge[]): number {
  const pair = [edge.from, edge.to].sort().join(' ')
  const same = edges.filter(({ from, to }) => [from, to].sort().join(' ') === pair)
  return (same.indexOf(edge) - (same.length - 1) / 2) * 2
}

function Edge(props: { readonly edge: PathEdge; readonly from: Point; readonly to: Point; readonly bend: number }) {
  const { edge, from, to, bend } = props
  const dx = to.x - from.x
  const dy = to.y - from.y
  if (dx === 0 && dy === 0) return null
  // Where the straight line leaves the box of each node.
  const cut = Math.min(
    dx === 0 ? Number.POSITIVE_INFINITY : (NODE_WIDTH / 2 + 4) / Math.abs(dx),
    dy === 0 ? Number.POSITIVE_INFINITY : (NODE_HEIGHT / 2 + 4) / Math.abs(dy),
  )
  const shift = bend * 13
  const length = Math.hypot(dx, dy)
  // Both directions of a pair bend apart.
  const sign = from.x < to.x || (from.x === to.x && from.y < to.y) ? 1 : -1
  const normal = { x: ((-dy / length) * shift * sign) | 0, y: ((dx / length) * shift * sign) | 0 }
  const start = { x: from.x + dx * cut + normal.x, y: from.y + dy * cut + normal.y }
  const end = { x: to.x - dx * cut + normal.x, y: to.y - dy * cut + normal.y }
  const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }
  const label = short(edge.label)
  const labelWidth = label.length * 6.6 + 12
  return (
    <g class={`edge is-${edge.state}`}>
      <title>{edge.label}</title>
      <line x1={start.x} y1={start.y} x2={end.x} y2={end.y} marker-end={`url(#arrow-${edge.state})`} />
      {label !== '' && (
        <g transform={`translate(${middle.x} ${middle.y})`}>
          <rect class="label" x={-labelWidth / 2} y="-10" width={labelWidth} height="20" rx="10" />
          <text y="4">{label}</text>
        </g>
      )}
    </g>
  )
}
