// The picture of the elements, with their list or the details of the selected one next to it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Failure } from '../parts/feedback.tsx'
import type { PicturePlaces } from '../parts/graph-picture/arrange.ts'
import { colourOrder } from '../parts/graph-picture/colour-order.ts'
import { kindColour } from '../parts/graph-picture/colours.ts'
import { GraphPicture } from '../parts/graph-picture/graph-picture.tsx'
import { Icon } from '../parts/icon.tsx'
import type { ElementActions } from './element-actions.ts'
import { EXPAND_MAX, readConnections, readNeighbours } from './element-data.ts'
import { ElementDetail } from './element-detail.tsx'
import { ElementList } from './element-list.tsx'
import {
  collapsed,
  PICTURE_MAX,
  type PictureContent,
  visibleOf,
  withElements,
  withHidden,
  withNeighbours,
  withoutHidden,
  withPin,
} from './picture-content.ts'
import { count } from './result-text.tsx'
import type { SchemaType } from './schema-data.ts'

/** Picture, legend, list and details. */
export function PictureView(props: {
  readonly projectId: string
  readonly view: PictureContent
  readonly onView: (change: (view: PictureContent) => PictureContent) => void
  readonly selected: string | null
  readonly onSelect: (key: string | null) => void
  readonly types: readonly SchemaType[]
  readonly places: PicturePlaces
}) {
  const { projectId, view, onView, selected, onSelect, types, places } = props
  const [error, setError] = useState<Error | null>(null)
  const [status, setStatus] = useState('')
  const control = useRef(new AbortController())
  useEffect(() => () => control.current.abort(), [])
  const { nodes, edges } = useMemo(() => visibleOf(view), [view.nodes, view.edges, view.hidden])
  const pictured = useMemo(() => nodes.map(({ key, title, type }) => ({ key, title, kind: type })), [nodes])
  const lines = useMemo(
    () => edges.map(({ key, source, target, type }) => ({ key, source, target, title: type })),
    [edges],
  )
  const kinds = useMemo(() => kindsOf(types, pictured), [types, pictured])
  const counts = useMemo(() => {
    const found = new Map<string, number>()
    for (const { kind } of pictured) found.set(kind, (found.get(kind) ?? 0) + 1)
    return found
  }, [pictured])

  const attempt = (work: Promise<void>): void => {
    setError(null)
    work.catch((failure: Error) => {
      if (failure.name !== 'AbortError') setError(failure)
    })
  }
  const { signal } = control.current
  const actions: ElementActions = {
    expand(key, group) {
      const node = view.nodes.get(key)
      if (node === undefined) return
      // One group begins with its first relationship each time: those that are shown stay as they are.
      const skip = group === null ? (view.expansions.get(key)?.added ?? 0) : 0
      const work = async (): Promise<void> => {
        const { elements, total } = await readNeighbours(projectId, node, skip, group, signal)
        onView((now) => (group === null ? withNeighbours(now, key, elements, total) : withElements(now, elements, key)))
        const all = group === null ? total : group.count
        const left = all === null ? null : Math.max(0, all - skip - elements.edges.size)
        const rest =
          left === null
            ? 'the others are too many to count'
            : left === 0
              ? 'no more left'
              : `${left.toLocaleString('en')} left out`
        setStatus(
          elements.edges.size === 0
            ? `${node.title} has no more relationships.`
            : `${count(elements.edges.size, 'relationship')} of ${node.title} added, ${rest}.`,
        )
      }
      attempt(work())
    },
    collapse(key) {
      onView((now) => collapsed(now, key))
      setStatus('Collapsed.')
    },
    hide(key) {
      onView((now) => withHidden(now, key))
      onSelect(null)
      setStatus('Hidden.')
    },
    pin: (key) => onView((now) => withPin(now, key, !now.pinned.has(key))),
  }
  const onKey = (key: string): boolean => {
    if (selected === null) return false
    const isNode = view.nodes.has(selected)
    if (key === 'Delete' || key === 'h') actions.hide(selected)
    else if (key === 'c' && isNode) actions.collapse(selected)
    else if (key === 'p' && isNode) actions.pin(selected)
    else return false
    return true
  }
  const connect = (): void =>
    attempt(
      readConnections(projectId, nodes, signal).then((found) => {
        onView((now) => withElements(now, found, null))
        setStatus(`${count(found.edges.size, 'relationship')} between the nodes.`)
      }),
    )
  const label = `${count(nodes.length, 'node')} and ${count(edges.length, 'relationship')}`
  const chosen = selected === null ? null : (view.nodes.get(selected) ?? view.edges.get(selected) ?? null)
  return (
    <div class="picture-view">
      <div>
        <GraphPicture
          label={`Picture of ${label}. The list next to it has the same elements.`}
          nodes={pictured}
          edges={lines}
          kinds={kinds}
          selected={selected}
          onSelect={onSelect}
          onOpen={(key) => actions.expand(key, null)}
          onKey={onKey}
          keysHint={`Enter adds up to ${EXPAND_MAX} neighbours of the selected node, C removes them, H hides, P pins.`}
          pinned={view.pinned}
          onMoved={(key) => onView((now) => withPin(now, key, true))}
          places={places}
          anchorOf={(key) => view.addedBy.get(key)}
        />
        <ul class="kinds" aria-label="Legend">
          {[...counts].map(([kind, number]) => (
            <li key={kind}>
              <i style={{ background: kindColour(Math.max(0, kinds.indexOf(kind))) }} />
              <bdi>{kind === '' ? 'no type' : kind}</bdi> <small>{number.toLocaleString('en')}</small>
            </li>
          ))}
        </ul>
      </div>
      <aside aria-label="Elements">
        {error !== null && <Failure error={error} />}
        {view.leftOut > 0 && (
          <p class="notice is-warn">
            <Icon name="warning" />
            <span>
              The picture has at most {PICTURE_MAX.toLocaleString('en')} elements; {view.leftOut.toLocaleString('en')}{' '}
              are left out. The table has all of them.
            </span>
          </p>
        )}
        <p class="quiet-text picture-status" role="status">
          {status}
        </p>
        {chosen === null ? (
          <>
            <div class="row picture-actions">
              {nodes.length > 1 && edges.length === 0 && (
                <button type="button" onClick={connect}>
                  <Icon name="graph" />
                  Relationships between them
                </button>
              )}
              {view.hidden.size > 0 && (
                <button type="button" onClick={() => onView(withoutHidden)}>
                  Show {view.hidden.size} hidden
                </button>
              )}
            </div>
            <ElementList label={label} nodes={nodes} edges={edges} kinds={kinds} view={view} onSelect={onSelect} />
          </>
        ) : (
          <ElementDetail
            key={chosen.key}
            projectId={projectId}
            element={chosen}
            view={view}
            kinds={kinds}
            types={types}
            actions={actions}
            onSelect={onSelect}
          />
        )}
      </aside>
    </div>
  )
}

/** The kinds in the order of their colours. */
function kindsOf(types: readonly SchemaType[], nodes: readonly { readonly kind: string }[]): readonly string[] {
  return colourOrder(
    types.map(({ name }) => name),
    nodes.map(({ kind }) => kind),
  )
}
