// Tabs, as described by the ARIA authoring practices: one stop of the Tab key, arrow keys move.
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

/** A tab and its content. */
export interface Tab {
  readonly id: string
  readonly title: string
  content(): ComponentChildren
}

/** `label`: names the group. */
export function Tabs(props: {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly selected: string
  readonly onSelect: (id: string) => void
}) {
  const { label, tabs, selected, onSelect } = props
  const prefix = useId()
  const list = useRef<HTMLDivElement>(null)
  const current = tabs.find(({ id }) => id === selected) ?? tabs[0]
  const move = (event: KeyboardEvent): void => {
    const at = tabs.findIndex((tab) => tab === current)
    const last = tabs.length - 1
    const targets: Readonly<Record<string, number>> = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    }
    const target = targets[event.key]
    const tab = target === undefined ? undefined : tabs[target]
    if (target === undefined || tab === undefined) return
    event.preventDefault()
    onSelect(tab.id)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[target]?.focus()
  }
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${prefix}-${tab.id}`}
            aria-selected={tab === current}
            aria-controls={`${prefix}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${prefix}-panel`} aria-labelledby={`${prefix}-${current?.id}`}>
        {current?.content()}
      </div>
    </div>
  )
}
