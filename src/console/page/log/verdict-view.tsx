// The result of a verification as a list of statements.
import { CopyButton } from '../parts/copy-button.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { PlainText } from '../parts/plain-text.tsx'
import type { DataState } from '../use-data.ts'
import { forgetCheckpoints, rememberCheckpoint } from './seen-log.ts'
import type { Verdict, VerifiedStep } from './verify-record.ts'

const icons: Readonly<Record<VerifiedStep['state'], IconName>> = { good: 'check', bad: 'cross', unknown: 'warning' }

/** `titles`: of the whole result. */
export function VerdictView(props: {
  readonly log: string
  readonly verdict: DataState<Verdict>
  readonly titles: Readonly<Record<VerifiedStep['state'], string>>
}) {
  const { log, verdict, titles } = props
  const { value, error, reload } = verdict
  if (error !== null) return <Failure error={error} retry={reload} />
  if (value === null) return <Loading label="Verifying" />
  const { state, steps, fork, unexpected } = value
  return (
    <details class={`proof is-${state}`} open={state !== 'good'}>
      <summary>
        <Icon name={icons[state]} />
        <b role="status">{titles[state]}</b>
      </summary>
      <ul>
        {steps.map((step) => (
          <li key={step.title} class={`is-${step.state}`}>
            <Icon name={icons[step.state]} />
            <div>
              <b>{step.title}</b>
              <p>
                <PlainText text={step.detail} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      {fork !== null && (
        <div class="row">
          <CopyButton text={`${fork.seen.note}\n${fork.found}`} label="Copy both checkpoints, which prove it" />
          <button
            type="button"
            class="quiet"
            onClick={() => {
              forgetCheckpoints(log)
              reload()
            }}
          >
            Forget what this browser has seen
          </button>
        </div>
      )}
      {unexpected !== null && (
        <button
          type="button"
          onClick={() => {
            rememberCheckpoint(log, unexpected)
            reload()
          }}
        >
          I have compared it: this is expected
        </button>
      )}
    </details>
  )
}
