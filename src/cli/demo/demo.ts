// Loads data/demo into an empty service through its public interface, and prints commands to try.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import nodes from '../../../data/demo/nodes.json' with { type: 'json' }
import policies from '../../../data/demo/policies.json' with { type: 'json' }
import relationships from '../../../data/demo/relationships.json' with { type: 'json' }
import { DEMO_FILE } from '../../kernel/folder/data-folder.ts'
import { ownCommand } from '../settings/own-command.ts'
import { InProcessClient, type InProcessHost, memberOf, requestFailed } from '../target/in-process-client.ts'
import { mcpLines, prepareMcp } from './demo-mcp.ts'

/** A request to try, and what it prints. */
export interface DemoExample {
  readonly title: string
  readonly path: string
  readonly body: unknown
  /** A command that selects a part of the response; absent: the whole response is printed. */
  readonly filter?: string
  /** The text that the command prints. */
  readonly expectedOutput: string
}

const dara = { type: 'Person', id: 'dara' }
const hana = { type: 'Person', id: 'hana' }
const bramble = { type: 'Car', id: 'bramble' }
const drivers = { type: 'Team', id: 'drivers' }
const tow = { name: 'tow' }
const evaluation = '/access/v1/evaluation'

/** A permit, a denial, a search and an explanation. docs/reference/demo.md explains them. */
const demoExamples: readonly DemoExample[] = [
  {
    title: 'May Dara tow 1800 kg with bramble? Her team uses it, and it pulls 2000 kg.',
    path: evaluation,
    body: { subject: dara, action: tow, resource: bramble, context: { input_params: { load_kg: 1800 } } },
    expectedOutput: '{"decision":true}',
  },
  {
    title: 'And 2400 kg?',
    path: evaluation,
    body: { subject: dara, action: tow, resource: bramble, context: { input_params: { load_kg: 2400 } } },
    expectedOutput: '{"decision":false}',
  },
  {
    title: 'What may Hana read? All documents in the folders that her two teams may open.',
    path: '/access/v1/search/resource',
    body: { subject: hana, action: { name: 'read' }, resource: { type: 'Document' } },
    expectedOutput: JSON.stringify({
      results: ['service-thistle', 'service-heather', 'tyres-2026', 'rota', 'driver-notes', 'welcome'].map((id) => ({
        type: 'Document',
        id,
      })),
    }),
  },
  {
    title: 'Why may Dara tow 1800 kg with bramble? The path in the graph that the policy found:',
    path: '/access/v1/explain',
    body: { subject: dara, action: tow, resource: bramble, context: { input_params: { load_kg: 1800 } } },
    filter: `grep -o '"relationships":[^]]*]'`,
    expectedOutput: `"relationships":${JSON.stringify([
      { variable: null, type: 'USES', source: drivers, target: bramble },
      { variable: null, type: 'MEMBER', source: dara, target: drivers },
    ])}`,
  },
]

const CREDENTIAL_DAYS = 30
const PROVISIONING_POLL_MS = 5

/** Stored after the demo is loaded, so that later starts keep what the user has changed since. */
interface DemoMarker {
  readonly project_id: string
  readonly application_agent_id: string
  /** Whether the MCP server exists. */
  readonly mcp?: true
}

/** A running service, for the loader. */
interface DemoHost extends InProcessHost {
  readonly organizationId: string
  readonly dataDir: string
  /** The base URL in the printed commands, such as `http://127.0.0.1:8080`. */
  readonly address: string
  /** True: everybody may read the pages below `/docs`. */
  readonly docsServed: boolean
}

/** Loads the demo unless it is loaded. Returns the lines to print. */
export async function loadDemo(host: DemoHost): Promise<readonly string[]> {
  const { address, dataDir } = host
  const requests = new InProcessClient(host)
  const markerPath = join(dataDir, DEMO_FILE)
  const loaded = existsSync(markerPath)
  const marker: DemoMarker = loaded
    ? JSON.parse(readFileSync(markerPath, 'utf8'))
    : await prepareProject(requests, host.organizationId)
  // A key is shown only once, so each start creates one. Earlier keys stay valid until they expire.
  const key = await issueKey(requests, marker.application_agent_id)
  if (!loaded) await loadGraph(requests, marker, key)
  if (marker.mcp !== true) {
    await prepareMcp(requests, marker.project_id, dataDir)
    writeFileSync(markerPath, `${JSON.stringify({ ...marker, mcp: true } satisfies DemoMarker)}\n`, { mode: 0o600 })
  }
  return [...linesFor(host, key), ...mcpLines(address, marker.project_id, dataDir)]
}

/** The command of an example; it expects the address in `URL` and the key in `KEY`. */
function commandFor({ path, body, filter }: DemoExample): string {
  const headers = `-H "X-SVC-ClientKey: $KEY" -H 'Content-Type: application/json'`
  const command = `curl -sw '\\n' "$URL${path}" ${headers} -d '${JSON.stringify(body)}'`
  return filter === undefined ? command : `${command} | ${filter}`
}

function linesFor({ address, dataDir, docsServed }: DemoHost, key: string): string[] {
  const documentation = `${address}/docs shows the documentation, ${address}/docs/reference/demo the people, cars and policies of the demo.`
  return [
    '',
    'To ask it, paste these lines into another terminal:',
    `  export URL=${address}`,
    `  export KEY=${key}`,
    ...demoExamples.flatMap((example) => [
      '',
      example.title,
      `  ${commandFor(example)}`,
      `  answers  ${example.expectedOutput}`,
    ]),
    '',
    ...(docsServed ? [documentation] : []),
    `To change policies and configuration, \`${ownCommand(['token', '--data', dataDir])}\` prints a token of the administrator.`,
  ]
}

/**
 * Creates the project with its agent and policies. Each step is idempotent, so an interrupted start is completed by the
 * next.
 */
async function prepareProject(requests: InProcessClient, organizationId: string): Promise<DemoMarker> {
  const name = 'demo'
  const project = { name, organization_id: organizationId, region: 'local', display_name: 'Fernhill Car Club' }
  const projectId = await requests.ensure('projects', `organization_id=${organizationId}`, project)
  const scope = `project_id=${projectId}`
  while ((await requests.read(`projects/${projectId}`, 'ikg_status')) === 'PENDING') {
    await new Promise((resolve) => setTimeout(resolve, PROVISIONING_POLL_MS))
  }
  const application = { name, project_id: projectId }
  const applicationId = await requests.ensure('applications', scope, application)
  const api_permissions = ['Authorization', 'Capture', 'ReadAuthZConfigs']
  const agent = { name, application_id: applicationId, api_permissions }
  const agentId = await requests.ensure('application-agents', scope, agent)
  for (const { policy, ...envelope } of policies.policies) {
    const body = { ...envelope, project_id: projectId, policy: JSON.stringify(policy) }
    const created = await requests.post('authorization-policies', body)
    if (created.status !== 201 && created.status !== 409)
      throw requestFailed(`creating the policy ${envelope.name}`, created)
  }
  return { project_id: projectId, application_agent_id: agentId }
}

async function loadGraph(requests: InProcessClient, { application_agent_id }: DemoMarker, key: string): Promise<void> {
  const applicationId = await requests.read(`application-agents/${application_agent_id}`, 'application_id')
  const withApplication = JSON.parse(JSON.stringify(relationships).replaceAll('$application', applicationId))
  for (const [kind, body] of [
    ['nodes', nodes],
    ['relationships', withApplication],
  ] as const) {
    const captured = await requests.send('POST', `/capture/v1/${kind}`, { 'x-svc-clientkey': key }, body)
    if (captured.status !== 200) throw requestFailed(`capturing the demo's ${kind}`, captured)
  }
}

async function issueKey(requests: InProcessClient, agentId: string): Promise<string> {
  const created = await requests.post('application-agent-credentials', {
    application_agent_id: agentId,
    display_name: 'demo',
    expire_time: new Date(Date.now() + CREDENTIAL_DAYS * 86_400_000).toISOString(),
  })
  if (created.status !== 201) throw requestFailed('making a key for the demo', created)
  return memberOf(created, 'api_key')
}
