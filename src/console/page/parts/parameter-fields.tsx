// Fields for the parameters of a question or a query: a row with name and value for each.
import { Icon } from './icon.tsx'

/** Names without `$`, and values as typed: JSON, or any other text as a string. */
export type ParameterFields = readonly (readonly [name: string, value: string])[]

/** `offered`: names that a button adds. */
export function ParameterRows(props: {
  readonly parameters: ParameterFields
  readonly offered: readonly string[]
  readonly onChange: (parameters: ParameterFields) => void
}) {
  const { parameters, offered, onChange } = props
  const known = new Set(parameters.map(([name]) => name))
  const set = (index: number, pair: readonly [string, string] | null): void =>
    onChange(parameters.flatMap((one, at) => (at !== index ? [one] : pair === null ? [] : [pair])))
  return (
    <fieldset class="stack gap-8">
      <legend>Parameters</legend>
      {parameters.map(([name, value], index) => (
        // A row has no other identity while its name is typed.
        <div class="parameter" key={index}>
          <span class="dollar">
            $
            <input
              aria-label={`Name of parameter ${index + 1}`}
              value={name}
              spellcheck={false}
              autocomplete="off"
              onInput={(event) => set(index, [event.currentTarget.value, value])}
            />
          </span>
          <input
            aria-label={name === '' ? `Value of parameter ${index + 1}` : `Value of $${name}`}
            placeholder="5, true or text"
            value={value}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => set(index, [name, event.currentTarget.value])}
          />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove parameter ${name === '' ? index + 1 : name}`}
            onClick={() => set(index, null)}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <div class="offers">
        {offered
          .filter((name) => !known.has(name))
          .map((name) => (
            <button type="button" class="chip" key={name} onClick={() => onChange([...parameters, [name, '']])}>
              <Icon name="plus" />${name}
            </button>
          ))}
        <button type="button" class="chip" onClick={() => onChange([...parameters, ['', '']])}>
          <Icon name="plus" />
          Parameter
        </button>
      </div>
    </fieldset>
  )
}
