// Reads the documents and nodes of the selected project, from which the page finds the next step.
import { ApiError, call } from '../api.ts'
import { type NodeName, queryGraph } from '../graph-api.ts'

/** A document, as lists have it. */
export interface ListedDocument {
  readonly id: string
  readonly name: string
  readonly display_name: string
}

/** An agent with what it may do. */
interface ListedAgent extends ListedDocument {
  readonly application_id: string
  readonly api_permissions: readonly string[]
}

/** A key of an agent. */
interface ListedAgentKey {
  readonly id: string
  readonly display_name: string
  readonly application_agent_id: string
  readonly expire_time: string
}

/** A policy with its text. */
export interface PolicyWithText extends ListedDocument {
  readonly status: string
  /** JSON text. */
  readonly policy?: string
}

/** The documents and nodes of a project. */
export interface FirstStepsProgress {
  readonly applications: readonly ListedDocument[]
  readonly agents: readonly ListedAgent[]
  readonly keys: readonly ListedAgentKey[]
  readonly policies: readonly PolicyWithText[]
  /** The number of nodes; null: the account may not read the graph. */
  readonly nodes: number | null
}

const nothing: FirstStepsProgress = { applications: [], agents: [], keys: [], policies: [], nodes: 0 }

/** Reads the progress of a project. `projectId`: empty if the organization has no project. Rejects as `call` does. */
export async function readProgress(projectId: string, signal: AbortSignal): Promise<FirstStepsProgress> {
  if (projectId === '') return nothing
  const list = async <T>(kind: string): Promise<readonly T[]> => {
    const path = `/configs/v1/${kind}?project_id=${encodeURIComponent(projectId)}&full_fetch=true`
    return (await call<{ readonly data: readonly T[] }>('GET', path, { signal })).data
  }
  const [applications, agents, keys, policies, nodes] = await Promise.all([
    list<ListedDocument>('applications'),
    list<ListedAgent>('application-agents'),
    list<ListedAgentKey>('application-agent-credentials'),
    list<PolicyWithText>('authorization-policies'),
    countNodes(projectId, signal),
  ])
  return { applications, agents, keys, policies, nodes }
}

/** Labels that begin with `_` are those of the service. */
async function countNodes(projectId: string, signal: AbortSignal): Promise<number | null> {
  try {
    const { rows } = await queryGraph(
      projectId,
      "MATCH (n) WHERE NOT n.type STARTS WITH '_' RETURN n LIMIT 1000",
      {},
      { limit: 1000, signal },
    )
    return rows.length
  } catch (failure) {
    if (failure instanceof ApiError) return null
    throw failure
  }
}

/** A question that a policy grants. */
interface GrantedQuestion {
  readonly subject: NodeName
  readonly action: string
  readonly resource: NodeName
}

/** Policies that are tried. */
const TRIED_MAX = 5

/**
 * A question that an active policy grants with the data of the project; null: none was found, or the account may not read the graph.
 * Policies with parameters are not tried.
 */
export async function findGranted(
  projectId: string,
  policies: readonly PolicyWithText[],
  signal: AbortSignal,
): Promise<GrantedQuestion | null> {
  const tried = policies.flatMap((listed) => {
    const read = listed.status === 'ACTIVE' ? readPolicy(listed) : null
    return read === null || read.condition.cypher.includes('$') ? [] : [read]
  })
  for (const { actions, condition } of tried.slice(0, TRIED_MAX)) {
    try {
      const { rows } = await queryGraph(
        projectId,
        `${condition.cypher} RETURN subject, resource LIMIT 1`,
        {},
        { signal },
      )
      const [subject, resource] = (rows[0] ?? []) as readonly { readonly type: string; readonly external_id: string }[]
      if (subject !== undefined && resource !== undefined)
        return {
          subject: { type: subject.type, id: subject.external_id },
          action: actions[0] ?? '',
          resource: { type: resource.type, id: resource.external_id },
        }
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure
    }
  }
  return null
}

interface PolicyText {
  readonly subject: { readonly type: string }
  readonly actions: readonly string[]
  readonly resource: { readonly type: string }
  readonly condition: { readonly cypher: string }
}

/** Null: another program wrote it in another form. */
function readPolicy({ policy = '' }: PolicyWithText): PolicyText | null {
  try {
    const { subject, actions, resource, condition } = JSON.parse(policy) as PolicyText
    if (typeof condition.cypher !== 'string') return null
    return { subject: { type: subject.type }, actions: [...actions], resource: { type: resource.type }, condition }
  } catch {
    return null
  }
}

/** The types and the action of a policy's question; those of the example if its text cannot be read. */
interface PolicyQuestion {
  readonly subject: string
  readonly action: string
  readonly resource: string
  /** The type of the relationship from the subject to the resource. */
  readonly relationship: string
}

/** The question of the example policy. */
export const exampleQuestion: PolicyQuestion = {
  subject: 'Person',
  action: 'drive',
  resource: 'Car',
  relationship: 'OWNS',
}

/** The question that an active policy decides; null: none is active. */
export function questionOfPolicies(policies: readonly PolicyWithText[]): PolicyQuestion | null {
  for (const listed of policies) {
    const read = listed.status === 'ACTIVE' ? readPolicy(listed) : null
    if (read === null) continue
    const { subject, actions, resource, condition } = read
    const relationship = /-\[\w*:(\w+)\]->\(resource\b/.exec(condition.cypher)?.[1] ?? exampleQuestion.relationship
    return { subject: subject.type, action: actions[0] ?? '', resource: resource.type, relationship }
  }
  return null
}
