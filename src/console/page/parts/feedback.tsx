// The states of a view without data: loading, empty, failed.
import type { ComponentChildren } from 'preact'
import { ApiError } from '../api.ts'
import { Icon, type IconName } from './icon.tsx'

/** Placeholder bars. */
export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">{label}</span>
      <i />
      <i />
      <i />
    </div>
  )
}

/** There is nothing to show, and what to do about it. */
export function Empty(props: {
  readonly icon: IconName
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  )
}

/** A failed request, with the details of the service, or what `explain` makes of each. */
export function Failure(props: {
  readonly error: Error
  readonly retry?: () => void
  readonly explain?: (detail: string) => string
}) {
  const { error, retry, explain = (detail) => detail } = props
  const details = error instanceof ApiError ? error.details.map(explain) : []
  return (
    <div class="notice is-bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>{error.message}</p>
        {details.length > 0 && (
          <ul>
            {details.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
        {retry !== undefined && (
          <button type="button" class="quiet" onClick={retry}>
            Try again
          </button>
        )}
      </div>
    </div>
  )
}
