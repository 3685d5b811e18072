// The screen Ask: a question, its answer, and why.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { replaceParameters } from '../address.ts'
import { findNodes, type NodeName, parseNodeName } from '../graph-api.ts'
import { Combobox, type Suggestion } from '../parts/combobox.tsx'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { ParameterRows } from '../parts/parameter-fields.tsx'
import type { ScreenProps } from '../screen.ts'
import { useData } from '../use-data.ts'
import { AnswerView } from './answer-view.tsx'
import { ask } from './asked-answer.ts'
import { type PolicyHead, readPolicyHeads } from './policy-heads.ts'
import { type AskedQuestion, addressOf, formOf, type QuestionForm, questionOf } from './question.ts'

/** The screen. */
export default function AskScreen({ projectId, parameters }: ScreenProps) {
  const [form, setForm] = useState<QuestionForm>(() => formOf(parameters))
  const [faults, setFaults] = useState<readonly string[]>([])
  const [asked, setAsked] = useState<{ readonly question: AskedQuestion } | null>(() => {
    const question = questionOf(form)
    return 'missing' in question ? null : { question }
  })
  const policies = useData((signal) => readPolicyHeads(projectId, form.drafts, signal), [projectId, form.drafts])
  const answer = useData(asked === null ? null : (signal) => ask(projectId, asked.question, signal), [asked])

  // A link to another question, or the button Back.
  const address = parameters.toString()
  useEffect(() => {
    const given = formOf(parameters)
    if (JSON.stringify(given) === JSON.stringify(form) || [...parameters].length === 0) return
    setForm(given)
    const question = questionOf(given)
    if (!('missing' in question)) setAsked({ question })
  }, [address])

  // A fault is about the text of a moment.
  const change = (changed: QuestionForm): void => {
    setForm(changed)
    setFaults([])
  }
  const submit = (): void => {
    const question = questionOf(form)
    if ('missing' in question) {
      setFaults(question.missing)
      return
    }
    setFaults([])
    replaceParameters(addressOf(form))
    setAsked({ question })
  }
  const heads = policies.value ?? []
  return (
    <div class="stack gap-18">
      <header class="screen-head">
        <h1>Ask</h1>
        <p>May a subject do something with a resource, and why?</p>
      </header>
      <QuestionFields projectId={projectId} form={form} heads={heads} onChange={change} onSubmit={submit} />
      {faults.length > 0 && (
        <div class="notice is-bad" role="alert">
          <Icon name="warning" />
          <ul>
            {faults.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        </div>
      )}
      <section class="stack gap-18" aria-label="Answer" aria-live="polite" aria-busy={answer.isLoading}>
        {answer.error !== null && <Failure error={answer.error} retry={answer.reload} explain={parameterHint} />}
        {answer.value !== null && answer.error === null && <AnswerView projectId={projectId} answer={answer.value} />}
        {asked !== null && answer.value === null && answer.error === null && <Loading label="Asking" />}
        {asked === null && (
          <Hints heads={heads} isLoading={policies.isLoading} onChoose={(head) => change(withHead(form, head))} />
        )}
      </section>
    </div>
  )
}

/** The refusal names the parameter; the page knows where its value is written. */
function parameterHint(line: string): string {
  const name = /^missing or wrong input params, '(.*)'$/.exec(line)?.[1]
  return name === undefined ? line : `A policy reads $${name}. Add its value under Parameters.`
}

function withHead(form: QuestionForm, head: PolicyHead): QuestionForm {
  const keep = (text: string, type: string): string => (parseNodeName(text).type === type ? text : `${type}:`)
  return {
    subject: keep(form.subject, head.subject),
    action: head.actions[0] ?? '',
    resource: keep(form.resource, head.resource),
    parameters: head.parameters.map((name) => [name, '']),
    drafts: form.drafts,
  }
}

function Hints(props: {
  readonly heads: readonly PolicyHead[]
  readonly isLoading: boolean
  readonly onChoose: (head: PolicyHead) => void
}) {
  const { heads, isLoading, onChoose } = props
  if (heads.length === 0 && isLoading) return <Loading />
  if (heads.length === 0)
    return (
      <Empty icon="policies" title="No policy is active in this project">
        <p>Every question is denied until a policy grants it.</p>
      </Empty>
    )
  const shown = heads.slice(0, 12)
  return (
    <div class="stack gap-12 hints">
      <h2>Questions that the policies answer</h2>
      <ul>
        {shown.map((head) => (
          <li key={head.id}>
            <button type="button" class="hint" onClick={() => onChoose(head)}>
              <span>
                {head.subject} <b>{head.actions.join(', ')}</b> {head.resource}
              </span>
              <small>{head.name}</small>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

function QuestionFields(props: {
  readonly projectId: string
  readonly form: QuestionForm
  readonly heads: readonly PolicyHead[]
  readonly onChange: (form: QuestionForm) => void
  readonly onSubmit: () => void
}) {
  const { projectId, form, heads, onChange, onSubmit } = props
  const subjectType = parseNodeName(form.subject).type
  const resourceType = parseNodeName(form.resource).type
  const fitting = useMemo(
    () =>
      heads.filter(
        ({ subject, resource }) =>
          (subjectType === '' || subject === subjectType) && (resourceType === '' || resource === resourceType),
      ),
    [heads, subjectType, resourceType],
  )
  const suggestNodes =
    (types: readonly string[]) =>
    async (text: string, signal: AbortSignal): Promise<readonly Suggestion[]> => {
      const node: NodeName = parseNodeName(text)
      const ofTypes = types
        .filter((type) => node.type === '' && type.toLowerCase().startsWith(text.trim().toLowerCase()))
        .map((type) => ({ value: `${type}:`, note: 'type' }))
      const found = await findNodes(projectId, node, signal)
      return [
        ...ofTypes,
        ...found.map(({ type, id, title }) => ({ value: `${type}:${id}`, ...(title !== '' && { note: title }) })),
      ].filter(({ value }) => value !== text)
    }
  const suggestActions = async (text: string): Promise<readonly Suggestion[]> =>
    [...new Set(fitting.flatMap(({ actions }) => actions))]
      .filter((action) => action.toLowerCase().includes(text.trim().toLowerCase()) && action !== text)
      .sort()
      .map((value) => ({ value }))
  const asked = fitting.filter(({ actions }) => actions.includes(form.action.trim()))
  const offered = [...new Set(asked.flatMap((head) => head.parameters))]
  const typesOf = (role: 'subject' | 'resource'): string[] => [...new Set(heads.map((head) => head[role]))].sort()
  return (
    <form
      class="card stack"
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <div class="question-row">
        <Combobox
          label="Subject"
          placeholder="Person:ann"
          value={form.subject}
          onInput={(subject) => onChange({ ...form, subject })}
          onEnter={onSubmit}
          suggest={suggestNodes(typesOf('subject'))}
          inputs={[projectId, heads]}
        />
        <Combobox
          label="Action"
          placeholder="read"
          value={form.action}
          onInput={(action) => onChange({ ...form, action })}
          onEnter={onSubmit}
          suggest={suggestActions}
          inputs={[fitting]}
        />
        <Combobox
          label="Resource"
          placeholder="Document:plan"
          value={form.resource}
          onInput={(resource) => onChange({ ...form, resource })}
          onEnter={onSubmit}
          suggest={suggestNodes(typesOf('resource'))}
          inputs={[projectId, heads]}
        />
        <button type="submit" class="primary">
          Ask
        </button>
      </div>
      <ParameterRows
        parameters={form.parameters}
        offered={offered}
        onChange={(parameters) => onChange({ ...form, parameters })}
      />
      <label class="tick">
        <input
          type="checkbox"
          checked={form.drafts}
          onChange={(event) => onChange({ ...form, drafts: event.currentTarget.checked })}
        />
        Drafts decide too
      </label>
    </form>
  )
}
