// A button that opens a list of commands: one stop of the Tab key each, Escape closes it.
import { useEffect, useId, useRef, useState } from 'preact/hooks'

/** A command. `note`: a second line. */
interface MenuItem {
  readonly key: string
  readonly title: string
  readonly note?: string
  run(): void
}

/** The button and its list. */
export function Menu({ title, items }: { readonly title: string; readonly items: readonly MenuItem[] }) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (!isOpen) return
    const close = (event: Event): void => {
      if (!(event.target instanceof Node) || box.current?.contains(event.target) !== true) setOpen(false)
    }
    document.addEventListener('pointerdown', close)
    document.addEventListener('focusin', close)
    return () => {
      document.removeEventListener('pointerdown', close)
      document.removeEventListener('focusin', close)
    }
  }, [isOpen])
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) return
    const buttons = [...(box.current?.querySelectorAll<HTMLElement>('li button') ?? [])]
    const at = buttons.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Escape') {
      setOpen(false)
      button.current?.focus()
    } else if (event.key === 'ArrowDown') buttons[(at + 1) % buttons.length]?.focus()
    else if (event.key === 'ArrowUp') buttons[(at - 1 + buttons.length) % buttons.length]?.focus()
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the buttons inside.
    <div class="menu" ref={box} onKeyDown={onKeyDown}>
      <button
        type="button"
        ref={button}
        aria-expanded={isOpen}
        aria-controls={id}
        disabled={items.length === 0}
        onClick={() => setOpen(!isOpen)}
      >
        {title}
        <span aria-hidden="true">▾</span>
      </button>
      <ul id={id} hidden={!isOpen} aria-label={title}>
        {items.map((item) => (
          <li key={item.key}>
            <button
              type="button"
              class="quiet"
              onClick={() => {
                setOpen(false)
                button.current?.focus()
                item.run()
              }}
            >
              <span class="clip">{item.title}</span>
              {item.note !== undefined && <small class="clip">{item.note}</small>}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
