// Runs scenario files against the policies of the project. Files stay in the browser: only their text is sent, and nothing is stored.
import { useRef, useState } from 'preact/hooks'
import { ApiError, call } from '../api.ts'
import { Failure } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'

/** A file, as it was opened or pasted. */
interface OpenedScenario {
  readonly name: string
  readonly text: string
}

/** The answer of POST /access/v1/test. */
interface ShownScenarioRun {
  readonly passed: boolean
  readonly checks: readonly {
    readonly list: string
    readonly title: string
    readonly line: number
    readonly passed: boolean
    readonly expected: string
    readonly actual: string
    readonly details: readonly string[]
  }[]
  readonly left_out: number
  readonly policies: number
  readonly duration_ms: number
}

/** The result of one file. */
interface FileOutcome {
  readonly name: string
  readonly run: ShownScenarioRun | null
  readonly error: Error | null
}

const FILES_MAX = 50

const example = `graph: |
  (ann:Person)-[:MEMBER]->(red:Team)-[:OWNS]->(c1:Car)
decisions:
  - [Person:ann, drive, Car:c1, yes]
`

/** The view. */
export function TestsView({ projectId }: { readonly projectId: string }) {
  const [pasted, setPasted] = useState('')
  const [drafts, setDrafts] = useState(false)
  const [opened, setOpened] = useState<readonly OpenedScenario[]>([])
  const [outcomes, setOutcomes] = useState<readonly FileOutcome[]>([])
  const [isRunning, setRunning] = useState(false)
  const picker = useRef<HTMLInputElement>(null)
  const files = [...(pasted.trim() === '' ? [] : [{ name: 'Pasted scenario', text: pasted }]), ...opened]
  const run = async (): Promise<void> => {
    setRunning(true)
    const found: FileOutcome[] = []
    for (const { name, text } of files) {
      found.push(await runFile(projectId, name, text, drafts))
      setOutcomes([...found])
    }
    setRunning(false)
  }
  const open = async (list: FileList | null): Promise<void> => {
    const chosen = [...(list ?? [])].slice(0, FILES_MAX)
    setOpened(await Promise.all(chosen.map(async (file) => ({ name: file.name, text: await file.text() }))))
    setOutcomes([])
    if (picker.current !== null) picker.current.value = ''
  }
  const checks = outcomes.flatMap(({ run: one }) => one?.checks ?? [])
  const failed = checks.filter(({ passed }) => !passed).length
  const broken = outcomes.filter(({ error }) => error !== null).length
  const leftOut = outcomes.reduce((sum, { run: one }) => sum + (one?.left_out ?? 0), 0)
  const isGood = failed === 0 && broken === 0 && leftOut === 0
  return (
    <div class="stack">
      <div class="card stack">
        <p class="quiet-text">
          A scenario file has a small graph and the answers that must follow. It runs in memory with the policies of
          this project; the graph of the project is not used.{' '}
          <a href="/docs/reference/scenario-files" target="_blank" rel="noreferrer">
            The format
          </a>
        </p>
        <div class="field json-field">
          <label for="scenario">Scenario</label>
          <textarea
            id="scenario"
            rows={8}
            value={pasted}
            placeholder={example}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => setPasted(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && files.length > 0) void run()
            }}
          />
        </div>
        <div class="panel-form">
          <input
            ref={picker}
            class="visually-hidden"
            type="file"
            multiple
            accept=".yaml,.yml,.json"
            aria-label="Open scenario files"
            tabIndex={-1}
            onChange={(event) => void open(event.currentTarget.files)}
          />
          <button type="button" onClick={() => picker.current?.click()}>
            Open files
          </button>
          <label class="tick">
            <input type="checkbox" checked={drafts} onChange={(event) => setDrafts(event.currentTarget.checked)} />
            With drafts
          </label>
          <button
            type="button"
            class="primary"
            disabled={files.length === 0 || isRunning}
            title="Ctrl+Enter"
            onClick={() => void run()}
          >
            {files.length > 1 ? `Run ${files.length} files` : 'Run'}
          </button>
        </div>
        {opened.length > 0 && <p class="quiet-text">Opened: {opened.map(({ name }) => name).join(', ')}</p>}
      </div>
      <section aria-label="Results" aria-live="polite" aria-busy={isRunning} class="stack">
        {outcomes.length > 0 && (
          <div class={`verdict ${isGood ? 'is-granted' : 'is-denied'}`}>
            <span class="sign">
              <Icon name={isGood ? 'check' : 'cross'} />
            </span>
            <div>
              <h2>{isGood ? 'All checks passed' : summary(failed, broken, leftOut)}</h2>
              <p>
                {checks.length} {checks.length === 1 ? 'check' : 'checks'} in {outcomes.length}{' '}
                {outcomes.length === 1 ? 'file' : 'files'}
              </p>
            </div>
          </div>
        )}
        {outcomes.map((outcome) => (
          <FileResult key={outcome.name} outcome={outcome} />
        ))}
      </section>
    </div>
  )
}

function summary(failed: number, broken: number, leftOut: number): string {
  return [
    ...(failed > 0 ? [`${failed} ${failed === 1 ? 'check' : 'checks'} failed`] : []),
    ...(broken > 0 ? [`${broken} ${broken === 1 ? 'file' : 'files'} did not run`] : []),
    ...(leftOut > 0 ? [`${leftOut} not run within the time limit`] : []),
  ].join(', ')
}

async function runFile(projectId: string, name: string, scenario: string, draft: boolean): Promise<FileOutcome> {
  try {
    const body = { scenario, ...(draft && { draft }) }
    return { name, run: await call('POST', '/access/v1/test', { project: projectId, body }), error: null }
  } catch (failure) {
    const error = failure as Error
    const isFault = error instanceof ApiError && error.status === 422
    return { name, run: null, error: isFault ? new ApiError(422, `${name} did not run.`, error.details) : error }
  }
}

function FileResult({ outcome: { name, run, error } }: { readonly outcome: FileOutcome }) {
  if (error !== null) return <Failure error={error} />
  if (run === null) return null
  return (
    <section class="card policies" aria-label={name}>
      <div class="card-head">
        <h3>{name}</h3>
        <small>
          {run.policies} {run.policies === 1 ? 'stored policy' : 'stored policies and queries'},{' '}
          {Math.round(run.duration_ms)} ms
        </small>
      </div>
      <ul>
        {run.checks.map(({ list, title, line, passed, expected, actual, details }) => (
          <li key={`${line} ${list} ${title}`}>
            <details open={!passed}>
              <summary>
                <span class={`badge ${passed ? 'is-granted' : 'is-denied'}`}>{passed ? 'passed' : 'failed'}</span>
                <b>{title}</b>
                <small>line {line}</small>
              </summary>
              <p>
                Expected {expected}
                {passed ? '.' : `, found ${actual}.`}
              </p>
              {details.length > 0 && <pre class="details">{details.join('\n')}</pre>}
            </details>
          </li>
        ))}
      </ul>
    </section>
  )
}
