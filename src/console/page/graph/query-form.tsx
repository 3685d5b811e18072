// The query: editor, parameters, limit of rows, examples, and the last queries.
import { parametersIn } from '../../../kernel/text/cypher-names.ts'
import { ApiError } from '../api.ts'
import { CypherEditor } from '../parts/cypher-editor.tsx'
import { type CypherFinding, checkQuery } from '../parts/cypher-language.ts'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { type ParameterFields, ParameterRows } from '../parts/parameter-fields.tsx'
import type { TypedQuery } from './history.ts'
import type { ExampleQuery } from './schema-data.ts'

/** Rows in an answer; the second one is the default. */
export const ROW_LIMITS = [100, 1000, 5000, 10_000] as const

/** The form. `error`: of `failedQuery`, which ran before. */
export function QueryForm(props: {
  readonly projectId: string
  readonly query: string
  readonly parameters: ParameterFields
  readonly limit: number
  readonly error: Error | null
  readonly failedQuery: string
  readonly isRunning: boolean
  readonly examples: readonly ExampleQuery[]
  readonly history: readonly TypedQuery[]
  readonly onQuery: (text: string) => void
  readonly onParameters: (parameters: ParameterFields) => void
  readonly onLimit: (limit: number) => void
  readonly onRun: () => void
  readonly onChoose: (typed: TypedQuery) => void
  readonly onClearHistory: () => void
}) {
  const { projectId, query, parameters, limit, error, failedQuery, isRunning, examples, history } = props
  const names = parameterNames(query)
  const check = async (text: string, signal: AbortSignal): Promise<readonly CypherFinding[]> => {
    const failed = error !== null && text === failedQuery ? findingsOf(error, text) : []
    return failed.length > 0 ? failed : checkQuery(projectId, text, signal)
  }
  return (
    <form
      class="card stack"
      aria-label="Query"
      onSubmit={(event) => {
        event.preventDefault()
        props.onRun()
      }}
    >
      <CypherEditor
        label="Cypher that reads"
        value={query}
        projectId={projectId}
        rows={3}
        onInput={props.onQuery}
        onRun={props.onRun}
        check={check}
        inputs={[error]}
      />
      {(parameters.length > 0 || names.length > 0) && (
        <ParameterRows parameters={parameters} offered={names} onChange={props.onParameters} />
      )}
      <div class="row query-actions">
        <button type="submit" class="primary" disabled={query.trim() === ''}>
          {isRunning ? 'Running…' : 'Run'}
        </button>
        <kbd>Ctrl+Enter</kbd>
        <Menu
          title="Examples"
          items={examples.map(({ title, query: text }) => ({
            key: title,
            title,
            note: text,
            run: () => props.onChoose({ query: text, parameters: [] }),
          }))}
        />
        <Menu
          title="Last queries"
          items={[
            ...history.map((typed) => ({
              key: typed.query,
              title: typed.query,
              run: () => props.onChoose(typed),
            })),
            ...(history.length === 0 ? [] : [{ key: '', title: 'Clear this list', run: props.onClearHistory }]),
          ]}
        />
        <label class="row-limit">
          Rows
          <select value={limit} onChange={(event) => props.onLimit(Number(event.currentTarget.value))}>
            {ROW_LIMITS.map((one) => (
              <option key={one} value={one}>
                {one.toLocaleString('en')}
              </option>
            ))}
          </select>
        </label>
        <a class="query-help" href="/docs/reference/cypher" target="_blank" rel="noreferrer">
          <Icon name="policies" />
          Cypher
        </a>
      </div>
    </form>
  )
}

/** The names of the parameters in a text. */
export function parameterNames(text: string): readonly string[] {
  const withoutTexts = text.replace(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\/\/.*|\/\*[\s\S]*?\*\//g, ' ')
  return parametersIn(withoutTexts)
}

/** The places that a refusal names, such as `query: line 1, column 30: …`. */
export function findingsOf(error: Error, text: string): readonly CypherFinding[] {
  if (!(error instanceof ApiError)) return []
  return error.details.flatMap((detail) => {
    const [, line, column, message] = /^query: line (\d+), column (\d+): (.*)$/s.exec(detail) ?? []
    if (line === undefined || column === undefined || message === undefined) return []
    const before = text.split('\n').slice(0, Number(line) - 1)
    const start = before.reduce((sum, { length }) => sum + length + 1, 0) + Number(column) - 1
    const word = /^[\w`]+|^./.exec(text.slice(start))?.[0] ?? ''
    return [{ rule: 'query', severity: 'error' as const, message, suggestion: null, start, end: start + word.length }]
  })
}
