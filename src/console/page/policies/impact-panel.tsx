// Who gains and who loses by a change, before it is saved.
import { useEffect, useState } from 'preact/hooks'
import { linkTo } from '../address.ts'
import { parseValue } from '../ask/question.ts'
import { Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { useData } from '../use-data.ts'
import {
  compareChange,
  type ProposedChange,
  pathOf,
  type ShownChange,
  type ShownComparisonReport,
} from './comparison.ts'

type ChangeAsked = Omit<ProposedChange, 'parameters'>

/** `change`: null: neither the stored policy nor the changed one decides. */
export function ImpactPanel(props: {
  readonly projectId: string
  readonly change: ChangeAsked | null
  /** Names without `$`. */
  readonly parameters: readonly string[]
  readonly note: string
}) {
  const { projectId, change, parameters, note } = props
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [asked, setAsked] = useState<ProposedChange | null>(null)
  const answer = useData(asked === null ? null : (signal) => compareChange(projectId, asked, signal), [asked])
  const text = JSON.stringify(change)
  const isOld = asked !== null && JSON.stringify({ ...asked, parameters: undefined }) !== text
  useEffect(() => {
    if (change === null) setAsked(null)
  }, [change === null])
  if (change === null) return <p class="quiet-text">{note}</p>
  const compare = (): void => {
    const given = parameters.flatMap((name) => {
      const value = values[name] ?? ''
      return value === '' ? [] : [[name, parseValue(value)] as const]
    })
    setAsked({ ...change, parameters: Object.fromEntries(given) })
  }
  return (
    <div class="stack">
      <p class="quiet-text">{note}</p>
      <div class="panel-form">
        {parameters.map((name) => (
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
        <button type="button" onClick={compare}>
          Compare with the policies in force
        </button>
      </div>
      <div aria-live="polite" aria-busy={answer.isLoading} class={isOld ? 'is-old' : undefined}>
        {answer.error !== null && <Failure error={answer.error} retry={answer.reload} />}
        {asked !== null && answer.value === null && answer.error === null && <Loading label="Comparing" />}
        {answer.value !== null && answer.error === null && <Report report={answer.value} />}
      </div>
      {isOld && <p class="quiet-text">The text has changed since this comparison.</p>}
    </div>
  )
}

function Report({ report }: { readonly report: ShownComparisonReport }) {
  const { gained, lost, gains, losses, left_out: left, complete, duration_ms: duration } = report
  return (
    <div class="stack">
      <p class="row impact-counts">
        <span class="is-gained">
          <b>{counted(gained, complete)}</b> {gained === 1 ? 'decision is' : 'decisions are'} gained
        </span>
        <span class="is-lost">
          <b>{counted(lost, complete)}</b> {lost === 1 ? 'decision is' : 'decisions are'} lost
        </span>
        <small>{duration < 10 ? duration.toFixed(1) : Math.round(duration)} ms</small>
      </p>
      {gains.map((change) => (
        <Change key={`+${change.policy.name} ${change.actions.join()}`} change={change} isGain />
      ))}
      {losses.map((change) => (
        <Change key={`-${change.policy.name} ${change.actions.join()}`} change={change} isGain={false} />
      ))}
      {left.length > 0 && (
        <div class="notice">
          <Icon name="warning" />
          <div>
            <p>Not compared:</p>
            <ul>
              {left.map(({ policy, actions, message }) => (
                <li key={`${policy.name} ${actions.join()} ${message}`}>
                  <b>{policy.name}</b> ({actions.join(', ')}): {message}
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
    </div>
  )
}

function counted(count: number, isComplete: boolean): string {
  return `${isComplete ? '' : 'At least '}${count.toLocaleString('en')}`
}

function Change({ change, isGain }: { readonly change: ShownChange; readonly isGain: boolean }) {
  const { policy, actions, subject_type, resource_type, pairs, at_least, sample } = change
  return (
    <section class={`change ${isGain ? 'is-gained' : 'is-lost'}`}>
      <h4>
        {isGain ? '+' : '−'} {at_least ? 'at least ' : ''}
        {pairs.toLocaleString('en')} {pairs === 1 ? 'pair' : 'pairs'}: {subject_type} {actions.join(', ')}{' '}
        {resource_type}
        <small>
          {' '}
          {isGain ? 'by' : 'with'} policy {policy.name}
        </small>
      </h4>
      <ul>
        {sample.map(({ subject, resource, matched }) => {
          const path = matched === undefined ? '' : pathOf(matched, subject)
          return (
            <li key={`${subject.id} ${resource.id}`}>
              <a
                href={linkTo('ask', {
                  subject: `${subject.type}:${subject.id}`,
                  action: actions[0],
                  resource: `${resource.type}:${resource.id}`,
                })}
              >
                {subject.id} → {resource.id}
              </a>
              {path !== '' && <small>{path}</small>}
            </li>
          )
        })}
      </ul>
      {pairs > sample.length && <small>and {(pairs - sample.length).toLocaleString('en')} more</small>}
    </section>
  )
}
