// A text field with suggestions, as described by the ARIA authoring practices (combobox with list autocomplete). Any text is allowed.
import { useEffect, useId, useRef, useState } from 'preact/hooks'

/** A suggestion. `note`: shown next to it, such as the name of a person. */
export interface Suggestion {
  readonly value: string
  readonly note?: string
}

const TYPING_PAUSE_MS = 120

/** `suggest` returns suggestions for a text; its requests must use the signal. `onEnter`: Enter without a chosen suggestion. */
export function Combobox(props: {
  readonly label: string
  readonly value: string
  readonly placeholder?: string
  readonly onInput: (value: string) => void
  readonly onEnter?: () => void
  readonly suggest: (text: string, signal: AbortSignal) => Promise<readonly Suggestion[]>
  /** The suggestions change with these values too. */
  readonly inputs?: readonly unknown[]
}) {
  const { label, value, placeholder, onInput, onEnter, suggest, inputs = [] } = props
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState<string | null>(null)
  const [list, setList] = useState<readonly Suggestion[]>([])
  const options = useRef<HTMLDivElement>(null)
  // Another list, such as that of the whole text, keeps the suggestion that the arrow keys have reached.
  const active = list.findIndex(({ value: suggested }) => suggested === chosen)

  useEffect(() => {
    if (!isOpen) return
    const control = new AbortController()
    const timer = setTimeout(() => {
      suggest(value, control.signal).then(
        (found) => {
          if (control.signal.aborted) return
          setList(found)
        },
        () => control.signal.aborted || setList([]),
      )
    }, TYPING_PAUSE_MS)
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [isOpen, value, ...inputs])

  useEffect(() => {
    options.current?.children[active]?.scrollIntoView({ block: 'nearest' })
  }, [active])

  const close = (): void => {
    setOpen(false)
    setChosen(null)
  }
  const choose = (suggestion: Suggestion): void => {
    onInput(suggestion.value)
    close()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key } = event
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen) setOpen(true)
      else if (list.length > 0) {
        const step = key === 'ArrowDown' ? 1 : -1
        const next = active < 0 && step < 0 ? list.length - 1 : (active + step + list.length) % list.length
        setChosen(list[next]?.value ?? null)
      }
    } else if (key === 'Escape' && isOpen) {
      event.preventDefault()
      close()
    } else if (key === 'Enter') {
      event.preventDefault()
      const suggestion = isOpen ? list[active] : undefined
      if (suggestion !== undefined) choose(suggestion)
      else {
        close()
        onEnter?.()
      }
    }
  }
  const isShown = isOpen && list.length > 0
  return (
    <div class="field combobox">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        type="text"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-activedescendant={isShown && active >= 0 ? `${id}-${active}` : undefined}
        value={value}
        placeholder={placeholder}
        onInput={(event) => {
          onInput(event.currentTarget.value)
          setChosen(null)
          setOpen(true)
        }}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={close}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} role="listbox" aria-label={`Suggestions for ${label}`} hidden={!isShown} ref={options}>
        {list.map((suggestion, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field.
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys, as the pattern of a combobox requires.
          <div
            key={suggestion.value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            // The field keeps the focus.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(suggestion)}
          >
            <span>{suggestion.value}</span>
            {suggestion.note !== undefined && <small class="clip">{suggestion.note}</small>}
          </div>
        ))}
      </div>
    </div>
  )
}
