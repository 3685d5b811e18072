// The screen First steps: from an empty organization to a decision that is granted, in forms that show the requests they send.
import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { signIn } from '../api.ts'
import { relativeText } from '../parts/amounts.ts'
import { Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { project, projectTitle } from '../project.ts'
import type { ScreenProps } from '../screen.ts'
import { Store, useStore } from '../store.ts'
import { useData } from '../use-data.ts'
import { type FirstStepsProgress, type ListedDocument, readProgress } from './progress.ts'
import { StepAnswers } from './step-form.tsx'
import type { AnsweredStep } from './step-request.ts'
import {
  AgentStep,
  ApplicationStep,
  AskStep,
  activeNames,
  DataStep,
  KeyStep,
  NewKey,
  PolicyStep,
  ProjectStep,
  type StepProps,
} from './steps.tsx'

type StepId = 'project' | 'application' | 'agent' | 'key' | 'policy' | 'data' | 'ask'

/** Answers of this visit, without secrets. The selected project changes while a step runs, and the screen is then built again. */
const answers = new Store<Partial<Record<StepId, readonly AnsweredStep[]>>>({})

interface FirstStep {
  readonly id: StepId
  readonly title: string
  /** The existing documents; null: the step is to be done. */
  readonly done: string | null
  readonly Form: ComponentType<StepProps>
}

/** The screen. */
export default function FirstStepsScreen({ projectId }: ScreenProps) {
  const state = useStore(signIn)
  const selected = useStore(project)
  const answered = useStore(answers)
  const progress = useData((signal) => readProgress(projectId, signal), [projectId])
  const [opened, setOpened] = useState<StepId | null>(null)
  const [key, setKey] = useState('')
  if (state.kind !== 'signed-in') return null
  if (progress.error !== null && progress.value === null)
    return <Failure error={progress.error} retry={progress.reload} />
  if (progress.value === null) return <Loading />
  const { session } = state
  const isViewer = session.role !== 'all_editor'
  const steps = stepsOf(progress.value, selected === null ? null : projectTitle(selected))
  const next = steps.find(({ done }) => done === null)?.id ?? 'ask'
  const shown = key !== '' ? 'key' : (opened ?? next)
  const count = steps.filter(({ done }) => done !== null).length
  return (
    <div class="stack gap-16">
      <header class="screen-head">
        <h1>First steps</h1>
        <p>From an empty organization to a decision that is granted. {count} of 6 are done.</p>
      </header>
      {isViewer && (
        <p class="notice" role="status">
          <Icon name="warning" />
          <span>
            You are signed in as a viewer, who may not create anything. An account with the role <code>all_editor</code>{' '}
            can do these steps.
          </span>
        </p>
      )}
      <ol class="stack gap-10 steps">
        {steps.map(({ id, title, done, Form }, at) => {
          const isReachable = at === 0 || (steps[at - 1]?.done ?? null) !== null || done !== null || id === next
          const isShown = id === shown
          return (
            <li key={id} class={`card step ${done !== null ? 'is-done' : ''} ${isShown ? 'is-shown' : ''}`}>
              <h2>
                <button
                  type="button"
                  class="step-head"
                  aria-expanded={isShown}
                  aria-controls={`step-${id}`}
                  disabled={!isReachable || key !== ''}
                  onClick={() => setOpened(isShown ? null : id)}
                >
                  <span class="step-number" aria-hidden="true">
                    {done === null ? at + 1 : <Icon name="check" />}
                  </span>
                  <span>
                    {title}
                    {done !== null && <small>{done}</small>}
                  </span>
                </button>
              </h2>
              <div id={`step-${id}`} hidden={!isShown && answered[id] === undefined}>
                {isShown && id === 'key' && key !== '' ? (
                  <NewKey
                    value={key}
                    onStored={() => {
                      setKey('')
                      setOpened(null)
                    }}
                  />
                ) : (
                  isShown && (
                    <Form
                      projectId={projectId}
                      session={session}
                      progress={progress.value as FirstStepsProgress}
                      isViewer={isViewer}
                      onDone={(sent) => {
                        answers.set({ ...answers.value, [id]: sent })
                        setOpened(null)
                        progress.reload()
                      }}
                      {...(id === 'key' && { onKey: setKey })}
                    />
                  )
                )}
                <StepAnswers answered={answered[id] ?? []} />
              </div>
            </li>
          )
        })}
      </ol>
    </div>
  )
}

function stepsOf(
  { applications, agents, keys, policies, nodes }: FirstStepsProgress,
  projectName: string | null,
): readonly FirstStep[] {
  const valid = keys.filter(({ expire_time }) => Date.parse(expire_time) > Date.now())
  const active = activeNames(policies)
  const names = (documents: readonly ListedDocument[]): string | null =>
    documents.length === 0 ? null : listed(documents.map(({ name }) => name))
  const [key] = valid
  return [
    { id: 'project', title: 'Project', done: projectName, Form: ProjectStep },
    { id: 'application', title: 'Application', done: names(applications), Form: ApplicationStep },
    { id: 'agent', title: 'Agent', done: names(agents), Form: AgentStep },
    {
      id: 'key',
      title: 'Key',
      done:
        key === undefined
          ? null
          : `${valid.length === 1 ? '1 key' : `${valid.length} keys`}, the first expires ${relativeText(key.expire_time)}`,
      Form: KeyStep as ComponentType<StepProps>,
    },
    { id: 'policy', title: 'Policy', done: active.length === 0 ? null : listed(active), Form: PolicyStep },
    {
      id: 'data',
      title: 'Data',
      // Without the right to read the graph it is not known.
      done:
        nodes === 0
          ? null
          : nodes === null
            ? 'not shown to a viewer'
            : `${nodes === 1000 ? '1,000 or more' : nodes} nodes`,
      Form: DataStep,
    },
    { id: 'ask', title: 'Ask', done: null, Form: AskStep },
  ]
}

const LISTED_MAX = 4

function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX
  return more > 0 ? `${names.slice(0, LISTED_MAX).join(', ')} and ${more} more` : names.join(', ')
}
