// The demo world: loads data/demo into an empty service through the public interface, and says what to paste to see it decide.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import nodes from '../../data/demo/nodes.json' with { type: 'json' }
import policies from '../../data/demo/policies.json' with { type: 'json' }
import relationships from '../../data/demo/relationships.json' with { type: 'json' }
import type { FrontRequest, FrontResponse } from '../http/route.ts'

/** What the loader needs of a running service. */
export interface DemoHost {
  handle(request: FrontRequest): FrontResponse | Promise<FrontResponse>
  readonly organizationId: string
  /** A service-account bearer that may configure. */
  readonly token: string
  readonly dataDir: string
  /** `http://127.0.0.1:8080`, for the lines to paste. */
  readonly address: string
}

export interface DemoQuestion {
  readonly title: string
  readonly path: string
  readonly body: unknown
  /** The whole body of the answer. */
  readonly answer: string
}

const dara = { type: 'Person', id: 'dara' }
const hana = { type: 'Person', id: 'hana' }
const bramble = { type: 'Car', id: 'bramble' }
const tow = { name: 'tow' }
const evaluation = '/access/v1/evaluation'

/** A permit, a denial and a search; data/README.md tells why. */
export const demoQuestions: readonly DemoQuestion[] = [
  {
    title: 'May Dara tow 1800 kg with bramble? Her team uses it, and it pulls 2000 kg.',
    path: evaluation,
    body: { subject: dara, action: tow, resource: bramble, context: { input_params: { load_kg: 1800 } } },
    answer: '{"decision":true}',
  },
  {
    title: 'And 2400 kg?',
    path: evaluation,
    body: { subject: dara, action: tow, resource: bramble, context: { input_params: { load_kg: 2400 } } },
    answer: '{"decision":false}',
  },
  {
    title: 'What may Hana read? Whatever lies in the folders that her two teams may open.',
    path: '/access/v1/search/resource',
    body: { subject: hana, action: { name: 'read' }, resource: { type: 'Document' } },
    answer: JSON.stringify({
      results: ['service-thistle', 'service-heather', 'tyres-2026', 'rota', 'driver-notes', 'welcome'].map((id) => ({
        type: 'Document',
        id,
      })),
    }),
  },
]

const CREDENTIAL_DAYS = 30
const PROVISIONING_POLL_MS = 5

/** Written when the whole world is loaded, so that a later start leaves alone what its user has changed since. */
interface Marker {
  readonly project_id: string
  readonly application_agent_id: string
}

export async function loadDemo(host: DemoHost): Promise<{ lines: string[] }> {
  const markerPath = join(host.dataDir, 'demo.json')
  const loaded = existsSync(markerPath)
  const marker: Marker = loaded ? JSON.parse(readFileSync(markerPath, 'utf8')) : await prepareProject(host)
  // A key can be shown once only, so every start makes one of its own; the earlier ones live on until they expire.
  const key = await issueKey(host, marker.application_agent_id)
  if (!loaded) {
    await loadWorld(host, marker, key)
    writeFileSync(markerPath, `${JSON.stringify(marker)}\n`)
  }
  return { lines: linesFor(host.address, marker, key) }
}

export function curlFor(address: string, key: string, { path, body }: DemoQuestion): string {
  const data = JSON.stringify(body)
  return `curl -s ${address}${path} -H 'X-SVC-ClientKey: ${key}' -H 'Content-Type: application/json' -d '${data}'`
}

function linesFor(address: string, marker: Marker, key: string): string[] {
  const lines = [
    'The demo world is the Fernhill Car Club; data/README.md tells its story.',
    `  address  ${address}`,
    `  project  ${marker.project_id}`,
    `  key      ${key}`,
  ]
  for (const question of demoQuestions) {
    lines.push('', question.title, `  ${curlFor(address, key, question)}`, `  answers  ${question.answer}`)
  }
  return lines
}

/** Each step is safe to repeat, so a start that was cut off half-way is completed by the next. */
async function prepareProject(host: DemoHost): Promise<Marker> {
  const configure = { authorization: `Bearer ${host.token}` }
  const ensure = async (kind: string, parentField: string, parentId: string, body: object): Promise<string> => {
    const name = 'demo'
    const created = await ask(host, 'POST', `/configs/v1/${kind}`, configure, {
      name,
      [parentField]: parentId,
      ...body,
    })
    if (created.status === 201) return memberOf(created, 'id')
    if (created.status !== 409) throw refused(`creating the demo's ${kind}`, created)
    const scope = kind === 'projects' ? `organization_id=${parentId}` : `project_id=${projectId}`
    return await read(host, `/configs/v1/${kind}/${name}?${scope}`, configure, 'id')
  }

  let projectId = ''
  projectId = await ensure('projects', 'organization_id', host.organizationId, {
    region: 'local',
    display_name: 'Fernhill Car Club',
  })
  while ((await read(host, `/configs/v1/projects/${projectId}`, configure, 'ikg_status')) === 'PENDING') {
    await new Promise((resolve) => setTimeout(resolve, PROVISIONING_POLL_MS))
  }
  const applicationId = await ensure('applications', 'project_id', projectId, {})
  const agentId = await ensure('application-agents', 'application_id', applicationId, {
    api_permissions: ['Authorization', 'Capture', 'ReadAuthZConfigs'],
  })
  for (const { policy, ...envelope } of policies.policies) {
    const body = { ...envelope, project_id: projectId, policy: JSON.stringify(policy) }
    const created = await ask(host, 'POST', '/configs/v1/authorization-policies', configure, body)
    if (created.status !== 201 && created.status !== 409) throw refused(`creating the policy ${envelope.name}`, created)
  }
  return { project_id: projectId, application_agent_id: agentId }
}

async function loadWorld(host: DemoHost, { application_agent_id }: Marker, key: string): Promise<void> {
  const configure = { authorization: `Bearer ${host.token}` }
  const agent = `/configs/v1/application-agents/${application_agent_id}`
  const applicationId = await read(host, agent, configure, 'application_id')
  const withApplication = JSON.parse(JSON.stringify(relationships).replaceAll('$application', applicationId))
  for (const [kind, body] of [
    ['nodes', nodes],
    ['relationships', withApplication],
  ] as const) {
    const captured = await ask(host, 'POST', `/capture/v1/${kind}`, { 'x-svc-clientkey': key }, body)
    if (captured.status !== 200) throw refused(`capturing the demo's ${kind}`, captured)
  }
}

async function issueKey(host: DemoHost, agentId: string): Promise<string> {
  const body = {
    application_agent_id: agentId,
    display_name: 'demo',
    expire_time: new Date(Date.now() + CREDENTIAL_DAYS * 86_400_000).toISOString(),
  }
  const configure = { authorization: `Bearer ${host.token}` }
  const created = await ask(host, 'POST', '/configs/v1/application-agent-credentials', configure, body)
  if (created.status !== 201) throw refused('making a key for the demo', created)
  return memberOf(created, 'api_key')
}

async function read(host: DemoHost, path: string, headers: Record<string, string>, member: string): Promise<string> {
  const answer = await ask(host, 'GET', path, headers)
  if (answer.status !== 200) throw refused(`reading ${path}`, answer)
  return memberOf(answer, member)
}

function memberOf(answer: FrontResponse, member: string): string {
  const value = (JSON.parse(answer.body) as Record<string, unknown>)[member]
  if (typeof value !== 'string') throw refused(`reading \`${member}\``, answer)
  return value
}

function refused(doing: string, { status, body }: FrontResponse): Error {
  return new Error(`${doing} answered ${status}: ${body}`)
}

/** One request through the same door that the socket uses. */
async function ask(
  host: DemoHost,
  method: string,
  target: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<FrontResponse> {
  const [path = '', query = ''] = target.split('?')
  const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body))
  const all: Record<string, string> = {
    'content-type': 'application/json',
    'content-length': `${bytes.length}`,
    ...headers,
  }
  return host.handle({ method, path, query, header: (name) => all[name.toLowerCase()] ?? null, body: () => bytes })
}
