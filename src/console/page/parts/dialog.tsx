// A question that must be answered before anything else: the dialog of the browser, which keeps the focus and closes by Escape.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** `onClose`: by Escape, or by the button Cancel. `children`: the text, and the button of the action. */
export function Dialog(props: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly action: ComponentChildren
}) {
  const { title, onClose, children, action } = props
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
      <div class="row dialog-actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        {action}
      </div>
    </dialog>
  )
}
