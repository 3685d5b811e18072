// The elements of the picture as a list that is reached by keyboard and read by a screen reader.
import { useMemo, useState } from 'preact/hooks'
import { kindColour } from '../parts/graph-picture/colours.ts'
import { PlainText } from '../parts/plain-text.tsx'
import type { ShownEdge, ShownNode } from './elements.ts'
import type { PictureContent } from './picture-content.ts'

const PAGE = 100

/** The list, with a field that filters it. */
export function ElementList(props: {
  readonly label: string
  readonly nodes: readonly ShownNode[]
  readonly edges: readonly ShownEdge[]
  readonly kinds: readonly string[]
  readonly view: PictureContent
  readonly onSelect: (key: string) => void
}) {
  const { label, nodes, edges, kinds, view, onSelect } = props
  const [text, setText] = useState('')
  const [shown, setShown] = useState(PAGE)
  const wanted = text.trim().toLowerCase()
  const found = useMemo(() => {
    const titleAt = (key: string): string => view.nodes.get(key)?.title ?? ''
    const all = [
      ...nodes.map(({ key, type, title, externalId }) => ({
        key,
        kind: type,
        title,
        note: type,
        text: `${type}:${externalId}`,
      })),
      ...edges.map(({ key, type, source, target }) => ({
        key,
        kind: null,
        title: `${titleAt(source)} → ${titleAt(target)}`,
        note: type,
        text: type,
      })),
    ]
    return wanted === ''
      ? all
      : all.filter((one) => one.title.toLowerCase().includes(wanted) || one.text.toLowerCase().includes(wanted))
  }, [nodes, edges, view.nodes, wanted])
  return (
    <div class="stack gap-8 element-list">
      <h3>{label}</h3>
      <input
        type="search"
        aria-label="Filter the elements"
        placeholder="Filter"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <ul aria-label="Elements">
        {found.slice(0, shown).map(({ key, kind, title, note }) => (
          <li key={key}>
            <button type="button" class="quiet" onClick={() => onSelect(key)}>
              {kind === null ? (
                <i class="is-edge" />
              ) : (
                <i style={{ background: kindColour(Math.max(0, kinds.indexOf(kind))) }} />
              )}
              <PlainText text={title} max={80} isCut />
              <small class="clip">{note}</small>
            </button>
          </li>
        ))}
      </ul>
      {found.length > shown && (
        <button type="button" onClick={() => setShown(shown + PAGE)}>
          Show more of {found.length.toLocaleString('en')}
        </button>
      )}
      {found.length === 0 && <p>No element has this text.</p>}
    </div>
  )
}
