// A served process with a project, an agent, policies and a captured graph, all created through the public interface.
import { documentId, groupId, type OwnershipGraph, personId } from '../ownership-graph.ts'
import { listening, output, type ServedProcess } from './processes.ts'

export interface BenchPolicy {
  readonly action: string
  readonly cypher: string
}

interface BenchProject {
  /** Of the agent. */
  readonly key: string
  readonly projectId: string
  readonly agentId: string
  /** Additional configuration, of a kind by its path. */
  create(kind: string, body: object): Promise<Record<string, string>>
}

export interface BenchService extends ServedProcess, BenchProject {}

const CAPTURE_ITEMS = 250

export async function serve(
  folder: string,
  graph: OwnershipGraph,
  policies: readonly BenchPolicy[],
  children: Bun.Subprocess[],
  databaseUrl: string | null = null,
): Promise<BenchService> {
  const { token, organization_id } = JSON.parse(await output(['src/main.ts', 'init', '--data', folder, '--json']))
  const served = await listening(['src/main.ts', 'serve', '--data', folder, '--port', '0'], children, {
    ...(databaseUrl === null ? {} : { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' }),
  })
  return { ...served, ...(await setUp(served.url, token, organization_id, graph, policies, databaseUrl)) }
}

export const headers = (key: string): Record<string, string> => ({
  'X-SVC-ClientKey': key,
  'Content-Type': 'application/json',
})

/** A complete request, as sent over the socket. */
export function httpRequest(path: string, more: Readonly<Record<string, string>>, body: string): string {
  const lines = [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1']
  for (const [name, value] of Object.entries(more)) lines.push(`${name}: ${value}`)
  return `${lines.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

async function setUp(
  url: string,
  token: string,
  organization: string,
  graph: OwnershipGraph,
  policies: readonly BenchPolicy[],
  databaseUrl: string | null,
): Promise<BenchProject> {
  const send = async (path: string, auth: Record<string, string>, body?: unknown): Promise<Record<string, string>> => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': 'application/json', ...auth },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const admin = { Authorization: `Bearer ${token}` }
  const create = (kind: string, body: object) => send(`/configs/v1/${kind}`, admin, body)
  const connection = databaseUrl === null ? {} : { db_connection: { url: databaseUrl } }
  const project = { organization_id: organization, name: 'bench', region: 'local', ...connection }
  const project_id = (await create('projects', project)).id
  while ((await send(`/configs/v1/projects/${project_id}`, admin)).ikg_status === 'PENDING') await Bun.sleep(5)
  const application_id = (await create('applications', { project_id, name: 'bench' })).id
  const api_permissions = ['Authorization', 'Capture', 'CIQ']
  const agent = await create('application-agents', { application_id, name: 'bench', api_permissions })
  const credentials = await create('application-agent-credentials', { application_agent_id: agent.id })
  for (const { action, cypher } of policies) {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: [action],
      resource: { type: 'Document' },
      condition: { cypher },
    })
    await create('authorization-policies', { project_id, name: action, policy, status: 'ACTIVE' })
  }

  const key = credentials.api_key as string
  const capture = async (kind: 'nodes' | 'relationships', items: readonly unknown[]): Promise<void> => {
    for (let from = 0; from < items.length; from += CAPTURE_ITEMS) {
      await send(`/capture/v1/${kind}`, { 'X-SVC-ClientKey': key }, { [kind]: items.slice(from, from + CAPTURE_ITEMS) })
    }
  }
  const node = (type: string, external_id: string) => ({ external_id, type, is_identity: type === 'Person' })
  const count = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at))
  await capture('nodes', [
    ...count(graph.people, (at) => node('Person', personId(at))),
    ...count(graph.groups, (at) => node('Group', groupId(at))),
    ...count(graph.documents, (at) => node('Document', documentId(at))),
  ])
  const person = (at: number) => ({ type: 'Person', external_id: personId(at) })
  const group = (at: number) => ({ type: 'Group', external_id: groupId(at) })
  const document = (at: number) => ({ type: 'Document', external_id: documentId(at) })
  const relationships: unknown[] = []
  for (let at = 0; at < graph.ofPerson.length; at++) {
    const source = person(Math.floor(at / 10))
    const end = graph.ofPerson[at] as number
    if (at % 10 < 5) relationships.push({ source, type: 'OWNS', target: document(end) })
    else relationships.push({ source, type: 'MEMBER', target: group(end) })
  }
  for (let at = 0; at < graph.ofGroup.length; at++) {
    const target = document(graph.ofGroup[at] as number)
    relationships.push({ source: group(Math.floor(at / 10)), type: 'MAY_READ', target })
  }
  await capture('relationships', relationships)
  return { key, projectId: project_id as string, agentId: agent.id as string, create }
}
