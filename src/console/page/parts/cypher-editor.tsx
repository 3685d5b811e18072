// A field for Cypher, with colours, completion by the names of the graph, and the findings of the service's own check. The editor
// itself is a chunk of its own.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { CypherEditorHandle } from './cypher-editor-view.ts'
import { type CypherFinding, completeCypher } from './cypher-language.ts'
import { Icon } from './icon.tsx'

/** Pause after a change before the text is checked. */
const CHECK_PAUSE_MS = 250

const noFindings: readonly CypherFinding[] = []

/**
 * `check`: returns the findings of a text, by requests that use the signal; it runs again when `inputs` change. `findings`: shown
 * instead, if another check has found them. `onRun`: Ctrl+Enter.
 * `rows`: the height of an empty field.
 */
export function CypherEditor(props: {
  readonly label: string
  readonly value: string
  readonly projectId: string
  readonly onInput: (value: string) => void
  readonly onRun?: () => void
  readonly check?: ((text: string, signal: AbortSignal) => Promise<readonly CypherFinding[]>) | undefined
  readonly inputs?: readonly unknown[]
  readonly findings?: readonly CypherFinding[]
  readonly isReadOnly?: boolean
  readonly rows?: number
}) {
  const { label, value, check, inputs = [], isReadOnly = false, rows = 5 } = props
  const id = useId()
  const parent = useRef<HTMLDivElement>(null)
  const editor = useRef<CypherEditorHandle | null>(null)
  /** Texts that were typed, and that the properties do not have yet. */
  const typed = useRef<string[]>([])
  const current = useRef(props)
  current.current = props
  const [isOpen, setOpen] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [checked, setChecked] = useState<readonly CypherFinding[]>(noFindings)
  const findings = props.findings ?? checked

  useEffect(() => {
    let isShown = true
    import('./cypher-editor-view.ts').then(
      ({ openCypherEditor }) => {
        if (!isShown || parent.current === null) return
        editor.current = openCypherEditor(
          parent.current,
          current.current.value,
          {
            onInput(text) {
              typed.current.push(text)
              current.current.onInput(text)
            },
            onRun: () => current.current.onRun?.(),
            complete: (text, offset, signal) => completeCypher(current.current.projectId, text, offset, signal),
          },
          { labelledBy: `${id}-label`, describedBy: `${id}-hint`, isReadOnly: current.current.isReadOnly === true },
        )
        setOpen(true)
      },
      () => setError(new Error('The editor cannot be loaded. Reload the page.')),
    )
    return () => {
      isShown = false
      editor.current?.destroy()
      editor.current = null
    }
  }, [])
  useEffect(() => {
    // A text that was typed may arrive here after the next one was typed, and must not replace that.
    const at = typed.current.indexOf(value)
    typed.current.splice(0, at < 0 ? typed.current.length : at + 1)
    if (at < 0) editor.current?.setText(value)
  }, [value, isOpen])
  useEffect(() => editor.current?.setReadOnly(isReadOnly), [isReadOnly, isOpen])
  useEffect(() => {
    if (check === undefined || value.trim() === '') {
      setChecked(noFindings)
      return
    }
    const control = new AbortController()
    const timer = setTimeout(() => {
      check(value, control.signal).then(
        (found) => control.signal.aborted || setChecked(found),
        () => control.signal.aborted || setChecked(noFindings),
      )
    }, CHECK_PAUSE_MS)
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [value, check === undefined, ...inputs])
  useEffect(() => editor.current?.setFindings(findings), [findings, isOpen])

  return (
    <div class="field cypher-field">
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the editor refers to the label; a click moves the focus. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the Tab key moves the focus too. */}
      <label id={`${id}-label`} onClick={() => editor.current?.focus()}>
        {label}
      </label>
      <div
        class={`cypher-editor${isReadOnly ? ' is-read-only' : ''}`}
        ref={parent}
        style={{ minHeight: `${rows * 21 + 20}px` }}
      >
        {!isOpen && <pre>{value}</pre>}
      </div>
      <small id={`${id}-hint`} class="visually-hidden">
        {isReadOnly ? 'Cannot be changed.' : 'Tab indents. Escape, then Tab leaves the editor.'}
      </small>
      {error !== null && (
        <p class="notice is-bad" role="alert">
          {error.message}
        </p>
      )}
      <ul class="findings" aria-live="polite" aria-label={`Findings in ${label}`}>
        {findings.map((finding) => (
          <li key={`${finding.start} ${finding.rule} ${finding.message}`} class={`is-${finding.severity}`}>
            <Icon name="warning" />
            <button type="button" class="quiet" onClick={() => editor.current?.focusAt(finding.start)}>
              {placeOf(value, finding.start)}
            </button>
            <span>{finding.message}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n')
  return `Line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
