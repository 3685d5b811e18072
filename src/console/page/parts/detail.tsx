// A list, and next to it the detail of one of its items: over the list on a phone.
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** `detail`: null if no item is open. */
export function WithDetail(props: { readonly children: ComponentChildren; readonly detail: ComponentChildren | null }) {
  return (
    <div class={props.detail === null ? 'with-detail' : 'with-detail is-open'}>
      <div class="stack gap-10">{props.children}</div>
      {props.detail}
    </div>
  )
}

/** The open item. It takes the focus; Escape closes it and returns the focus. Use the key of the item as `key`. */
export function Detail(props: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) {
  const id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  const before = useRef<HTMLElement | null>(null)
  // Before the next key, which would act on what had the focus.
  useLayoutEffect(() => {
    const { activeElement } = document
    before.current = activeElement instanceof HTMLElement ? activeElement : null
    heading.current?.focus()
  }, [])
  const close = (): void => {
    props.onClose()
    before.current?.focus()
  }
  return (
    <section
      class="card side-detail"
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close()
      }}
    >
      <div class="card-head">
        <h2 id={id} tabIndex={-1} ref={heading}>
          {props.title}
        </h2>
        <button type="button" class="quiet" aria-label="Close" title="Close" onClick={close}>
          <Icon name="cross" />
        </button>
      </div>
      {props.children}
    </section>
  )
}

/** Names and values; those that are null are left out. */
export function Fields({ fields }: { readonly fields: readonly (readonly [string, ComponentChildren | null])[] }) {
  return (
    <dl class="detail-fields">
      {fields
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
