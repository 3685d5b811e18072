// The answer to a question: the decision, the path in the graph, the policies, and the same question for other programs.
import { useState } from 'preact/hooks'
import { linkTo } from '../address.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { download } from '../parts/download.ts'
import { Icon } from '../parts/icon.tsx'
import { PlanTree } from '../parts/plan-tree.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { useData } from '../use-data.ts'
import type { AskedAnswer } from './asked-answer.ts'
import { forbids, leadingPolicy, type ShownElements, type ShownPolicy } from './explanation.ts'
import { pictureOf } from './path-layout.ts'
import { PathDrawing } from './path-picture.tsx'
import { type AskedQuestion, commandOf, curlOf, typescriptOf } from './question.ts'
import { readComparisons, reasonsOf } from './reasons.ts'
import { scenarioFileName, scenarioText } from './scenario.ts'

/** The whole answer. */
export function AnswerView({ projectId, answer }: { readonly projectId: string; readonly answer: AskedAnswer }) {
  const { question, decision, explanation, roundTripMs } = answer
  const leading = leadingPolicy(explanation.policies)
  const isForbidden = leading !== null && !decision && forbids(leading)
  const title = isForbidden
    ? 'The path that the policy forbids'
    : decision
      ? 'The path that the policy found'
      : 'The nearest miss'
  return (
    <div class="stack gap-18 answer">
      <div class={`verdict ${decision ? 'is-granted' : 'is-denied'}`}>
        <span class="sign">
          <Icon name={decision ? 'check' : 'cross'} />
        </span>
        <div>
          <h2>{decision ? 'Granted' : 'Denied'}</h2>
          <p>
            <b>{question.subject.id}</b> {decision ? 'may' : 'may not'} <b>{question.action}</b>{' '}
            {question.resource.type} <b>{question.resource.id}</b>
            {leading !== null && decision && (
              <>
                {' '}
                by policy <b>{leading.name}</b>
              </>
            )}
            {isForbidden && (
              <>
                : policy <b>{leading.name}</b> forbids it
              </>
            )}
            {question.drafts === true && ', if the drafts were active'}.
          </p>
        </div>
        <dl class="figures timing">
          <div>
            <dt>Round trip</dt>
            <dd>{milliseconds(roundTripMs)}</dd>
          </div>
          <div>
            <dt>Policies</dt>
            <dd>{explanation.policies.length}</dd>
          </div>
        </dl>
      </div>
      {leading === null ? (
        <p class="notice">
          <span>
            No active policy decides whether a {question.subject.type} may {question.action} a {question.resource.type}.
            Without a policy every question is denied.
          </span>
        </p>
      ) : (
        <section class="card" aria-labelledby="why">
          <div class="card-head">
            <h3 id="why">{title}</h3>
            <p class="in-graph">
              In the graph: <a href={linkTo('graph', { node: nodeText(question.subject) })}>subject</a>,{' '}
              <a href={linkTo('graph', { node: nodeText(question.resource) })}>resource</a>
            </p>
          </div>
          {isForbidden && <p>{reasonsOf(leading, question).join(' ')}</p>}
          {!decision && !isForbidden && (
            <Miss key={leading.id} projectId={projectId} policy={leading} question={question} />
          )}
          <Picture question={question} policy={leading} />
        </section>
      )}
      {explanation.policies.length > 0 && <Policies policies={explanation.policies} question={question} />}
      <Programs projectId={projectId} answer={answer} />
    </div>
  )
}

function nodeText({ type, id }: AskedQuestion['subject']): string {
  return `${type}:${id}`
}

function milliseconds(time: number): string {
  return time < 10 ? `${time.toFixed(1)} ms` : `${Math.round(time)} ms`
}

/** Without relationships a drawing would only repeat the question. */
function Picture({ question, policy }: { readonly question: AskedQuestion; readonly policy: ShownPolicy }) {
  const picture = pictureOf(question, policy)
  const isUnknown = (policy.unknown ?? []).length > 0
  if (picture.edges.length === 0 && !isUnknown) return null
  const states = new Set([...picture.edges, ...picture.nodes].map(({ state }) => state))
  return (
    <>
      <PathDrawing picture={picture} />
      {(states.has('absent') || states.has('forbidden')) && (
        <p class="legend">
          <span class="is-met">in the graph</span>
          {states.has('absent') && <span class="is-absent">missing</span>}
          {states.has('forbidden') && <span class="is-forbidden">excluded by the policy</span>}
        </p>
      )}
    </>
  )
}

function Miss(props: { readonly projectId: string; readonly policy: ShownPolicy; readonly question: AskedQuestion }) {
  const { projectId, policy, question } = props
  const comparisons = useData((signal) => readComparisons(projectId, policy, question, signal), [policy])
  const found = comparisons.value ?? []
  return (
    <div class="stack gap-10 miss">
      <p>
        Policy <b>{policy.name}</b> came closest. {found.length === 0 && reasonsOf(policy, question).join(' ')}
      </p>
      {found.map(({ text, values }) => (
        <p class="comparison" key={text}>
          <code>{text}</code> is not true
          {values.map(({ of, value }, index) => (
            <span key={of}>
              {index === 0 ? ': ' : ' and '}
              <code>{of}</code> is <b>{value}</b>
            </span>
          ))}
          .
        </p>
      ))}
    </div>
  )
}

const outcomeTitles: Readonly<Record<ShownPolicy['outcome'], string>> = {
  granted: 'granted',
  denied: 'denied',
  forbidden: 'forbids',
  passed: 'does not forbid',
  faulted: 'failed',
  skipped: 'skipped',
}

function Policies({
  policies,
  question,
}: {
  readonly policies: readonly ShownPolicy[]
  readonly question: AskedQuestion
}) {
  return (
    <section class="card policies" aria-labelledby="considered">
      <h3 id="considered">Policies considered</h3>
      <ul>
        {policies.map((policy) => (
          <li key={policy.id}>
            <details>
              <summary>
                <span class={`badge is-${policy.outcome}`}>{outcomeTitles[policy.outcome]}</span>
                <b>{policy.name}</b>
                <small>{milliseconds(policy.duration_ms)}</small>
              </summary>
              <p>{reasonsOf(policy, question).join(' ')}</p>
              {policy.plan !== undefined && <PlanTree step={policy.plan} />}
            </details>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Programs({ projectId, answer }: { readonly projectId: string; readonly answer: AskedAnswer }) {
  const [selected, select] = useState('curl')
  const { question, decision, explanation } = answer
  const { origin } = location
  const code = (text: string, name: string) => (
    <div class="code">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy the ${name}`} />
    </div>
  )
  const save = (): void => {
    const shown = explanation.policies.flatMap(({ matched, nearest_miss: miss }) =>
      [matched, miss?.reached?.sample, miss?.stopped.found].filter(
        (one): one is ShownElements => one !== undefined && one !== null,
      ),
    )
    const read = {
      hasPolicies: explanation.policies.length > 0,
      parameters: new Set(Object.keys(explanation.parameters)),
    }
    download(scenarioFileName(question), scenarioText(question, decision, shown, read))
  }
  return (
    <section class="card" aria-labelledby="programs">
      <div class="card-head">
        <h3 id="programs">The same question elsewhere</h3>
        <button type="button" onClick={save}>
          <Icon name="download" />
          Save as scenario
        </button>
      </div>
      <Tabs
        label="Program"
        selected={selected}
        onSelect={select}
        tabs={[
          { id: 'curl', title: 'curl', content: () => code(curlOf(question, origin), 'curl command') },
          // Drafts can be asked by requests only.
          ...(question.drafts === true
            ? []
            : [
                {
                  id: 'typescript',
                  title: 'TypeScript',
                  content: () => code(typescriptOf(question, origin), 'TypeScript'),
                },
                {
                  id: 'command',
                  title: 'CLI',
                  content: () => code(commandOf(question, origin, projectId), 'command'),
                },
              ]),
        ]}
      />
    </section>
  )
}
