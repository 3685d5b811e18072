// A list of rows of one height, of which only the visible ones are in the document: thousands of rows stay fast. One stop of the Tab
// key; arrow keys move, Enter opens. Rows that are inserted above do not move those that the user looks at.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

const ROW_PX = 38
const PHONE_ROW_PX = 60
/** Rows above and below the visible ones. */
const MARGIN = 6
const phone = matchMedia('(max-width: 720px)')

/** `head`: the names of the columns. `openKey`: the row whose detail is shown. `class`: sets the columns. `cells`: declared outside of the component, so that rows are rendered once. */
export function RowList<T extends object>(props: {
  readonly label: string
  readonly class: string
  readonly head: readonly string[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly cells: (row: T) => ComponentChildren
  readonly openKey: string | null
  readonly onOpen: (row: T) => void
}) {
  const { label, head, rows, keyOf, cells, openKey, onOpen } = props
  const id = useId()
  const view = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [activeKey, setActiveKey] = useState<string | null>(null)
  const [isPhone, setPhone] = useState(phone.matches)
  const rowPx = isPhone ? PHONE_ROW_PX : ROW_PX
  useEffect(() => {
    const onChange = (): void => setPhone(phone.matches)
    phone.addEventListener('change', onChange)
    return () => phone.removeEventListener('change', onChange)
  }, [])
  useEffect(() => {
    const element = view.current
    if (element === null) return
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  // The row at the upper edge stays there.
  const anchor = useRef<string | null>(null)
  useLayoutEffect(() => {
    const element = view.current
    if (element === null || element.scrollTop < rowPx || anchor.current === null) return
    const shown = Math.floor(element.scrollTop / rowPx)
    const at = rows.findIndex((row) => keyOf(row) === anchor.current)
    if (at >= 0 && at !== shown) element.scrollTop += (at - shown) * rowPx
  }, [rows])
  const onScroll = (): void => {
    const at = view.current?.scrollTop ?? 0
    const first = rows[Math.floor(at / rowPx)]
    anchor.current = at < rowPx || first === undefined ? null : keyOf(first)
    setTop(at)
  }

  // The same cells are not rendered again while rows are inserted above them.
  const made = useMemo(() => new WeakMap<T, ComponentChildren>(), [cells])
  const cellsFor = (row: T): ComponentChildren => {
    const before = made.get(row)
    if (before !== undefined) return before
    const now = cells(row)
    made.set(row, now)
    return now
  }

  const from = Math.max(0, Math.floor(top / rowPx) - MARGIN)
  const shown = rows.slice(from, Math.ceil((top + height) / rowPx) + MARGIN)
  const activeIndex = activeKey === null ? -1 : rows.findIndex((row) => keyOf(row) === activeKey)
  const isActiveShown = activeIndex >= from && activeIndex < from + shown.length
  const activate = (index: number): void => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))]
    const element = view.current
    if (row === undefined || element === null) return
    setActiveKey(keyOf(row))
    const at = rows.indexOf(row) * rowPx
    if (at < element.scrollTop) element.scrollTop = at
    else if (at + rowPx > element.scrollTop + element.clientHeight)
      element.scrollTop = at + rowPx - element.clientHeight
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(height / rowPx) - 1)
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: activeIndex + 1,
      ArrowUp: activeIndex < 0 ? 0 : activeIndex - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: activeIndex + page,
      PageUp: activeIndex - page,
    }
    const target = targets[event.key]
    if (target !== undefined) {
      event.preventDefault()
      activate(target)
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      const row = rows[activeIndex]
      if (row !== undefined) onOpen(row)
    }
  }
  return (
    <div class={`row-list ${props.class}`}>
      <div class="line head" aria-hidden="true">
        {head.map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <div
        class="rows"
        role="listbox"
        aria-label={label}
        tabIndex={0}
        ref={view}
        aria-activedescendant={isActiveShown ? `${id}-${activeKey}` : undefined}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        onFocus={() => activeIndex < 0 && rows[0] !== undefined && setActiveKey(keyOf(rows[0]))}
      >
        <div role="presentation" style={{ height: `${rows.length * rowPx}px` }}>
          {shown.map((row, index) => {
            const key = keyOf(row)
            return (
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays on the list.
              // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys.
              <div
                key={key}
                id={`${id}-${key}`}
                role="option"
                class={`line ${key === activeKey ? 'is-active' : ''}`}
                aria-selected={key === openKey}
                aria-setsize={rows.length}
                aria-posinset={from + index + 1}
                style={{ top: `${(from + index) * rowPx}px`, height: `${rowPx}px` }}
                onClick={() => {
                  setActiveKey(key)
                  onOpen(row)
                }}
              >
                {cellsFor(row)}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}
