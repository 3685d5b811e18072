// Fields that policies and knowledge queries share.
import { useId } from 'preact/hooks'
import type { FormTexts } from './document-kind.ts'

/** A line of text. */
export function TextField(props: {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly placeholder?: string
  readonly isReadOnly?: boolean
}) {
  const { label, value, onInput, placeholder, isReadOnly = false } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={value}
        placeholder={placeholder}
        readOnly={isReadOnly}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  )
}

/** A text in JSON. The first error is named below it. */
export function JsonField(props: {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly rows: number
  readonly hint?: string
  readonly isReadOnly?: boolean
}) {
  const { label, value, onInput, rows, hint = '', isReadOnly = false } = props
  const id = useId()
  const fault = faultOf(value)
  return (
    <div class="field json-field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        readOnly={isReadOnly}
        spellcheck={false}
        autocomplete="off"
        aria-describedby={`${id}-hint`}
        aria-invalid={fault !== null}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <small id={`${id}-hint`} class={fault === null ? undefined : 'is-bad'}>
        {fault ?? hint}
      </small>
    </div>
  )
}

function faultOf(text: string): string | null {
  if (text.trim() === '') return null
  try {
    JSON.parse(text)
    return null
  } catch (failure) {
    return `This is not JSON: ${(failure as Error).message}`
  }
}

const statuses = [
  { id: 'ACTIVE', title: 'Active', hint: 'It is used for every request.' },
  { id: 'DRAFT', title: 'Draft', hint: 'It is stored also with faults, and only asked with drafts.' },
  { id: 'INACTIVE', title: 'Inactive', hint: 'It is checked and kept, and not used.' },
] as const

/** The choice of the status. */
export function StatusField(props: {
  readonly value: string
  readonly onChange: (status: string) => void
  readonly isReadOnly: boolean
}) {
  const { value, onChange, isReadOnly } = props
  const name = useId()
  return (
    <fieldset class="status-field">
      <legend>Status</legend>
      <div class="segments">
        {statuses.map(({ id, title }) => (
          <label key={id} class={`is-${id.toLowerCase()}`}>
            <input
              type="radio"
              name={name}
              value={id}
              checked={value === id}
              disabled={isReadOnly}
              onChange={() => onChange(id)}
            />
            {title}
          </label>
        ))}
      </div>
      <small>{statuses.find(({ id }) => id === value)?.hint}</small>
    </fieldset>
  )
}

/** Names and description. `isNew`: the name cannot be changed later. */
export function NameFields(props: {
  readonly form: FormTexts
  readonly isNew: boolean
  readonly isReadOnly: boolean
  readonly onChange: (members: FormTexts) => void
}) {
  const { form, isNew, isReadOnly, onChange } = props
  return (
    <div class="name-row">
      {isNew && (
        <TextField
          label="Name"
          value={form.name ?? ''}
          placeholder="read-own-documents"
          onInput={(name) => onChange({ name })}
        />
      )}
      <TextField
        label="Display name"
        value={form.display_name ?? ''}
        isReadOnly={isReadOnly}
        onInput={(display_name) => onChange({ display_name })}
      />
      <TextField
        label="Description"
        value={form.description ?? ''}
        isReadOnly={isReadOnly}
        onInput={(description) => onChange({ description })}
      />
      {form.tags !== undefined && (
        <TextField
          label="Tags, with commas"
          value={form.tags}
          isReadOnly={isReadOnly}
          onInput={(tags) => onChange({ tags })}
        />
      )}
    </div>
  )
}
