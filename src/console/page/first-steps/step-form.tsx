// The form of a step: fields with the complaints of the service, the request as a curl command, and the last answer.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../parts/copy-button.tsx'
import { Icon } from '../parts/icon.tsx'
import { type AnsweredStep, curlOfStep, type FieldFaults, faultsOf, type StepRequest } from './step-request.ts'

/** A field of text. `fault`: shown below it. */
export function StepField(props: {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly hint?: string
  readonly fault?: string | undefined
  readonly type?: 'text' | 'date'
}) {
  const { id, label, value, onInput, hint, fault, type = 'text' } = props
  const described = [hint === undefined ? '' : `${id}-hint`, fault === undefined ? '' : `${id}-fault`].join(' ').trim()
  const attributes = {
    id,
    value,
    autocomplete: 'off',
    spellcheck: false,
    'aria-invalid': fault !== undefined,
    'aria-describedby': described === '' ? undefined : described,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => onInput(currentTarget.value),
  } as const
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === 'date' ? <input type="date" {...attributes} /> : <input type="text" {...attributes} />}
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
      <FieldFault id={id} fault={fault} />
    </div>
  )
}

/** The complaint below a field. */
export function FieldFault({ id, fault }: { readonly id: string; readonly fault: string | undefined }) {
  return fault === undefined ? null : (
    <p class="bad-text field-fault" id={`${id}-fault`} role="alert">
      {fault}
    </p>
  )
}

const noFaults: FieldFaults = { byField: {}, others: [] }

/**
 * `requests`: as they would be sent now. `send`: sends them; its rejection is shown at the fields (`paths`, `conflict`: see
 * `faultsOf`). `children`: the fields.
 */
export function StepForm(props: {
  readonly id: string
  readonly action: string
  readonly requests: readonly StepRequest[]
  readonly paths: Readonly<Record<string, readonly string[]>>
  readonly conflict: string
  readonly isDisabled: boolean
  readonly send: () => Promise<void>
  readonly children: (fault: (field: string) => string | undefined) => ComponentChildren
}) {
  const { id, action, requests, paths, conflict, isDisabled, send, children } = props
  const [faults, setFaults] = useState<FieldFaults>(noFaults)
  const [isBusy, setBusy] = useState(false)
  const submit = (event: Event): void => {
    event.preventDefault()
    setBusy(true)
    setFaults(noFaults)
    send()
      .catch((error: Error) => setFaults(faultsOf(error, paths, conflict)))
      .finally(() => setBusy(false))
  }
  return (
    <form class="step-form" id={id} onSubmit={submit} noValidate>
      <fieldset disabled={isDisabled} class="step-fields">
        {children((field) => faults.byField[field])}
        {faults.others.length > 0 && (
          <div class="notice is-bad" role="alert">
            <Icon name="warning" />
            <ul>
              {faults.others.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          </div>
        )}
        <button type="submit" class="primary" disabled={isBusy || isDisabled}>
          {action}
        </button>
      </fieldset>
      <div class="step-requests">
        <h4>{requests.length === 1 ? 'The request' : 'The requests'}</h4>
        {requests.map((request) => (
          <Curl key={request.path} request={request} />
        ))}
      </div>
    </form>
  )
}

/** A request as a curl command. */
function Curl({ request }: { readonly request: StepRequest }) {
  const text = curlOfStep(request, location.origin)
  return (
    <div class="code">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy the request to ${request.path}`} />
    </div>
  )
}

/** The answers to the requests of a step. */
export function StepAnswers({ answered }: { readonly answered: readonly AnsweredStep[] }) {
  return (
    <>
      {answered.map(({ request, status, answer }) => (
        <details class="step-answer" key={request.path}>
          <summary>
            <span class="badge is-granted">{status}</span> Answer of <code>{request.path}</code>
          </summary>
          <div class="code">
            <pre>
              <code>{answer}</code>
            </pre>
          </div>
        </details>
      ))}
    </>
  )
}
