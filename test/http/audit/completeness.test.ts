// The audit trail has exactly one record of each request of an authenticated caller, and of each failed authentication. A route, an
// MCP method or a tool without an entry in one of the tables fails, as does a request without its record.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { processCommands } from '../../../src/cli/settings/self-command.ts'
import type { ConfigKind } from '../../../src/config/kind.ts'
import type { Route } from '../../../src/http/route.ts'
import { sessionMethods } from '../../../src/mcp/session/session.ts'
import { statelessMethods } from '../../../src/mcp/stateless/stateless.ts'
import { LISTEN_METHOD } from '../../../src/mcp/stateless/subscriptions-listen.ts'
import { tools } from '../../../src/mcp/tools.ts'
import { untilCommitted } from '../../support/commits.ts'
import { signIn } from '../../support/console-session.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { auditedEvents, type SeenEvent, sinkBody } from '../../support/events.ts'
import { contextPolicy, type SampleContext, samples } from '../../support/kind-samples.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import type { TestService } from '../../support/service.ts'

let mcp: McpService
let service: TestService
let receiver: EventReceiver
let agentKey: string
let powerlessKey: string
let userToken: string
let sink: string
/** Of an event that the receiver has refused. */
let deadLetter: string
let profile: string
let pipeline: string
let decision: string
let loggedDecision: string
/** A backup that is complete. */
const backupName = 'made-before'
const backupFolder = mkdtempSync(join(tmpdir(), 'verdigraph-completeness-backups-'))
const logFolder = mkdtempSync(join(tmpdir(), 'verdigraph-completeness-'))
let context: SampleContext
/** Of a browser that is signed in. */
let consoleHeaders: Readonly<Record<string, string>>
let events: ReadonlyMap<string, readonly SeenEvent[]>

/** A request that was sent, and the only records that it may have. */
interface RecordedRequest {
  readonly label: string
  readonly status: number
  readonly types: readonly string[]
  readonly operation?: string
}

const sent = new Map<string, RecordedRequest>()
const absent = 'gid:00000000000000000000000000'

interface Asked {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly raw?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request with an id of its own. `types`: its records, without `svc.audit.`. Returns the answer. */
async function send(
  label: string,
  asked: Asked,
  types: readonly string[],
  operation?: string,
): Promise<{ readonly status: number; readonly body: Record<string, unknown>; readonly headers: Headers }> {
  const requestId = `request-${sent.size}`
  const content = asked.raw ?? (asked.body === undefined ? undefined : JSON.stringify(asked.body))
  const response = await fetch(`${service.url}${asked.path}`, {
    method: asked.method ?? (content === undefined ? 'GET' : 'POST'),
    headers: {
      'x-request-id': requestId,
      ...(content === undefined ? {} : { 'content-type': 'application/json' }),
      ...asked.headers,
    },
    ...(content === undefined ? {} : { body: content }),
  })
  const text = await response.text()
  sent.set(requestId, { label, status: response.status, types, ...(operation !== undefined && { operation }) })
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : {}, headers: response.headers }
}

const asAgent = () => ({ 'x-svc-clientkey': agentKey })
const asUser = () => ({ ...asAgent(), authorization: `Bearer ${userToken}` })
const asAccount = () => ({ authorization: `Bearer ${service.token}` })

const ann = { subject: { type: 'Person', id: 'ann' } }
const drive = { action: { name: 'drive' } }
const car = { resource: { type: 'Car', id: 'c1' } }
const owns = {
  source: { type: 'Person', external_id: 'ann' },
  target: { type: 'Car', external_id: 'c1' },
  type: 'LIKES',
}
const answered = ['request.answered']

/** A request of an agent, or of an account, that succeeds, and its records. */
interface SuccessRow {
  readonly asked: () => Asked
  readonly types: readonly string[]
}

const agentRow = (path: string, body: unknown, types: readonly string[], method?: string): SuccessRow => ({
  asked: () => ({ path, body, headers: asAgent(), ...(method !== undefined && { method }) }),
  types,
})
const accountRow = (
  path: () => string,
  body: () => unknown,
  types: readonly string[],
  method?: string,
): SuccessRow => ({
  asked: () => ({ path: path(), body: body(), headers: asAccount(), ...(method !== undefined && { method }) }),
  types,
})
const matchingRow = (
  path: string | (() => string),
  body: () => object | undefined,
  types: readonly string[],
  method?: string,
): SuccessRow =>
  accountRow(
    () => `/entity-matching/v1/pipelines/${pipeline}/${typeof path === 'string' ? path : path()}`,
    body,
    types,
    method,
  )
const nothing = (): undefined => undefined
const sinkPath = (rest: string): string => `/configs/v1/event-sinks/${sink}/${rest}`

/** Reads of the audit log of the project by an agent. */
const auditRow = (path: string, query = ''): SuccessRow => ({
  asked: () => ({ path: `/audit/v1/${path}?project_id=${service.projectId}${query}`, headers: asAgent() }),
  types: answered,
})
const treeRow = (path: () => string): SuccessRow => ({
  asked: () => ({
    path: `/audit/v1/tlog/${service.projectId.slice('gid:'.length)}/newest/${path()}`,
    headers: asAgent(),
  }),
  types: answered,
})
const auditReads: Readonly<Record<string, SuccessRow>> = {
  listAuditLogs: auditRow('logs'),
  listAuditManifests: auditRow('manifests'),
  listAuditCheckpoints: auditRow('checkpoints'),
  listAuditRecords: auditRow('records', '&type=svc.audit.*'),
  proveAuditRecord: auditRow('records/0/proof'),
  proveAuditConsistency: auditRow('consistency', '&from=1'),
  exportAuditLog: auditRow('export'),
  listAuditTrees: auditRow('tlog'),
  readAuditCheckpoint: treeRow(() => 'checkpoint'),
  readAuditTile2: treeRow(() => 'tile/entries/000.p/1'),
}

/** For each operation, in the order in which they are called. */
const successes: Readonly<Record<string, SuccessRow>> = {
  evaluate: agentRow('/access/v1/evaluation', { ...ann, ...drive, ...car }, ['authorization.evaluation']),
  evaluateMany: agentRow('/access/v1/evaluations', { ...ann, ...drive, evaluations: [car] }, [
    'authorization.evaluations',
  ]),
  searchResources: agentRow('/access/v1/search/resource', { ...ann, ...drive, resource: { type: 'Car' } }, [
    'authorization.searchresource',
  ]),
  searchSubjects: agentRow('/access/v1/search/subject', { subject: { type: 'Person' }, ...drive, ...car }, [
    'authorization.searchsubject',
  ]),
  searchActions: agentRow('/access/v1/search/action', { ...ann, ...car }, ['authorization.searchaction']),
  listWhatAuthorized: agentRow(
    '/access/v1/what-authorized',
    { ...ann, evaluations: [{ ...drive, resource: { type: 'Car' } }] },
    ['authorization.whatauthorized'],
  ),
  listWhoAuthorized: agentRow('/access/v1/who-authorized', { evaluations: [{ ...drive, ...car }] }, [
    'authorization.whoauthorized',
  ]),
  comparePolicies: agentRow('/access/v1/compare', { replace_all: true }, answered),
  explainDecision: agentRow('/access/v1/explain', { ...ann, ...drive, ...car }, answered),
  watchDecisions: agentRow('/access/v1/watch', undefined, answered, 'HEAD'),
  streamDecisions: agentRow('/access/v1/decisions', undefined, answered, 'HEAD'),
  readLoggedDecision: {
    asked: () => ({ path: `/access/v1/decisions/${loggedDecision}`, headers: asAgent() }),
    types: answered,
  },
  listActivePolicies: agentRow('/access/v1/policies?subject_type=Person', undefined, answered),
  upsertNodes: agentRow('/capture/v1/nodes', { nodes: [{ type: 'Bike', external_id: 'b1' }] }, ['capture.upsert.node']),
  putNodes: agentRow(
    '/capture/v1/nodes',
    { nodes: [{ type: 'Bike', external_id: 'b2' }] },
    ['capture.upsert.node'],
    'PUT',
  ),
  putNode: agentRow(
    '/capture/v1/nodes/Bike:b3',
    { properties: [{ type: 'gears', value: 7, metadata: { source: 'shop' } }] },
    ['capture.upsert.node'],
    'PUT',
  ),
  deleteNodePropertyMetadata: agentRow(
    '/capture/v1/nodes/properties/metadata/delete',
    { nodes: [{ type: 'Bike', external_id: 'b3', property_type: 'gears', metadata_fields: ['source'] }] },
    ['capture.delete.node.property.metadata'],
  ),
  deleteNodeProperties: agentRow(
    '/capture/v1/nodes/properties/delete',
    { nodes: [{ type: 'Bike', external_id: 'b3', property_types: ['gears'] }] },
    ['capture.delete.node.property'],
  ),
  upsertRelationships: agentRow(
    '/capture/v1/relationships',
    { relationships: [{ ...owns, properties: [{ type: 'since', value: 1 }] }] },
    ['capture.upsert.relationship'],
  ),
  putRelationships: agentRow(
    '/capture/v1/relationships',
    { relationships: [{ ...owns, properties: [{ type: 'since', value: 2 }] }] },
    ['capture.upsert.relationship'],
    'PUT',
  ),
  deleteRelationshipProperties: agentRow(
    '/capture/v1/relationships/properties/delete',
    { relationships: [{ ...owns, property_types: ['since'] }] },
    ['capture.delete.relationship.property'],
  ),
  deleteRelationships: agentRow('/capture/v1/relationships/delete', { relationships: [owns] }, [
    'capture.delete.relationship',
  ]),
  deleteNodes: agentRow('/capture/v1/nodes/delete', { nodes: [{ type: 'Bike', external_id: 'b1' }] }, [
    'capture.delete.node',
  ]),
  executeKnowledgeQuery: {
    asked: () => ({ path: '/contx-iq/v1/execute', body: { id: 'my-cars' }, headers: asUser() }),
    types: ['ciq.execute'],
  },
  whoami: { asked: () => ({ path: '/contx-iq/v1/whoami', headers: asUser() }), types: answered },
  getDataSchema: agentRow('/data-schema/v1', undefined, answered),
  rebuildDataSchema: accountRow(
    () => '/configs/v1/data-schema/rebuild',
    () => ({ project_id: service.projectId }),
    answered,
  ),
  applyProject: accountRow(
    () => `/configs/v1/projects/${service.projectId}/apply`,
    () => ({
      project: { body: { region: 'local' } },
      documents: [{ kind: 'applications', name: 'applied', body: {} }],
    }),
    ['config.create'],
  ),
  readProjectDocuments: accountRow(() => `/configs/v1/projects/${service.projectId}/documents`, nothing, [
    'config.read',
  ]),
  readOrganization: accountRow(() => '/configs/v1/organizations/current', nothing, answered),
  readTrustScoreReport: accountRow(() => `/configs/v1/trust-score-profiles/${profile}/report`, nothing, answered),
  readPropertyMappings: matchingRow('property-mappings', nothing, answered),
  suggestPropertyMappings: matchingRow('property-mappings', nothing, answered, 'POST'),
  runEntityMatching: matchingRow(
    'runs',
    () => ({
      similarity_score_cutoff: 0.5,
      custom_property_mappings: [{ source_node_property: 'gears', target_node_property: 'gears' }],
    }),
    answered,
  ),
  readEntityMatchingStatus: matchingRow('status', nothing, answered),
  readEntityMatchingReport: matchingRow('report', nothing, answered),
  decideEntityMatch: matchingRow(
    'decisions',
    () => ({ source_external_id: 'twin1', target_external_id: 'twin2', decision: 'NOT_SAME' }),
    ['entitymatching.decision.made'],
  ),
  listEntityMatchDecisions: matchingRow('decisions', nothing, answered),
  deleteEntityMatchDecision: matchingRow(
    () => `decisions/${decision}`,
    nothing,
    ['entitymatching.decision.deleted'],
    'DELETE',
  ),
  testEventSink: accountRow(
    () => sinkPath('test'),
    () => ({ event: { type: 'svc.audit.config.read' } }),
    answered,
  ),
  queryGraph: {
    asked: () => ({
      path: '/graph/v1/query',
      body: { query: 'RETURN 1 AS one' },
      headers: { ...asAccount(), 'x-project-id': service.projectId },
    }),
    types: ['graph.query'],
  },
  runScenario: {
    asked: () => ({
      path: '/access/v1/test',
      body: { scenario: 'decisions: []' },
      headers: { ...asAccount(), 'x-project-id': service.projectId },
    }),
    types: answered,
  },
  listGraphNames: agentRow('/graph/v1/names', undefined, answered),
  checkCypher: agentRow('/graph/v1/check', { query: 'RETURN 1 AS one' }, answered),
  completeCypher: agentRow('/graph/v1/complete', { text: 'MATCH (p:P', offset: 10 }, answered),
  testEventSinkDraft: accountRow(
    () => '/configs/v1/event-sinks/test',
    () => ({
      event: { type: 'svc.audit.config.read' },
      sink: sinkBody(service.projectId, [{ type: 'svc.audit.config.*' }]),
    }),
    answered,
  ),
  readDeadLetter: accountRow(() => sinkPath(`dead-letters/${deadLetter}`), nothing, answered),
  deleteDeadLetter: accountRow(() => sinkPath(`dead-letters/${deadLetter}`), nothing, answered, 'DELETE'),
  listDeadLetters: accountRow(() => sinkPath('dead-letters'), nothing, answered),
  sendDeadLetters: accountRow(
    () => sinkPath('dead-letters'),
    () => ({ provider_id: 'main' }),
    answered,
  ),
  deleteDeadLetters: accountRow(() => sinkPath('dead-letters?provider_id=main'), nothing, answered, 'DELETE'),
  followEvents: accountRow(
    () => sinkPath('follow'),
    () => ({}),
    answered,
  ),
  createConsoleSession: {
    asked: () => ({ path: '/console/v1/session', body: { token: service.token } }),
    types: answered,
  },
  listSettings: accountRow(() => '/operations/v1/settings', nothing, answered),
  listBackups: accountRow(() => '/operations/v1/backups', nothing, answered),
  downloadBackup: accountRow(() => `/operations/v1/backups/${backupName}`, nothing, answered),
  deleteBackup: accountRow(() => `/operations/v1/backups/${backupName}`, nothing, answered, 'DELETE'),
  createBackup: accountRow(
    () => '/operations/v1/backups',
    () => ({}),
    answered,
  ),
  createConsoleLink: accountRow(() => '/console/v1/links', nothing, answered, 'POST'),
  deleteConsoleSession: {
    asked: () => ({ method: 'DELETE', path: '/console/v1/session', headers: consoleHeaders }),
    types: answered,
  },
  ...auditReads,
}

/**
 * Operations that cannot succeed here: there is no key service, the log is too short and was not restored, and one job works on the
 * backups at a time. Their refusals are tested.
 */
const refusedOnly = [
  'verifyBackup',
  ...['signAuditLog', 'readAuditBody', 'readAuditPruned'],
  ...['readAuditTile', 'readAuditTile3', 'readAuditTile4', 'readAuditTile5'],
]

/** Operations without a record if they succeed. */
const unrecorded: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['the document is public', 'readAuthzenConfiguration', 'readMcpResourceMetadata', 'readAuditKeys'],
    ['health of the process, for everybody', 'health', 'ready'],
    ['counts without data of a project, read every few seconds', 'metrics', 'readServiceStatus'],
    ['a page, the same for everybody', 'readConsole', 'readConsoleFile'],
    ['a browser reads its own session', 'readConsoleSession'],
    [
      'documentation, the same for everybody',
      ...['readFrontPage', 'readOpenApi', 'readOpenApi32', 'readDocumentation', 'readApiReference'],
      ...['searchDocumentation', 'readDocumentationImage', 'readDocumentationPage', 'readDocumentationSectionPage'],
    ],
  ].flatMap(([reason, ...operations]) => operations.map((operation) => [operation, reason ?? ''])),
)

const mcpOperations = ['callMcp', 'listenToMcpSession', 'endMcpSession']

/** Parameters of a successful call of each method, in a session and without one. */
const mcpMethods: Readonly<Record<string, object>> = {
  ping: {},
  'server/discover': {},
  'tools/list': {},
  'resources/list': {},
  'resources/templates/list': {},
  'resources/read': { uri: 'svc://knowledge-queries/' },
  'completion/complete': {
    ref: { type: 'ref/resource', uri: 'svc://knowledge-queries/{name}' },
    argument: { name: 'name', value: 'my' },
  },
}

const flat = {
  subject_type: 'Person',
  subject_id: 'ann',
  resource_type: 'Car',
  resource_id: 'c1',
  action_name: 'drive',
}
const mcpTools: Readonly<Record<string, readonly [args: object, type: string]>> = {
  authzen_evaluate: [flat, 'authorization.evaluation'],
  authzen_evaluations: [{ ...flat, evaluations: [{}] }, 'authorization.evaluations'],
  authzen_search_resource: [
    { subject_type: 'Person', subject_id: 'ann', action_name: 'drive', resource_type: 'Car' },
    'authorization.searchresource',
  ],
  authzen_search_subject: [
    { subject_type: 'Person', action_name: 'drive', resource_type: 'Car', resource_id: 'c1' },
    'authorization.searchsubject',
  ],
  authzen_search_action: [
    { subject_type: 'Person', subject_id: 'ann', resource_type: 'Car', resource_id: 'c1' },
    'authorization.searchaction',
  ],
  authzen_explain: [flat, 'request.answered'],
  ciq_execute: [{ id: 'my-cars' }, 'ciq.execute'],
}

const isConfig = ({ path }: Route): boolean => kindOf(path) !== undefined
const kindOf = (path: string): ConfigKind | undefined =>
  service.app.config.kinds.find((kind) => [`/configs/v1/${kind.path}`, `/configs/v1/${kind.path}/{id}`].includes(path))
const secured = (): readonly Route[] => service.app.routes.filter(({ auth }) => auth.kind !== 'public')

beforeAll(async () => {
  receiver = startReceiver()
  receiver.answer = () => 413
  mcp = await startMcpService({
    settings: {
      decisionLog: join(logFolder, 'log'),
      auditDecisions: 'all',
      metricsAccess: 'account',
      upstreamAllow: '127.0.0.1',
      backupFolder,
    },
    // Each failed authentication has a record of its own here; test/process/audit/refusals.test.ts tests the bound.
    overrides: {
      eventDelivery: { random: () => 0.001 },
      singleFailuresMax: 10_000,
      backupCommand: processCommands().backupCommand,
    },
  })
  service = mcp.service
  const all = ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs', 'ReadDataSchema', 'Audit']
  agentKey = (await service.addAgent('all', all)).key
  powerlessKey = (await service.addAgent('powerless', ['EntityMatching'])).key
  userToken = await mcp.tokenOf('ann')
  const provider = receiverProvider(receiver, { include_cdc_events: true })
  const receivesLittle = sinkBody(service.projectId, [{ type: 'svc.audit.cdc.*' }], { main: provider })
  sink = (await service.configure('POST', 'event-sinks', receivesLittle)).body.id as string
  deadLetter = await refusedEvent()
  const scored = {
    project_id: service.projectId,
    name: 'scored',
    node_classification: 'Bike',
    dimensions: [{ name: 'FRESHNESS', weight: 1 }],
    schedule: 'DAILY',
  }
  profile = (await service.configure('POST', 'trust-score-profiles', scored)).body.id as string
  await service.app.scoreTrustOf(profile, 'operator')
  await sampleMatching()
  const evaluated = await service.ask('/access/v1/evaluation', { ...ann, ...drive, ...car })
  loggedDecision = (evaluated.body.context as { readonly id: string }).id
  // The line is written after the answer.
  await vi.waitFor(
    async () => {
      const { status } = await service.send(`/access/v1/decisions/${loggedDecision}`, { headers: asAgent() })
      expect(status).toBe(200)
    },
    { timeout: 30_000 },
  )
  await sampleContext()
  consoleHeaders = (await signIn(service)).headers
  writeFileSync(join(backupFolder, `${backupName}.tar.age`), 'age-encryption.org/v1\n-> made by a command')

  // Only sealed records can be read.
  await service.app.sealAudit()

  for (const [operation, { asked, types }] of Object.entries(successes))
    await send(operation, asked(), types, operation)
  await callMcp()
  for (const kind of service.app.config.kinds) await changeDocuments(kind)
  for (const route of secured()) await refuse(route)
  for (const route of secured()) await failToAuthenticate(route)
  await failToStore()
  events = await eventsByRequest()
})

afterAll(async () => {
  await mcp?.stop()
  await receiver?.stop()
  rmSync(logFolder, { recursive: true, force: true })
  rmSync(backupFolder, { recursive: true, force: true })
})

/** A pipeline with a report and a decision. */
async function sampleMatching(): Promise<void> {
  const nodes = ['twin1', 'twin2'].map((external_id) => ({
    type: 'Unicycle',
    external_id,
    properties: [{ type: 'gears', value: 1 }],
  }))
  const { status, text } = await service.ask('/capture/v1/nodes', { nodes })
  if (status !== 200) throw new Error(text)
  const types = ['Unicycle']
  const created = await service.configure('POST', 'entity-matching-pipelines', {
    project_id: service.projectId,
    name: 'unicycles',
    node_filter: { source_node_types: types, target_node_types: types },
    similarity_score_cutoff: 0.5,
  })
  pipeline = created.body.id as string
  const headers = { authorization: `Bearer ${service.token}` }
  const post = (path: string, body: object) =>
    service.send(`/entity-matching/v1/pipelines/${pipeline}/${path}`, { headers, body })
  const requested = await post('runs', {
    similarity_score_cutoff: 0.5,
    custom_property_mappings: [{ source_node_property: 'gears', target_node_property: 'gears' }],
  })
  if (requested.status !== 202) throw new Error(requested.text)
  const pair = { source_external_id: 'twin1', target_external_id: 'twin2' }
  decision = (await post('decisions', { ...pair, decision: 'SAME' })).body.id as string
  await service.app.matchEntities()
}

/** Captures a node whose event the receiver refuses. Returns the id of the dead letter. */
async function refusedEvent(): Promise<string> {
  const nodes = [{ type: 'Bike', external_id: 'refused' }]
  const captured = await service.ask('/capture/v1/nodes', { nodes })
  if (captured.status !== 200) throw new Error(captured.text)
  const letters = async (): Promise<readonly { readonly id: string }[]> =>
    (await service.configure('GET', `event-sinks/${sink}/dead-letters`)).body.dead_letters as { id: string }[]
  await untilCommitted(service.dataDir, 'an event is refused', async () => (await letters()).length > 0)
  return (await letters())[0]!.id
}

/** The documents that samples refer to, in a project of their own: a project may have one MCP server and one event sink. */
async function sampleContext(): Promise<void> {
  const make = async (kind: string, body: object): Promise<string> => {
    const made = await service.configure('POST', kind, body)
    if (made.status !== 201) throw new Error(`${kind}: ${made.text}`)
    return made.body.id as string
  }
  const organization = service.app.organizationId
  const project = await make('projects', { organization_id: organization, name: 'samples', region: 'local' })
  await service.provisioned(project)
  const application = await make('applications', { project_id: project, name: 'samples' })
  const agent = { application_id: application, name: 'samples', api_permissions: ['CIQ'] }
  const introspect = {
    project_id: project,
    name: 'issuer',
    jwt_matcher: { issuer: 'https://issuer.example', audience: 'verdigraph' },
    ikg_node_type: 'Person',
    claims_mapping: {},
    offline_validation: {},
  }
  const policy = { project_id: project, name: 'for-queries', policy: contextPolicy, status: 'ACTIVE' }
  context = {
    organization,
    project,
    application,
    agent: await make('application-agents', agent),
    account: await make('service-accounts', { organization_id: organization, name: 'viewer', role: 'all_viewer' }),
    introspect: await make('token-introspects', introspect),
    policy: await make('authorization-policies', policy),
  }
}

/** Lists, creates, reads, updates and deletes a document of a kind. */
async function changeDocuments(kind: ConfigKind): Promise<void> {
  const { path, operations } = kind
  const ask = (what: string, asked: Asked, types: readonly string[]) =>
    send(`${path} ${what}`, { ...asked, path: `/configs/v1/${asked.path}`, headers: asAccount() }, types)
  const scope =
    kind.inOrganization === true ? `organization_id=${context.organization}` : `project_id=${context.project}`
  await ask('list', { path: `${path}?${scope}` }, ['config.read'])
  const sample = samples[path]
  if (!operations.create || sample === undefined) return
  const named = Object.hasOwn(kind.createSchema.shape, 'name') ? { name: 'audited' } : {}
  const permissions = path === 'application-agents' ? ['config.permission.assign'] : []
  const revokes = path === 'application-agents' ? ['config.permission.revoke'] : []
  const body = { ...sample.body(context), ...named }
  const created = await ask('create', { path, body }, ['config.create', ...permissions])
  const one = `${path}/${created.body.id}`
  await ask('read', { path: one }, ['config.read'])
  if (operations.update) {
    const change = { ...sample.always?.(context), ...(sample.change?.body ?? { description: 'another' }) }
    await ask('update', { method: 'PUT', path: one, body: change }, ['config.update', ...permissions, ...revokes])
    await ask('update without a change', { method: 'PUT', path: one, body: change }, answered)
  }
  if (operations.delete) await ask('delete', { method: 'DELETE', path: one }, ['config.delete', ...revokes])
}

/** Calls every method of MCP in both protocol versions, and every tool. */
async function callMcp(): Promise<void> {
  const { path } = mcp
  const accept = 'application/json, text/event-stream'
  const inSession = (session: string) => ({
    authorization: `Bearer ${userToken}`,
    accept,
    'mcp-session-id': session,
  })
  const alone = (method: string, name?: string) => ({
    authorization: `Bearer ${userToken}`,
    accept,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  })
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
  const first = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const headers = { authorization: `Bearer ${userToken}`, accept }
  const opened = await send('initialize', { path, headers, body: rpc('initialize', first) }, answered, 'mcp/initialize')
  const session = opened.headers.get('mcp-session-id') as string
  for (const [method, params] of Object.entries(mcpMethods)) {
    const operation = `mcp/${method}`
    if (sessionMethods.has(method))
      await send(
        `${method} in a session`,
        { path, headers: inSession(session), body: rpc(method, params) },
        answered,
        operation,
      )
    const { uri } = params as { uri?: string }
    const body = rpc(method, { ...params, _meta })
    if (statelessMethods.has(method))
      await send(`${method} alone`, { path, headers: alone(method, uri), body }, answered, operation)
  }
  for (const [name, [args, type]] of Object.entries(mcpTools)) {
    const call = { name, arguments: args }
    await send(`${name} in a session`, { path, headers: inSession(session), body: rpc('tools/call', call) }, [type])
    const body = rpc('tools/call', { ...call, _meta })
    await send(`${name} alone`, { path, headers: alone('tools/call', name), body }, [type])
    const wrong = rpc('tools/call', { name, arguments: { nonsense: 1 } })
    const refused = ['request.refused']
    await send(`${name} refused`, { path, headers: inSession(session), body: wrong }, refused, 'mcp/tools/call')
  }
  await listen(path, alone(LISTEN_METHOD), rpc(LISTEN_METHOD, { notifications: { toolsListChanged: true }, _meta }))
  const unknown = { path, headers: inSession(session), body: rpc('nonsense/call', {}) }
  await send('an unknown method', unknown, ['request.refused'], 'mcp/nonsense/call')
  await send(
    'the stream of a session',
    { method: 'HEAD', path, headers: inSession(session) },
    answered,
    'listenToMcpSession',
  )
  await send('the end of a session', { method: 'DELETE', path, headers: inSession(session) }, answered, 'endMcpSession')
}

/** Opens a stream of notifications, and ends it after its first message. */
async function listen(path: string, headers: Readonly<Record<string, string>>, body: object): Promise<void> {
  const requestId = `request-${sent.size}`
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'x-request-id': requestId, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { status } = response
  sent.set(requestId, { label: LISTEN_METHOD, status, types: answered, operation: `mcp/${LISTEN_METHOD}` })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  await reader.cancel()
}

/** The path of a route with parameters that exist, or not. */
function pathOf({ path }: Route, id: string): string {
  return path
    .replace('{project}', service.projectId)
    .replace('{key}', 'nonsense')
    .replace(/\{\w+\}/g, id)
}

/** Sends a request with valid credentials that is refused. */
async function refuse(route: Route): Promise<void> {
  const { method, auth, operationId, path } = route
  const label = `${operationId} refused`
  const refused = ['request.refused']
  const target = pathOf(route, absent)
  const body = method === 'POST' || method === 'PUT' ? { body: {} } : {}
  // Only a console session is refused: test/http/console. Another role is refused: test/http/operations.
  if (operationId === 'createConsoleLink' || operationId === 'createBackup') return
  switch (auth.kind) {
    case 'public':
      return
    case 'agent':
    case 'agent-or-account':
      // Its credentials are valid, and do not suffice.
      await send(
        label,
        // The key of the service may capture and decide.
        {
          method,
          path: target,
          ...body,
          headers: { 'x-svc-clientkey': auth.permission === 'EntityMatching' ? service.key : powerlessKey },
        },
        refused,
        operationId,
      )
      return
    case 'user':
      await send(
        label,
        { method, path: target, ...body, headers: { authorization: `Bearer ${userToken}` } },
        refused,
        operationId,
      )
      return
    case 'service-account': {
      // A list or a document of the whole organization has no identifier that could be wrong.
      const query = path.includes('{') || method !== 'GET' ? '' : '?nonsense=1'
      // Metrics ignore the query, and refusals of routes without a record have none.
      if (operationId === 'metrics') return
      await send(label, { method, path: `${target}${query}`, ...body, headers: asAccount() }, refused, operationId)
    }
  }
}

/** Sends a request with wrong credentials. */
async function failToAuthenticate(route: Route): Promise<void> {
  const { method, auth, operationId } = route
  const body = method === 'POST' || method === 'PUT' ? { body: {} } : {}
  const wrong = auth.kind === 'agent' ? { 'x-svc-clientkey': 'nonsense' } : { authorization: 'Bearer nonsense' }
  const failed = ['credentials.authentication.failed']
  const asked = { method, path: pathOf(route, service.projectId), ...body }
  await send(`${operationId} without credentials`, asked, failed, operationId)
  await send(`${operationId} with wrong credentials`, { ...asked, headers: wrong }, failed, operationId)
}

/** Sends captures and changes of the configuration while the data folder is not at its place. */
async function failToStore(): Promise<void> {
  const { dataDir, projectId } = service
  const refused = ['request.refused']
  const sample = { ...samples['authorization-policies']?.body(context), name: 'not-stored' }
  renameSync(dataDir, `${dataDir}-away`)
  try {
    for (const [operation, { asked }] of Object.entries(successes))
      if (asked().path.startsWith('/capture/')) await send(`${operation} failed`, asked(), refused, operation)
    const headers = asAccount()
    const create = { path: '/configs/v1/authorization-policies', body: sample, headers }
    await send('creation of a document failed', create, refused)
    const path = `/configs/v1/projects/${projectId}`
    const update = { method: 'PUT', path, body: { display_name: 'lost' }, headers }
    await send('update of a document failed', update, refused)
    await send('deletion of a document failed', { method: 'DELETE', path, headers }, refused)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
    renameSync(`${dataDir}-away`, dataDir)
  }
}

/** The audited events of all logs, by request. Verifications of tokens are not events of a request of their own. */
async function eventsByRequest(): Promise<ReadonlyMap<string, readonly SeenEvent[]>> {
  const { organizationId } = service.app
  const ids = await service.app.eventStreams.auditOwners()
  const owners = ids.map((id) => (id === organizationId ? { organizationId } : { projectId: id }))
  const all = (await Promise.all(owners.map((owner) => auditedEvents(service, owner)))).flat()
  const ofRequests = all.filter(({ type }) => type !== 'svc.audit.credentials.token.introspected')
  return Map.groupBy(ofRequests, ({ data }) => String(data.requestId))
}

const typesOf = (requestId: string): readonly string[] =>
  (events.get(requestId) ?? []).map(({ type }) => type.replace('svc.audit.', ''))

/** The requests whose records are others than expected. */
function deviations(select: (one: RecordedRequest) => boolean): unknown[] {
  return [...sent]
    .filter(([, one]) => select(one))
    .flatMap(([requestId, { label, status, types, operation }]) => {
      const found = typesOf(requestId)
      // A read has one for each project with a document in the answer, a change one for each document and permission.
      const once = types.some((type) => type.startsWith('config.')) ? [...new Set(found)] : found
      const isRight = once.length === types.length && types.every((type) => once.includes(type))
      const recorded = events.get(requestId)?.[0]?.data.operation
      const isNamed = operation === undefined || recorded === undefined || recorded === operation
      return isRight && isNamed ? [] : [{ label, status, expected: types, found, recorded }]
    })
}

const isFailed = ({ label }: RecordedRequest): boolean => label.endsWith(' failed')
const isRefusal = ({ types }: RecordedRequest): boolean => types[0] === 'request.refused'
const isFailure = ({ types }: RecordedRequest): boolean => types[0] === 'credentials.authentication.failed'

describe('every request has exactly one record', () => {
  test('if it succeeds, of its own type or of the general one', () => {
    const succeeded = [...sent.values()].filter((one) => !isRefusal(one) && !isFailure(one))
    expect(succeeded.filter(({ status }) => status >= 300)).toEqual([])
    expect(deviations((one) => !isRefusal(one) && !isFailure(one))).toEqual([])
  })

  test('if it is refused', () => {
    const refused = [...sent.values()].filter(isRefusal)
    expect(refused.filter(({ status, label }) => status < 400 && !/ refused$|unknown method/.test(label))).toEqual([])
    expect(deviations(isRefusal)).toEqual([])
  })

  test('if it fails because nothing can be stored', () => {
    const failed = [...sent.values()].filter(isFailed)
    const captures = service.app.routes.filter(({ path }) => path.startsWith('/capture/'))
    expect(failed.length).toBeGreaterThan(captures.length)
    expect(failed.filter(({ status }) => status !== 503)).toEqual([])
    expect(deviations(isFailed)).toEqual([])
    const own = [...sent].filter(([, one]) => isFailed(one)).flatMap(([requestId]) => events.get(requestId) ?? [])
    expect(new Set(own.map(({ data }) => data.status))).toEqual(new Set([503]))
  })

  test('if its credentials are missing or wrong, without a part of them', () => {
    expect([...sent.values()].filter((one) => isFailure(one) && one.status !== 401)).toEqual([])
    expect(deviations(isFailure)).toEqual([])
    const failures = [...events.values()].flat().filter(({ type }) => type.endsWith('authentication.failed'))
    expect(JSON.stringify(failures)).not.toContain('nonsense')
  })

  test('with caller, address, operation and status', () => {
    const recorded = [...events.values()].flat().filter(({ type }) => type.startsWith('svc.audit.request.'))
    expect(recorded.length).toBeGreaterThan(100)
    for (const { data } of recorded)
      expect(data).toMatchObject({
        actor: { id: expect.stringMatching(/^gid:/) },
        address: '127.0.0.1',
        operation: expect.any(String),
        status: expect.any(Number),
      })
  })
})

describe('the tables', () => {
  const entryOf = (route: Route): boolean =>
    [successes, unrecorded].some((table) => Object.hasOwn(table, route.operationId)) ||
    [...refusedOnly, ...mcpOperations].includes(route.operationId) ||
    isConfig(route)

  test('have every route, and nothing else', () => {
    const { routes } = service.app
    expect(routes.filter((route) => !entryOf(route)).map(({ operationId }) => operationId)).toEqual([])
    const known = new Set(routes.map(({ operationId }) => operationId))
    const named = [...Object.keys(successes), ...Object.keys(unrecorded), ...refusedOnly, ...mcpOperations]
    expect(named.filter((operation) => !known.has(operation))).toEqual([])
    expect(entryOf({ ...(routes[0] as Route), operationId: 'invented', path: '/invented' })).toBe(false)
  })

  test('have no entry for a document kind without a sample', () => {
    const creatable = service.app.config.kinds.filter(({ operations }) => operations.create)
    expect(creatable.filter(({ path }) => samples[path] === undefined)).toEqual([])
  })

  test('have every MCP method and tool', () => {
    const methods = new Set([...sessionMethods.keys(), ...statelessMethods.keys()])
    methods.delete('tools/call')
    expect([...sent.values()].map(({ label }) => label)).toContain(LISTEN_METHOD)
    expect(Object.keys(mcpMethods).sort()).toEqual([...methods].sort())
    expect(Object.keys(mcpTools).sort()).toEqual(tools.map(({ name }) => name).sort())
  })

  test('have a reason for each route that does not record its answers', () => {
    const marked = service.app.routes.filter(
      ({ audit, auth, operationId }) =>
        audit === 'none' || (auth.kind === 'public' && operationId !== 'createConsoleSession'),
    )
    expect(marked.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(unrecorded).sort())
  })
})
