// Every route and every MCP method has its event types, or a reason for none. A new route without an entry fails. Refused requests and
// failed authentications have types of their own; test/http/audit/completeness.test.ts sends the requests.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EventTypeName, eventTypeNames, isChangeType } from '../../../src/events/event-types.ts'
import { isRoutable } from '../../../src/events/sink-routes.ts'
import type { Route } from '../../../src/http/route.ts'
import { sessionMethods } from '../../../src/mcp/session/session.ts'
import { statelessMethods } from '../../../src/mcp/stateless/stateless.ts'
import { tools } from '../../../src/mcp/tools.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
})

afterAll(() => service?.stop())

/** The event types of an operation, without `svc.audit.`; or the reason why it has none. */
type OperationEvents = readonly string[] | string

const publicText = 'the answer is the same for everybody and contains no data of a project'
const answered = ['request.answered'] as const
const unsent =
  'it is about events, and an event for it could be one of those that it is about: only the audit log has its record'

const byOperation: Readonly<Record<string, OperationEvents>> = {
  evaluate: ['authorization.evaluation'],
  evaluateMany: ['authorization.evaluations'],
  searchResources: ['authorization.searchresource'],
  searchSubjects: ['authorization.searchsubject'],
  searchActions: ['authorization.searchaction'],
  listWhatAuthorized: ['authorization.whatauthorized'],
  listWhoAuthorized: ['authorization.whoauthorized'],
  comparePolicies: answered,
  runScenario: answered,
  explainDecision: answered,
  watchDecisions: answered,
  streamDecisions: answered,
  readLoggedDecision: answered,
  listActivePolicies: answered,
  readAuthzenConfiguration: publicText,
  upsertNodes: ['capture.upsert.node', 'capture.delete.node.tag'],
  putNodes: ['capture.upsert.node', 'capture.delete.node.tag'],
  putNode: ['capture.upsert.node', 'capture.delete.node.tag'],
  deleteNodes: ['capture.delete.node'],
  deleteNodeProperties: ['capture.delete.node.property'],
  deleteNodePropertyMetadata: ['capture.delete.node.property.metadata'],
  upsertRelationships: ['capture.upsert.relationship'],
  putRelationships: ['capture.upsert.relationship'],
  deleteRelationships: ['capture.delete.relationship'],
  deleteRelationshipProperties: ['capture.delete.relationship.property'],
  executeKnowledgeQuery: ['ciq.execute', 'credentials.token.introspected'],
  whoami: ['credentials.token.introspected', ...answered],
  callMcp: ['credentials.token.introspected', ...answered],
  listenToMcpSession: ['credentials.token.introspected', ...answered],
  endMcpSession: ['credentials.token.introspected', ...answered],
  readMcpResourceMetadata: publicText,
  getDataSchema: answered,
  queryGraph: ['graph.query'],
  listGraphNames: answered,
  checkCypher: answered,
  completeCypher: answered,
  rebuildDataSchema: answered,
  metrics: 'about the process, not about a project',
  readServiceStatus: 'about the process, not about a project',
  listSettings: answered,
  listBackups: answered,
  createBackup: answered,
  downloadBackup: answered,
  verifyBackup: answered,
  deleteBackup: answered,
  health: 'about the process, not about a project',
  ready: 'about the process, not about a project',
  readConsole: publicText,
  readConsoleFile: publicText,
  readConsoleSession: 'the browser reads its own session; no data of a project',
  createConsoleSession: answered,
  deleteConsoleSession: answered,
  createConsoleLink: answered,
  readFrontPage: publicText,
  readOpenApi: publicText,
  readOpenApi32: publicText,
  readDocumentation: publicText,
  readApiReference: publicText,
  searchDocumentation: publicText,
  readDocumentationImage: publicText,
  readDocumentationPage: publicText,
  readDocumentationSectionPage: publicText,
  readTrustScoreReport: answered,
  readPropertyMappings: answered,
  suggestPropertyMappings: answered,
  runEntityMatching: answered,
  readEntityMatchingStatus: answered,
  readEntityMatchingReport: answered,
  decideEntityMatch: ['entitymatching.decision.made'],
  listEntityMatchDecisions: answered,
  deleteEntityMatchDecision: ['entitymatching.decision.deleted'],
  testEventSink: unsent,
  testEventSinkDraft: unsent,
  signAuditLog: answered,
  listDeadLetters: unsent,
  readDeadLetter: unsent,
  sendDeadLetters: unsent,
  deleteDeadLetter: unsent,
  deleteDeadLetters: unsent,
  followEvents: unsent,
  listAuditLogs: answered,
  listAuditManifests: answered,
  listAuditCheckpoints: answered,
  listAuditRecords: answered,
  proveAuditRecord: answered,
  proveAuditConsistency: answered,
  exportAuditLog: answered,
  listAuditTrees: answered,
  readAuditCheckpoint: answered,
  readAuditTile: answered,
  readAuditTile2: answered,
  readAuditTile3: answered,
  readAuditTile4: answered,
  readAuditTile5: answered,
  readAuditBody: answered,
  readAuditPruned: answered,
  readAuditKeys: 'the public keys are the same for everybody',
  readProjectDocuments: ['config.read'],
  applyProject: [
    'config.create',
    'config.update',
    'config.delete',
    'config.permission.assign',
    'config.permission.revoke',
  ],
  readOrganization: 'the organization is in no project: only the audit trail has its events',
}

/** The routes that every kind of configuration document has. */
const byConfigRoute: Readonly<Record<string, OperationEvents>> = {
  'GET /{kind}': ['config.read'],
  'GET /{kind}/{id}': ['config.read'],
  'POST /{kind}': ['config.create', 'config.permission.assign'],
  'PUT /{kind}/{id}': ['config.update', 'config.permission.assign', 'config.permission.revoke'],
  'DELETE /{kind}/{id}': ['config.delete', 'config.permission.revoke'],
}

const byMcpMethod: Readonly<Record<string, OperationEvents>> = {
  ping: answered,
  initialize: answered,
  'server/discover': answered,
  'tools/list': answered,
  'tools/call': ['the types of the tools'],
  'resources/list': answered,
  'resources/templates/list': answered,
  'resources/read': answered,
  'completion/complete': answered,
  'subscriptions/listen': answered,
}

const byTool: Readonly<Record<string, OperationEvents>> = {
  authzen_evaluate: ['authorization.evaluation'],
  authzen_evaluations: ['authorization.evaluations'],
  authzen_search_resource: ['authorization.searchresource'],
  authzen_search_subject: ['authorization.searchsubject'],
  authzen_search_action: ['authorization.searchaction'],
  authzen_explain: answered,
  ciq_execute: ['ciq.execute'],
}

function eventsOfRoute({ method, path, operationId }: Route): OperationEvents | undefined {
  const own = byOperation[operationId]
  if (own !== undefined) return own
  const kind = service.app.config.kinds.find((each) => path.startsWith(`/configs/v1/${each.path}`))
  return kind && byConfigRoute[`${method} ${path.replace(`/configs/v1/${kind.path}`, '/{kind}')}`]
}

const typesIn = (events: OperationEvents): string[] =>
  typeof events === 'string' ? [] : events.map((name) => `svc.audit.${name}`)

describe('the table of events', () => {
  test('has every route', () => {
    const missing = service.app.routes
      .filter((route) => eventsOfRoute(route) === undefined)
      .map(({ method, path }) => `${method} ${path}`)
    expect(missing).toEqual([])
    const operations = new Set(service.app.routes.map(({ operationId }) => operationId))
    expect(Object.keys(byOperation).filter((name) => !operations.has(name))).toEqual([])
  })

  test('does not have a route that no entry describes', () => {
    const [first] = service.app.routes as [Route]
    expect(eventsOfRoute({ ...first, operationId: 'invented' })).toBeUndefined()
    expect(
      eventsOfRoute({ ...first, operationId: 'invented', method: 'POST', path: '/configs/v1/event-sinks/{id}/test' }),
    ).toBeUndefined()
  })

  test('has every MCP method and tool', () => {
    const methods = new Set([
      ...sessionMethods.keys(),
      ...statelessMethods.keys(),
      'initialize',
      'subscriptions/listen',
    ])
    expect(Object.keys(byMcpMethod).sort()).toEqual([...methods].sort())
    expect(Object.keys(byTool).sort()).toEqual(tools.map(({ name }) => name).sort())
  })

  test('names only types that exist, and every type that calls produce', () => {
    const ofEachOperation = ['request.refused', 'credentials.authentication.failed']
    const ofPasses = ['trust.run.started', 'trust.run.ended']
    const ofRuns = ['entitymatching.run.started', 'entitymatching.run.ended']
    const named = new Set(
      [
        ofEachOperation,
        ofPasses,
        ofRuns,
        ...Object.values(byOperation),
        ...Object.values(byConfigRoute),
        ...Object.values(byTool),
      ].flatMap(typesIn),
    )
    const produced = eventTypeNames.filter((type) => isRoutable(type) && !isChangeType(type))
    expect([...named].sort()).toEqual([...produced].sort())
    expect([...named].every((name) => eventTypeNames.includes(name as EventTypeName))).toBe(true)
  })
})
