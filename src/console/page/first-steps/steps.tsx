// The steps, each a form: project, application, agent, key, policy, data, and a question that is granted.
import { useState } from 'preact/hooks'
import { linkTo } from '../address.ts'
import { call, type SessionState } from '../api.ts'
import { type AskedQuestion, commandOf, curlOf, typescriptOf } from '../ask/question.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { type ListedProject, readProjects, selectProject } from '../project.ts'
import { useData } from '../use-data.ts'
import {
  exampleQuestion,
  type FirstStepsProgress,
  findGranted,
  type PolicyWithText,
  questionOfPolicies,
} from './progress.ts'
import { FieldFault, StepField, StepForm } from './step-form.tsx'
import { type AnsweredStep, type StepRequest, sendStep } from './step-request.ts'

/** Properties of every step. */
export interface StepProps {
  readonly projectId: string
  readonly session: SessionState
  readonly progress: FirstStepsProgress
  /** True: the account may not change anything. */
  readonly isViewer: boolean
  /** Shows the answers, and reads the progress again. */
  onDone(answered: readonly AnsweredStep[]): void
}

const CREATED_POLL_MS = 300

/** Creates a project, and selects it when its graph is there. */
export function ProjectStep({ session, isViewer, onDone }: StepProps) {
  const [name, setName] = useState('my-project')
  const [region, setRegion] = useState('local')
  const request: StepRequest = {
    path: '/configs/v1/projects',
    body: { organization_id: session.organization_id, name, region },
  }
  const send = async (): Promise<void> => {
    const { value, answered } = await sendStep<{ readonly id: string }>(request)
    for (;;) {
      const { ikg_status } = await call<ListedProject>('GET', `/configs/v1/projects/${encodeURIComponent(value.id)}`)
      if (ikg_status !== 'PENDING') break
      await new Promise((resolve) => setTimeout(resolve, CREATED_POLL_MS))
    }
    onDone([answered])
    await readProjects(session)
    selectProject(value.id)
  }
  return (
    <StepForm
      id="form-project"
      action="Create the project"
      requests={[request]}
      paths={{ name: ['name'], region: ['region'] }}
      conflict="name"
      isDisabled={isViewer}
      send={send}
    >
      {(fault) => (
        <>
          <p>A project has a graph, policies and agents of its own.</p>
          <StepField id="project-name" label="Name" value={name} onInput={setName} fault={fault('name')} />
          <StepField
            id="project-region"
            label="Region"
            value={region}
            onInput={setRegion}
            hint="A label of your choice."
            fault={fault('region')}
          />
        </>
      )}
    </StepForm>
  )
}

/** Creates an application. */
export function ApplicationStep({ projectId, isViewer, onDone }: StepProps) {
  const [name, setName] = useState('my-application')
  const request: StepRequest = { path: '/configs/v1/applications', body: { project_id: projectId, name } }
  return (
    <StepForm
      id="form-application"
      action="Create the application"
      requests={[request]}
      paths={{ name: ['name'] }}
      conflict="name"
      isDisabled={isViewer}
      send={async () => onDone([(await sendStep(request)).answered])}
    >
      {(fault) => (
        <>
          <p>The program whose questions the service answers.</p>
          <StepField id="application-name" label="Name" value={name} onInput={setName} fault={fault('name')} />
        </>
      )}
    </StepForm>
  )
}

const permissions = [
  { id: 'Authorization', title: 'ask for decisions and searches' },
  { id: 'Capture', title: 'write nodes and relationships' },
  { id: 'CIQ', title: 'run knowledge queries' },
  { id: 'ReadAuthZConfigs', title: 'read the active policies' },
  { id: 'ReadDataSchema', title: 'read the data schema' },
] as const

/** Creates an agent of the first application. */
export function AgentStep({ progress, isViewer, onDone }: StepProps) {
  const [name, setName] = useState('my-agent')
  const [chosen, setChosen] = useState<readonly string[]>(['Authorization', 'Capture'])
  const request: StepRequest = {
    path: '/configs/v1/application-agents',
    body: { application_id: progress.applications[0]?.id ?? '', name, api_permissions: chosen },
  }
  return (
    <StepForm
      id="form-agent"
      action="Create the agent"
      requests={[request]}
      paths={{ name: ['name'], permissions: ['api_permissions'] }}
      conflict="name"
      isDisabled={isViewer}
      send={async () => onDone([(await sendStep(request)).answered])}
    >
      {(fault) => (
        <>
          <p>
            An identity of the application <b>{progress.applications[0]?.name}</b>, with what it may do.
          </p>
          <StepField id="agent-name" label="Name" value={name} onInput={setName} fault={fault('name')} />
          <fieldset
            class="checks"
            aria-describedby={fault('permissions') === undefined ? undefined : 'agent-permissions-fault'}
          >
            <legend>Permissions</legend>
            {permissions.map(({ id, title }) => (
              <label class="tick" key={id}>
                <input
                  type="checkbox"
                  checked={chosen.includes(id)}
                  onChange={({ currentTarget }) =>
                    setChosen(currentTarget.checked ? [...chosen, id] : chosen.filter((one) => one !== id))
                  }
                />
                <span>
                  <b>{id}</b> {title}
                </span>
              </label>
            ))}
          </fieldset>
          <FieldFault id="agent-permissions" fault={fault('permissions')} />
        </>
      )}
    </StepForm>
  )
}

/** Creates a key of the first agent. `onKey`: gets the key, which nothing else keeps. */
export function KeyStep({ progress, isViewer, onDone, onKey }: StepProps & { readonly onKey: (key: string) => void }) {
  const [name, setName] = useState('first key')
  const [expires, setExpires] = useState('')
  const request: StepRequest = {
    path: '/configs/v1/application-agent-credentials',
    body: {
      application_agent_id: progress.agents[0]?.id ?? '',
      display_name: name,
      ...(expires !== '' && { expire_time: `${expires}T00:00:00Z` }),
    },
  }
  const send = async (): Promise<void> => {
    const { value, answered } = await sendStep<{ readonly api_key?: string }>(request)
    onKey(value.api_key ?? '')
    onDone([answered])
  }
  return (
    <StepForm
      id="form-key"
      action="Create the key"
      requests={[request]}
      paths={{ name: ['display_name'], expires: ['expire_time'] }}
      conflict="name"
      isDisabled={isViewer}
      send={send}
    >
      {(fault) => (
        <>
          <p>
            The agent <b>{progress.agents[0]?.name}</b> proves itself with it. The key is shown once.
          </p>
          <StepField id="key-name" label="Name" value={name} onInput={setName} fault={fault('name')} />
          <StepField
            id="key-expires"
            label="Expires on"
            type="date"
            value={expires}
            onInput={setExpires}
            hint="Empty: the default of the service."
            fault={fault('expires')}
          />
        </>
      )}
    </StepForm>
  )
}

/** A new key, until the user has stored it. */
export function NewKey({ value, onStored }: { readonly value: string; readonly onStored: () => void }) {
  return (
    <div class="new-key" role="status">
      <p>
        <b>Store this key now.</b> The service keeps only a hash of it, and this page forgets it.
      </p>
      <div class="code">
        <pre>
          <code>{value}</code>
        </pre>
        <CopyButton text={value} label="Copy the key" />
      </div>
      <button type="button" class="primary" onClick={onStored}>
        I have stored it
      </button>
    </div>
  )
}

/** Creates a policy. */
export function PolicyStep({ projectId, isViewer, onDone }: StepProps) {
  const [name, setName] = useState('drive-own-car')
  const [subject, setSubject] = useState(exampleQuestion.subject)
  const [action, setAction] = useState(exampleQuestion.action)
  const [resource, setResource] = useState(exampleQuestion.resource)
  const [cypher, setCypher] = useState('MATCH (subject:Person)-[:OWNS]->(resource:Car)')
  const policy = {
    meta: { policy_version: '3.0-kbac' },
    subject: { type: subject },
    actions: action.trim() === '' ? [] : [action.trim()],
    resource: { type: resource },
    condition: { cypher },
  }
  const request: StepRequest = {
    path: '/configs/v1/authorization-policies',
    body: { project_id: projectId, name, status: 'ACTIVE', policy: JSON.stringify(policy) },
  }
  return (
    <StepForm
      id="form-policy"
      action="Create the policy"
      requests={[request]}
      paths={{
        name: ['name'],
        subject: ['policy.subject', 'subject'],
        action: ['policy.actions', 'actions'],
        resource: ['policy.resource', 'resource'],
        condition: ['policy.condition', 'condition', 'policy', 'cypher'],
      }}
      conflict="name"
      isDisabled={isViewer}
      send={async () => onDone([(await sendStep(request)).answered])}
    >
      {(fault) => (
        <>
          <p>It grants the action if its pattern connects subject and resource in the graph.</p>
          <StepField id="policy-name" label="Name" value={name} onInput={setName} fault={fault('name')} />
          <div class="step-row">
            <StepField
              id="policy-subject"
              label="Type of subjects"
              value={subject}
              onInput={setSubject}
              fault={fault('subject')}
            />
            <StepField id="policy-action" label="Action" value={action} onInput={setAction} fault={fault('action')} />
            <StepField
              id="policy-resource"
              label="Type of resources"
              value={resource}
              onInput={setResource}
              fault={fault('resource')}
            />
          </div>
          <div class="field">
            <label for="policy-condition">Condition, in Cypher</label>
            <textarea
              id="policy-condition"
              rows={3}
              spellcheck={false}
              value={cypher}
              aria-invalid={fault('condition') !== undefined}
              aria-describedby={fault('condition') === undefined ? undefined : 'policy-condition-fault'}
              onInput={(event) => setCypher(event.currentTarget.value)}
            />
          </div>
          <FieldFault id="policy-condition" fault={fault('condition')} />
        </>
      )}
    </StepForm>
  )
}

/** Writes two nodes and a relationship that the policy grants. */
export function DataStep({ projectId, progress, isViewer, onDone }: StepProps) {
  const decided = questionOfPolicies(progress.policies) ?? exampleQuestion
  const [subject, setSubject] = useState('ann')
  const [relationship, setRelationship] = useState(decided.relationship)
  const [resource, setResource] = useState('bramble')
  const nodes: StepRequest = {
    path: '/capture/v1/nodes',
    projectId,
    body: {
      nodes: [
        { type: decided.subject, external_id: subject },
        { type: decided.resource, external_id: resource },
      ],
    },
  }
  const relationships: StepRequest = {
    path: '/capture/v1/relationships',
    projectId,
    body: {
      relationships: [
        {
          source: { type: decided.subject, external_id: subject },
          type: relationship,
          target: { type: decided.resource, external_id: resource },
        },
      ],
    },
  }
  const send = async (): Promise<void> => {
    const first = await sendStep(nodes)
    const second = await sendStep(relationships)
    onDone([first.answered, second.answered])
  }
  return (
    <StepForm
      id="form-data"
      action="Write the data"
      requests={[nodes, relationships]}
      paths={{
        subject: ['nodes[0]', 'relationships[0].source'],
        resource: ['nodes[1]', 'relationships[0].target'],
        relationship: ['relationships[0].type'],
      }}
      conflict="subject"
      isDisabled={isViewer}
      send={send}
    >
      {(fault) => (
        <>
          <p>Two nodes and the relationship that the policy looks for.</p>
          <div class="step-row">
            <StepField
              id="data-subject"
              label={`${decided.subject}, its id`}
              value={subject}
              onInput={setSubject}
              fault={fault('subject')}
            />
            <StepField
              id="data-relationship"
              label="Relationship"
              value={relationship}
              onInput={setRelationship}
              fault={fault('relationship')}
            />
            <StepField
              id="data-resource"
              label={`${decided.resource}, its id`}
              value={resource}
              onInput={setResource}
              fault={fault('resource')}
            />
          </div>
        </>
      )}
    </StepForm>
  )
}

/** Asks for the decision. */
export function AskStep({ projectId, progress, isViewer }: StepProps) {
  const decided = questionOfPolicies(progress.policies) ?? exampleQuestion
  const granted = useData((signal) => findGranted(projectId, progress.policies, signal), [projectId, progress])
  const question: AskedQuestion = {
    subject: granted.value?.subject ?? { type: decided.subject, id: 'ann' },
    action: granted.value?.action ?? decided.action,
    resource: granted.value?.resource ?? { type: decided.resource, id: 'bramble' },
    parameters: {},
  }
  const [decision, setDecision] = useState<boolean | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [selected, select] = useState('curl')
  const ask = (): void => {
    setError(null)
    const { subject, action, resource } = question
    call<{ readonly decision: boolean }>('POST', '/access/v1/evaluation', {
      project: projectId,
      body: { subject, action: { name: action }, resource },
    }).then((answer) => setDecision(answer.decision), setError)
  }
  const code = (text: string, name: string) => (
    <div class="code">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy the ${name}`} />
    </div>
  )
  const { origin } = location
  const { subject, action, resource } = question
  if (granted.value === null && granted.isLoading) return <Loading />
  return (
    <div class="step-ask">
      <p>
        May {subject.type} <b>{subject.id}</b> <b>{action}</b> {resource.type} <b>{resource.id}</b>?
      </p>
      <div class="row actions">
        <button type="button" class="primary" disabled={isViewer} onClick={ask}>
          Ask it
        </button>
        <a
          class="button"
          href={linkTo('ask', {
            subject: `${subject.type}:${subject.id}`,
            action,
            resource: `${resource.type}:${resource.id}`,
          })}
        >
          Ask and see why
        </a>
      </div>
      <div aria-live="polite">
        {error !== null && <Failure error={error} />}
        {decision !== null && (
          <p class={`verdict ${decision ? 'is-granted' : 'is-denied'}`}>
            <span class="sign">
              <Icon name={decision ? 'check' : 'cross'} />
            </span>
            <b>{decision ? 'Granted' : 'Denied'}</b>
          </p>
        )}
      </div>
      <p>The same question from your program, with the key in the variable KEY:</p>
      <Tabs
        label="Program"
        selected={selected}
        onSelect={select}
        tabs={[
          { id: 'curl', title: 'curl', content: () => code(curlOf(question, origin), 'curl command') },
          { id: 'typescript', title: 'TypeScript', content: () => code(typescriptOf(question, origin), 'TypeScript') },
          { id: 'command', title: 'CLI', content: () => code(commandOf(question, origin, projectId), 'command') },
        ]}
      />
    </div>
  )
}

/** The names of the policies that are active. */
export function activeNames(policies: readonly PolicyWithText[]): readonly string[] {
  return policies.flatMap(({ status, name }) => (status === 'ACTIVE' ? [name] : []))
}
