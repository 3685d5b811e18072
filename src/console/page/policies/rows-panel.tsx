// Tries the condition of a policy, as it is written, on nodes of the graph.
import { useState } from 'preact/hooks'
import { linkTo } from '../address.ts'
import { parseValue } from '../ask/question.ts'
import { count } from '../graph/result-text.tsx'
import { findNodes, queryGraph } from '../graph-api.ts'
import { Combobox, type Suggestion } from '../parts/combobox.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { useData } from '../use-data.ts'
import { type ConditionQuery, cellText, conditionQuery, rowParameters } from './condition-rows.ts'
import type { FormTexts } from './document-kind.ts'

/** Rows of the first answer; each time the user wants more, there are four times as many. */
const FIRST_ROWS = 25
const ROWS_MAX = 10_000

/** `isStored`: the condition is that of another, stored document. */
export function RowsPanel(props: {
  readonly projectId: string
  readonly form: FormTexts
  readonly isStored?: boolean
}) {
  const { projectId, form, isStored = false } = props
  const [subject, setSubject] = useState('')
  const [resource, setResource] = useState('')
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [asked, setAsked] = useState<(ConditionQuery & { readonly limit: number }) | null>(null)
  const answer = useData(
    asked === null
      ? null
      : (signal) => queryGraph(projectId, asked.query, asked.parameters, { limit: asked.limit, signal }),
    [asked],
  )
  const isContext = form.version === '1.0-ciq'
  const suggest =
    (type: string) =>
    async (text: string, signal: AbortSignal): Promise<readonly Suggestion[]> =>
      (await findNodes(projectId, { type, id: text }, signal)).map(({ id, title }) => ({
        value: id,
        ...(title !== '' && { note: title }),
      }))
  const run = (): void => {
    const given = rowParameters(form).map((name) => [name, parseValue(values[name] ?? '')])
    setAsked({
      ...conditionQuery(form, subject.trim(), resource.trim(), Object.fromEntries(given)),
      limit: FIRST_ROWS,
    })
  }
  return (
    <form
      class="stack"
      aria-label="Try the condition"
      onSubmit={(event) => {
        event.preventDefault()
        run()
      }}
    >
      <p class="quiet-text">
        {isStored
          ? `Runs the condition of the policy ${form.name}.`
          : 'Runs the condition of the editor, also before it is saved.'}{' '}
        Filters are not applied; fields without a value stand for any node.
      </p>
      <div class="panel-form">
        <Combobox
          label={`Subject (${form.subject || 'type'})`}
          placeholder="any"
          value={subject}
          onInput={setSubject}
          onEnter={run}
          suggest={suggest(form.subject ?? '')}
          inputs={[form.subject]}
        />
        {!isContext && (
          <Combobox
            label={`Resource (${form.resource || 'type'})`}
            placeholder="any"
            value={resource}
            onInput={setResource}
            onEnter={run}
            suggest={suggest(form.resource ?? '')}
            inputs={[form.resource]}
          />
        )}
        {rowParameters(form).map((name) => (
          <label key={name} class="dollar">
            ${name}
            <input
              aria-label={`Value of $${name}`}
              placeholder="5, true or text"
              value={values[name] ?? ''}
              spellcheck={false}
              autocomplete="off"
              onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        <button type="submit">Run the condition</button>
      </div>
      <div aria-live="polite" aria-busy={answer.isLoading}>
        {answer.error !== null && <Failure error={answer.error} />}
        {asked !== null && answer.value === null && answer.error === null && <Loading label="Running" />}
        {answer.value !== null && answer.error === null && (
          <>
            <p class="quiet-text">
              {answer.value.rows.length === 0
                ? 'No row: the condition is met by none of these nodes.'
                : `${answer.value.truncated ? 'The first ' : ''}${count(answer.value.rows.length, isContext ? 'row' : 'pair')}, ${answer.value.duration_ms.toFixed(1)} ms`}
            </p>
            {answer.value.rows.length > 0 && (
              <RowTable
                columns={answer.value.columns}
                rows={answer.value.rows}
                action={isContext ? '' : firstAction(form)}
                drafts={form.status === 'DRAFT' ? 'yes' : ''}
              />
            )}
            {answer.value.truncated && asked !== null && asked.limit < ROWS_MAX && (
              <button
                type="button"
                class="quiet"
                onClick={() => setAsked({ ...asked, limit: Math.min(asked.limit * 4, ROWS_MAX) })}
              >
                Show more
              </button>
            )}
          </>
        )}
      </div>
    </form>
  )
}

function firstAction({ actions = '' }: FormTexts): string {
  return actions.split(',')[0]?.trim() ?? ''
}

/** `action`: not empty: each row leads to the question. */
function RowTable(props: {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  readonly action: string
  readonly drafts: string
}) {
  const { columns, rows, action, drafts } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard.
    <section class="table-scroll" aria-label="Rows" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            {action !== '' && <th scope="col">Decision</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // Rows have no other identity.
            <tr key={index}>
              {row.map((value, at) => (
                <td key={columns[at]}>{cellText(value)}</td>
              ))}
              {action !== '' && (
                <td>
                  <a href={linkTo('ask', { subject: cellText(row[0]), action, resource: cellText(row[1]), drafts })}>
                    Ask
                  </a>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
