// The table of event types: for each type its payload, the keys that routes can filter by, its subject, and what produces it.
// docs/reference/events.md and the AsyncAPI description (`npm run reference`) are generated from it.
import { z } from 'zod'
import { credentialKinds } from '../kernel/request/request-audit.ts'

/** Version of the payloads. It changes when a member changes its meaning or is removed; new members do not change it. */
export const PAYLOAD_VERSION = 1

/** The groups of event types, in the order of the documentation. */
export const eventGroups = {
  capture: 'Captures',
  config: 'Configuration',
  permission: 'Permissions',
  credentials: 'Credentials',
  authorization: 'Decisions and searches',
  ciq: 'Context queries',
  graph: 'Graph queries',
  request: 'Other requests',
  trust: 'Trust scores',
  matching: 'Entity matching',
  cdc: 'Change data capture',
  operations: 'Operations',
  log: 'Audit log',
  delivery: 'Delivery',
} as const
/** The name of a group. */
export type EventGroup = keyof typeof eventGroups

/** The declaration of an event type. */
interface EventTypeSpec {
  readonly group: EventGroup
  /** One sentence. */
  readonly summary: string
  /** Members of the payload in addition to those of all events. */
  readonly data: z.ZodRawShape
  /** Keys of `context_key_value`, as the documentation names them. */
  readonly contextKeys: readonly string[]
  /** The form of the attribute `subject`. Events with the same subject are delivered in order. */
  readonly subject: string
  /** The calls that produce it. */
  readonly producedBy: string
}

const text = z.string()
const id = text.describe('the global id')
const time = z.iso.datetime()

const nodeKey = { externalId: text, type: text.describe('the node type') }
const endKey = z.strictObject(nodeKey)
const relationshipKey = { type: text.describe('the relationship type'), source: endKey, target: endKey }
const location = text.optional().describe('the location of the node, in a composite project')

const nodes = (members: z.ZodRawShape) => ({
  nodes: z.array(z.strictObject({ id, ...nodeKey, location, ...members })).describe('exactly one entry'),
})
const relationships = (members: z.ZodRawShape) => ({
  relationships: z.array(z.strictObject({ id, ...relationshipKey, ...members })).describe('exactly one entry'),
})

const nodeSubject = 'nodes/{type}/{external id}'
const relationshipSubject = 'relationships/{source type}/{source external id}/{type}/{target type}/{target external id}'
const configSubject = '{kind}/{id}'
const elementKeys = ['captureLabel', '{property name}']

const upsertContext = 'Context keys have the property values after the upsert.'
const deletionContext = 'Context keys have the property values before the deletion.'

const containersPath = z
  .strictObject({ organizationId: text, projectId: text.optional() })
  .describe('what contains the document')
const fields = z.record(z.string(), z.unknown())
const document = {
  id: text,
  type: text.describe('the kind, as in the path of the interface'),
  containersPath,
}

const permission = {
  targetIdentifier: text.describe('the id of the application agent'),
  targetType: text,
  role: text.describe('the API permission'),
  organizationId: text,
  objectId: text.describe('the id of the project'),
  objectType: text,
}

const masked = fields.describe('by name; values are masked as in the decision log (setting `parameter_mask`)')
const policyReference = z.strictObject({ id: text, name: text })
const askedEntity = z.strictObject({ type: text, externalId: text.optional() })
const error = z.strictObject({ kind: text, message: text.optional() })

const decisionRequest = z.strictObject({
  subject: askedEntity,
  resources: z
    .array(z.strictObject({ ...askedEntity.shape, actions: z.array(text) }))
    .describe('exactly one entry; a search has no external id for what it looks for'),
  inputParams: masked.optional(),
  policyTags: z.array(text).optional(),
  policyStatus: z.literal('DRAFT').optional().describe('DRAFT policies decided too'),
})
const decisionMembers = {
  request: decisionRequest.optional().describe('absent if the item of a batch was malformed'),
  identity: z.strictObject({ type: text, externalId: text }).optional().describe('the user of the token'),
  policiesFound: z.array(policyReference).describe('the active policies for subject type, action and resource type'),
  modelRevision: z.int().optional().describe('the revision of the model of the project; absent if it has none'),
  evaluationTimeMs: z.number().describe('milliseconds'),
  error: error.optional(),
  denyReason: z
    .strictObject({
      message: text,
      policy: policyReference.optional().describe('the policy that denied what another one grants'),
    })
    .optional()
    .describe('why a request was denied, or what a search could not decide'),
  decisionId: text.optional().describe('the id in the decision log; absent while the log is off'),
}
const decided = {
  ...decisionMembers,
  response: z
    .strictObject({
      decisionTime: time,
      decisions: z
        .record(text, z.record(text, z.record(text, z.strictObject({ allow: z.boolean() }))))
        .describe('by resource type, external id and action'),
    })
    .optional()
    .describe('absent if there is an error'),
}
const searched = {
  ...decisionMembers,
  response: z
    .strictObject({ decisionTime: time, results: z.int().describe('number of results in the answer') })
    .optional()
    .describe('absent if there is an error'),
}
const decisionKeys = ['subjectType', 'action', 'resourceType', 'decision']
const searchKeys = ['subjectType', 'action', 'resourceType']
const askedSubject = 'subjects/{type}/{external id}'

const property = z.strictObject({
  value: z.unknown().optional().describe('absent if a resolver supplies the value'),
  externalValue: text.optional().describe('the resolver that supplies the value'),
  updateTime: time,
  metadata: z
    .strictObject({
      source: text.optional(),
      assuranceLevel: z.number().optional(),
      verifiedTime: text.optional(),
      customMetadata: fields.optional(),
    })
    .optional(),
})
const imageMembers = { createTime: time, updateTime: time, properties: z.record(text, property) }
const nodeImage = z.strictObject({
  id,
  ...nodeKey,
  labels: z.array(text),
  isIdentity: z.boolean(),
  location,
  ...imageMembers,
})
const relationshipImage = z.strictObject({ id, ...relationshipKey, ...imageMembers })

const lsn = z.int().describe('the number of the event in its graph; it equals the attribute `sequence`')
const snapshot = z
  .boolean()
  .optional()
  .describe('true: the element existed when the provider was added with `snapshot: initial`')

function changeData(before: z.ZodType, after: z.ZodType): z.ZodRawShape {
  return { lsn, snapshot, before, after }
}
const absent = z.null()

const writes = 'every write to a graph: captures, knowledge queries, nodes of users and of applications'

const request = {
  operation: text.describe('the operation id of the interface; for MCP `mcp/` and the method'),
  method: text.describe('the HTTP method'),
  path: text.describe('the path of the request, without query; at most 1024 characters'),
  target: text.optional().describe('for MCP: the tool or the resource'),
  status: z.int().describe('the status code of the answer'),
}
const requestSubject = 'requests/{operation}'
const count = z
  .int()
  .optional()
  .describe(
    'how many the event stands for, if there were too many for one event each; it has only the members that all of them have in common; absent: one',
  )

const outcome = z.enum(['ok', 'failed'])
const failure = text.optional().describe('why it failed')
const commandSubject = 'operations/{operation}'
const project = text.optional().describe('absent: all projects')
/** Members of the event of a command. */
const command = (members: z.ZodRawShape): z.ZodRawShape => ({ outcome, error: failure, ...members })
const file = text.describe('the path of the file, or `-` for the standard input or output')
const counts = {
  configuration: z.int().optional().describe('number of configuration documents'),
  nodes: z.int().optional(),
  relationships: z.int().optional(),
}
const logSubject = 'audit-log'
const trustRun = { profileId: id, runId: id, nodeType: text }
const matching = { pipelineId: id, sourceNodeType: text, targetNodeType: text }
const matchedPair = { ...matching, sourceExternalId: text, targetExternalId: text }
const matchingSubject = 'entity-matching-pipelines/{id}'

/** All event types. */
export const eventTypes = {
  'svc.audit.capture.upsert.node': {
    group: 'capture',
    summary: `A node was created or updated. ${upsertContext}`,
    data: nodes({ isIdentity: z.boolean() }),
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: '`POST` and `PUT /capture/v1/nodes`, `PUT /capture/v1/nodes/{key}`',
  },
  'svc.audit.capture.upsert.relationship': {
    group: 'capture',
    summary: `A relationship was created or updated. ${upsertContext}`,
    data: relationships({}),
    contextKeys: elementKeys,
    subject: relationshipSubject,
    producedBy: '`POST` and `PUT /capture/v1/relationships`',
  },
  'svc.audit.capture.delete.node': {
    group: 'capture',
    summary: `A node was deleted, with its relationships. ${deletionContext}`,
    data: nodes({}),
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: '`POST /capture/v1/nodes/delete`',
  },
  'svc.audit.capture.delete.relationship': {
    group: 'capture',
    summary: `A relationship was deleted. ${deletionContext}`,
    data: relationships({}),
    contextKeys: elementKeys,
    subject: relationshipSubject,
    producedBy: '`POST /capture/v1/relationships/delete`',
  },
  'svc.audit.capture.delete.node.property': {
    group: 'capture',
    summary: `Properties of a node were deleted. ${deletionContext}`,
    data: {
      nodeProperties: z
        .array(z.strictObject({ id, match: endKey, location, propertyType: text }))
        .describe('one entry per property'),
    },
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: '`POST /capture/v1/nodes/properties/delete`',
  },
  'svc.audit.capture.delete.relationship.property': {
    group: 'capture',
    summary: `Properties of a relationship were deleted. ${deletionContext}`,
    data: {
      relationshipProperties: z
        .array(z.strictObject({ id, ...relationshipKey, propertyType: text }))
        .describe('one entry per property'),
    },
    contextKeys: elementKeys,
    subject: relationshipSubject,
    producedBy: '`POST /capture/v1/relationships/properties/delete`',
  },
  'svc.audit.capture.delete.node.tag': {
    group: 'capture',
    summary: `An upsert replaced the labels of a node, and the node has lost some. ${deletionContext.replace('deletion', 'upsert')}`,
    data: {
      nodeTags: z
        .array(z.strictObject({ id, match: endKey, location, tagType: text.describe('the label') }))
        .describe('one entry per label; never the node type'),
    },
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: '`POST` and `PUT /capture/v1/nodes`, `PUT /capture/v1/nodes/{key}`, with `labels` or `tags`',
  },
  'svc.audit.capture.delete.node.property.metadata': {
    group: 'capture',
    summary: `Metadata of a property of a node was deleted. ${deletionContext}`,
    data: {
      nodeProperties: z
        .array(z.strictObject({ id, match: endKey, location, propertyType: text, metadataFields: z.array(text) }))
        .describe('exactly one entry'),
    },
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: '`POST /capture/v1/nodes/properties/metadata/delete`',
  },
  'svc.audit.config.create': {
    group: 'config',
    summary: 'A configuration document was created.',
    data: {
      ...document,
      location: z.strictObject({ id: text, type: text }).describe('the parent of the document'),
      detail: z.strictObject({
        name: text.optional(),
        displayName: text.optional(),
        description: text.optional(),
        version: z.int().describe('the revision'),
        configuration: fields.describe('as a read returns it, without secrets'),
      }),
    },
    contextKeys: ['configType'],
    subject: configSubject,
    producedBy: '`POST /configs/v1/{kind}`',
  },
  'svc.audit.config.read': {
    group: 'config',
    summary: 'A configuration document was read, or documents were listed.',
    data: {
      identifier: z
        .strictObject({ id: text.optional(), name: text.optional(), location: text.optional() })
        .describe('what the caller asked for; empty for a list'),
      type: document.type,
      containersPath,
      ids: z.array(text).describe('the documents of this project in the answer'),
    },
    contextKeys: ['configType'],
    subject: `${configSubject}, or {kind} for a list`,
    producedBy: '`GET /configs/v1/{kind}/{id}` and `GET /configs/v1/{kind}`',
  },
  'svc.audit.config.update': {
    group: 'config',
    summary: 'A configuration document was updated. An update without changes has no event.',
    data: {
      ...document,
      before: fields.describe('as a read returned it before, without secrets'),
      after: fields.describe('as a read returns it, without secrets'),
    },
    contextKeys: ['configType'],
    subject: configSubject,
    producedBy: '`PUT /configs/v1/{kind}/{id}`',
  },
  'svc.audit.config.delete': {
    group: 'config',
    summary: 'A configuration document was deleted. There is one event for each document below it.',
    data: document,
    contextKeys: ['configType'],
    subject: configSubject,
    producedBy: '`DELETE /configs/v1/{kind}/{id}`',
  },
  'svc.audit.config.permission.assign': {
    group: 'permission',
    summary: 'An application agent was given an API permission.',
    data: permission,
    contextKeys: ['role'],
    subject: 'application-agents/{id}',
    producedBy: 'creating or updating an application agent',
  },
  'svc.audit.config.permission.revoke': {
    group: 'permission',
    summary: 'An API permission was taken from an application agent.',
    data: permission,
    contextKeys: ['role'],
    subject: 'application-agents/{id}',
    producedBy: 'updating or deleting an application agent',
  },
  'svc.audit.credentials.token.introspected': {
    group: 'credentials',
    summary:
      'A user token was verified. A result from the cache has no event. Each process has its own cache, so a request that goes to another process may have two events.',
    data: {
      tokenIntrospectId: text,
      active: z.boolean().describe('whether the token was accepted'),
      reason: text.optional().describe('why it was not'),
      subject: z.strictObject({ type: text, externalId: text }).optional().describe('whom it is for'),
    },
    contextKeys: ['active'],
    subject: 'token-introspects/{id}',
    producedBy: 'requests with a user token, over HTTP and MCP',
  },
  'svc.audit.credentials.authentication.failed': {
    group: 'credentials',
    summary:
      'The credentials of a request were missing or refused. It belongs to the project of the credential or of the path; otherwise to the organization, which has no event sink.',
    data: {
      kind: z.enum(credentialKinds).describe('the refused credential'),
      reason: text.optional(),
      keyId: text.optional().describe('the id of the credential that the request named; absent: unknown'),
      operation: request.operation.optional(),
      count,
    },
    contextKeys: ['kind'],
    subject: 'credentials/{id}, or credentials if the id is unknown or there are several',
    producedBy: 'requests that are answered with 401 for their credentials, over HTTP and MCP',
  },
  'svc.audit.authorization.evaluation': {
    group: 'authorization',
    summary: 'An evaluation was answered.',
    data: decided,
    contextKeys: decisionKeys,
    subject: askedSubject,
    producedBy: '`POST /access/v1/evaluation`, `authzen_evaluate`',
  },
  'svc.audit.authorization.evaluations': {
    group: 'authorization',
    summary: 'An item of a batch of evaluations was answered. There is one event for each item.',
    data: { ...decided, item: z.int().describe('index in the batch, from 0') },
    contextKeys: decisionKeys,
    subject: askedSubject,
    producedBy: '`POST /access/v1/evaluations`, `authzen_evaluations`',
  },
  'svc.audit.authorization.searchsubject': {
    group: 'authorization',
    summary: 'A page of a subject search was answered.',
    data: searched,
    contextKeys: searchKeys,
    subject: 'subjects/{type}',
    producedBy: '`POST /access/v1/search/subject`, `authzen_search_subject`',
  },
  'svc.audit.authorization.searchresource': {
    group: 'authorization',
    summary: 'A page of a resource search was answered.',
    data: searched,
    contextKeys: searchKeys,
    subject: askedSubject,
    producedBy: '`POST /access/v1/search/resource`, `authzen_search_resource`',
  },
  'svc.audit.authorization.searchaction': {
    group: 'authorization',
    summary: 'A page of an action search was answered.',
    data: searched,
    contextKeys: ['subjectType', 'resourceType'],
    subject: askedSubject,
    producedBy: '`POST /access/v1/search/action`, `authzen_search_action`',
  },
  'svc.audit.authorization.whatauthorized': {
    group: 'authorization',
    summary: 'One of the resource searches of a what-authorized request was answered.',
    data: searched,
    contextKeys: searchKeys,
    subject: askedSubject,
    producedBy: '`POST /access/v1/what-authorized`',
  },
  'svc.audit.authorization.whoauthorized': {
    group: 'authorization',
    summary: 'One of the subject searches of a who-authorized request was answered.',
    data: searched,
    contextKeys: searchKeys,
    subject: 'subjects/{type}',
    producedBy: '`POST /access/v1/who-authorized`',
  },
  'svc.audit.ciq.execute': {
    group: 'ciq',
    summary: 'A knowledge query was executed. The event of a query that wrote is in the transaction of its writes.',
    data: {
      request: z.strictObject({ id: text.describe('id or name, as sent'), inputParams: masked.optional() }),
      query: policyReference.optional().describe('absent if it was not found'),
      policy: policyReference.optional(),
      identity: z.strictObject({ type: text, externalId: text }).optional().describe('the user of the token'),
      response: z
        .strictObject({ records: z.int(), isWrite: z.boolean() })
        .optional()
        .describe('absent if there is an error'),
      evaluationTimeMs: z.number().optional().describe('milliseconds; absent for a query that wrote'),
      error: error.optional(),
    },
    contextKeys: ['query', 'isWrite'],
    subject: 'knowledge-queries/{id}',
    producedBy: '`POST /contx-iq/v1/execute`, `ciq_execute`',
  },
  'svc.audit.graph.query': {
    group: 'graph',
    summary: 'A service account has read the graph of a project with Cypher, or tried to.',
    data: {
      request: z.strictObject({
        query: text.describe('the text, with its literals'),
        parameters: z.array(text).optional().describe('the names of the parameters, without their values'),
        mode: text.describe('`rows`, `plan` or `profile`'),
      }),
      response: z
        .strictObject({ rows: z.int(), truncated: z.boolean() })
        .optional()
        .describe('absent if there is an error'),
      evaluationTimeMs: z.number().describe('milliseconds'),
      error: error.optional(),
    },
    contextKeys: ['mode'],
    subject: 'graphs/{project id}',
    producedBy: '`POST /graph/v1/query`',
  },
  'svc.audit.request.answered': {
    group: 'request',
    summary: 'A request of an authenticated caller was answered that has no event of another type.',
    data: request,
    contextKeys: ['operation'],
    subject: requestSubject,
    producedBy: 'operations without a type of their own, updates without changes, MCP methods',
  },
  'svc.audit.request.refused': {
    group: 'request',
    summary: 'A request of an authenticated caller failed that has no event of another type.',
    data: {
      ...z.object(request).partial().shape,
      status: request.status,
      error: text.optional().describe('the kind of the error'),
      count,
    },
    contextKeys: ['operation'],
    subject: `${requestSubject}, or requests if there are several`,
    producedBy: 'every operation, over HTTP and MCP',
  },
  'svc.audit.trust.run.started': {
    group: 'trust',
    summary: 'A pass of a trust score profile began. A pass that continues after a crash has no second event.',
    data: {
      ...trustRun,
      requestedBy: text.optional().describe('the user of the operating system who asked for it; absent: the schedule'),
    },
    contextKeys: ['captureLabel'],
    subject: 'trust-score-profiles/{id}',
    producedBy: 'the schedule of a profile, `verdigraph trust run`',
  },
  'svc.audit.trust.run.ended': {
    group: 'trust',
    summary: 'A pass of a trust score profile has ended, or has failed and will be repeated.',
    data: {
      ...trustRun,
      outcome,
      error: failure,
      nodesScored: z.int(),
      scoresWritten: z.int().describe('scores that were created or changed'),
      scoresRemoved: z.int(),
    },
    contextKeys: ['captureLabel'],
    subject: 'trust-score-profiles/{id}',
    producedBy: 'the passes of a profile',
  },
  'svc.audit.entitymatching.run.started': {
    group: 'matching',
    summary: 'A run of an entity matching pipeline began. A run that begins again after a crash has no second event.',
    data: {
      ...matching,
      runId: id,
      similarityScoreCutoff: z.number(),
      requestedBy: text.optional().describe('who asked for it; absent: the rerun interval'),
    },
    contextKeys: ['captureLabel'],
    subject: matchingSubject,
    producedBy: '`POST /entity-matching/v1/pipelines/{id}/runs`, `verdigraph match run`, the rerun interval',
  },
  'svc.audit.entitymatching.run.ended': {
    group: 'matching',
    summary: 'A run of an entity matching pipeline has ended.',
    data: {
      ...matching,
      runId: id,
      outcome,
      error: failure,
      matchedPairs: z.int(),
      matchedEntities: z.int(),
      relationshipsWritten: z.int().describe('relationships that were created or changed'),
      relationshipsRemoved: z.int(),
    },
    contextKeys: ['captureLabel'],
    subject: matchingSubject,
    producedBy: 'the runs of a pipeline',
  },
  'svc.audit.entitymatching.decision.made': {
    group: 'matching',
    summary: 'It was decided that two nodes are the same entity, or that they are not.',
    data: { ...matchedPair, decision: z.enum(['SAME', 'NOT_SAME']) },
    contextKeys: ['captureLabel'],
    subject: matchingSubject,
    producedBy: '`POST /entity-matching/v1/pipelines/{id}/decisions`, `verdigraph match decide`',
  },
  'svc.audit.entitymatching.decision.deleted': {
    group: 'matching',
    summary: 'A decision about two nodes was deleted.',
    data: matchedPair,
    contextKeys: ['captureLabel'],
    subject: matchingSubject,
    producedBy: '`DELETE /entity-matching/v1/pipelines/{id}/decisions/{decision}`',
  },
  'svc.audit.cdc.node.create': {
    group: 'cdc',
    summary: 'A node was created.',
    data: changeData(absent, nodeImage),
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: writes,
  },
  'svc.audit.cdc.node.update': {
    group: 'cdc',
    summary: 'A node was updated.',
    data: changeData(nodeImage, nodeImage),
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: writes,
  },
  'svc.audit.cdc.node.delete': {
    group: 'cdc',
    summary: 'A node was deleted. The events of its relationships come before.',
    data: changeData(nodeImage, absent),
    contextKeys: elementKeys,
    subject: nodeSubject,
    producedBy: writes,
  },
  'svc.audit.cdc.relationship.create': {
    group: 'cdc',
    summary: 'A relationship was created.',
    data: changeData(absent, relationshipImage),
    contextKeys: elementKeys,
    subject: relationshipSubject,
    producedBy: writes,
  },
  'svc.audit.cdc.relationship.update': {
    group: 'cdc',
    summary: 'A relationship was updated.',
    data: changeData(relationshipImage, relationshipImage),
    contextKeys: elementKeys,
    subject: relationshipSubject,
    producedBy: writes,
  },
  'svc.audit.cdc.relationship.delete': {
    group: 'cdc',
    summary: 'A relationship was deleted.',
    data: changeData(relationshipImage, absent),
    contextKeys: elementKeys,
    subject: relationshipSubject,
    producedBy: writes,
  },
  'svc.audit.operations.service.start': {
    group: 'operations',
    summary: 'The service was started.',
    data: {
      version: text.describe('of the product'),
      workers: z.int(),
      isAfterCrash: z
        .boolean()
        .describe('true: the process that had locked the folder before was killed, or it crashed'),
      audit: z
        .strictObject({
          recording: z
            .enum(['on', 'off'])
            .describe('`off`: until the next start, only starts, stops and commands are recorded'),
          decisions: z.enum(['none', 'denials', 'sampled', 'all']),
          sampleRate: z.int().optional(),
          isStrict: z.boolean().describe('`event_activity_strict`'),
          keyRotationDays: z.int(),
          retentionDays: z.int(),
          clientAddressHeader: text.optional().describe('absent: addresses are those of connections'),
        })
        .optional()
        .describe(
          'the settings that decide what the audit logs contain; absent: the service was of an earlier version',
        ),
    },
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph serve`',
  },
  'svc.audit.operations.service.stop': {
    group: 'operations',
    summary: 'The service was stopped. A crash has no such event.',
    data: {},
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph serve`',
  },
  'svc.audit.operations.backup': {
    group: 'operations',
    summary: 'A backup was made. It does not contain this event.',
    data: command({
      file,
      project,
      requestedBy: text.optional().describe('the service account that asked for it over HTTP; absent: a command'),
      projects: z.int().optional(),
      bytes: z.int().optional(),
    }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph backup`, `POST /operations/v1/backups`',
  },
  'svc.audit.operations.restore': {
    group: 'operations',
    summary: 'The data folder was created from a backup.',
    data: { file, madeAt: time.describe('when the backup was made'), projects: z.int() },
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph restore`',
  },
  'svc.audit.operations.export': {
    group: 'operations',
    summary: 'Configuration and graphs were exported.',
    data: command({ file, project, ...counts }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph export`',
  },
  'svc.audit.operations.import': {
    group: 'operations',
    summary: 'Lines were imported. An import has no event for each element.',
    data: command({ file, project, ...counts }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph import`',
  },
  'svc.audit.operations.copy': {
    group: 'operations',
    summary:
      'The graphs of a project were copied between the data folder and database servers. A copy has no event for each element.',
    data: command({
      from: text.describe('the folder, the URL of the database, or the file with the connection'),
      to: text.describe('the folder, the URL of the database, or the file with the connection'),
      servers: z.array(text).optional().describe('the URLs in the file'),
      switch: z.literal(true).optional().describe('the project was to be connected to the databases'),
      project: text.optional().describe('name or id; absent: the only project'),
      nodes: z.int().optional(),
      relationships: z.int().optional(),
    }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph copy`',
  },
  'svc.audit.operations.trust.run': {
    group: 'operations',
    summary: 'A pass of a trust score profile was run by hand.',
    data: command({ profile: text.describe('the id of the profile'), runId: id.optional() }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph trust run`',
  },
  'svc.audit.operations.match.run': {
    group: 'operations',
    summary: 'An entity matching pipeline was run by hand.',
    data: command({ pipeline: text.describe('the id of the pipeline') }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph match run`, without `--url`',
  },
  'svc.audit.operations.match.decide': {
    group: 'operations',
    summary: 'A decision about a pair of an entity matching pipeline was made or deleted by hand.',
    data: command({
      pipeline: text.describe('the id of the pipeline'),
      source: text.optional().describe('the external id of the source node'),
      target: text.optional().describe('the external id of the target node'),
      decision: z.enum(['SAME', 'NOT_SAME']).optional(),
      deleted: id.optional().describe('the decision that was deleted'),
    }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph match decide` and `match undecide`, without `--url`',
  },
  'svc.audit.operations.project.apply': {
    group: 'operations',
    summary:
      'A project folder was applied to a project of the data folder. An apply that changes nothing has no such event.',
    data: command({
      project: text.describe('the id of the project, or its name if the apply failed'),
      created: z.int().optional().describe('number of documents, also of the two following'),
      updated: z.int().optional(),
      deleted: z.int().optional(),
    }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph apply`, without `--url`',
  },
  'svc.audit.operations.migrate': {
    group: 'operations',
    summary: 'The data folder was upgraded to the current storage format.',
    data: command({ migrated: z.array(text).optional().describe('the environments that were of an earlier version') }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph migrate`',
  },
  'svc.audit.operations.masterkey.rotate': {
    group: 'operations',
    summary: 'The secrets were encrypted with a new master key.',
    data: command({ resealed: z.int().optional().describe('number of secrets') }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph rotate-master-key`',
  },
  'svc.audit.operations.auditkey.rotate': {
    group: 'operations',
    summary: 'The platform key that signs the audit log was replaced.',
    data: command({ keyId: text.optional().describe('the id of the new key') }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph audit rotate-key`, and the service by the setting `audit_key_rotation`',
  },
  'svc.audit.operations.auditloss.acknowledge': {
    group: 'operations',
    summary:
      'A loss of audit entries was acknowledged after an investigation; `verify` and `doctor` report it as acknowledged from then on.',
    data: command({
      log: text.describe('the folder of the log and of the lost generation'),
      origin: text.describe('the log of which entries are missing'),
      size: z.int().describe('the number of its sealed entries'),
      left: z.int().describe('how many of them the folder of the log still had'),
      reason: text,
    }),
    contextKeys: [],
    subject: commandSubject,
    producedBy: '`verdigraph audit acknowledge-loss`',
  },
  'svc.audit.operations.token.issue': {
    group: 'operations',
    summary: 'A token was issued by a command, for the admin service account or a person of the demo.',
    data: command({ subject: text.describe('the id of the account or of the person'), lifetimeS: z.int() }),
    contextKeys: [],
    subject: commandSubject,
    producedBy:
      '`verdigraph init`, `verdigraph token`, `verdigraph demo-token`, and the first `verdigraph serve` on a folder',
  },
  'svc.audit.log.opened': {
    group: 'log',
    summary: 'The first entry of every audit log.',
    data: {
      reason: z
        .enum(['new', 'restored', 'damaged'])
        .describe('`restored`: from a backup. `damaged`: the files of the log before were changed or removed'),
      previous: z
        .strictObject({ origin: text, size: z.int(), root: text.describe('base64') })
        .nullable()
        .describe('the log that this one continues; null: none'),
    },
    contextKeys: [],
    subject: logSubject,
    producedBy: 'the audit log',
  },
  'svc.audit.log.pruned': {
    group: 'log',
    summary: 'Entries that are older than the retention time are removed. Their hashes stay.',
    data: {
      firstIndex: z
        .int()
        .optional()
        .describe('index of the first entry that stays; absent: the entries are of an earlier log'),
      previous: z
        .strictObject({ origin: text, firstIndex: z.int() })
        .optional()
        .describe('the earlier log whose entries are removed, before a restore'),
    },
    contextKeys: [],
    subject: logSubject,
    producedBy: 'the audit log',
  },
  'svc.audit.log.signature.overdue': {
    group: 'log',
    summary: 'The key service of the customer did not sign a checkpoint in time.',
    data: { kid: text, size: z.int().describe('of the last checkpoint that it signed'), error: text },
    contextKeys: [],
    subject: logSubject,
    producedBy: 'the audit log',
  },
  'svc.audit.log.signature.recovered': {
    group: 'log',
    summary: 'The key service of the customer signs again. Its signature covers everything before it.',
    data: { kid: text, size: z.int().describe('of the checkpoint that it signed') },
    contextKeys: [],
    subject: logSubject,
    producedBy: 'the audit log',
  },
  'svc.events.gap': {
    group: 'delivery',
    summary:
      'Events were dropped, because the backlog of the provider exceeded its bounds. It is delivered before all later events, to the provider that missed them, without a route.',
    data: {
      from: z.int().describe('sequence of the first dropped event'),
      to: z.int().describe('sequence after the last dropped event'),
      events: z
        .int()
        .describe(
          'number of dropped events that were routed to the provider; with those for other providers, if they were dropped while no process delivered',
        ),
      firstTime: time,
      lastTime: time,
    },
    contextKeys: [],
    subject: 'providers/{provider id}',
    producedBy: 'the delivery of events',
  },
  'svc.events.test': {
    group: 'delivery',
    summary:
      'An administrator tests the routes of an event sink. Nothing else has happened. It is sent to the providers that the tested event would be sent to.',
    data: {
      tested: z
        .strictObject({ eventType: text, context: fields.describe('the value of each context key') })
        .describe('the event whose routes are tested'),
    },
    contextKeys: [],
    subject: 'event-sinks/{id}, or event-sinks for a sink that is not stored',
    producedBy: '`POST /configs/v1/event-sinks/{id}/test` with `send`',
  },
} as const satisfies Readonly<Record<string, EventTypeSpec>>

/** The name of an event type. */
export type EventTypeName = keyof typeof eventTypes

/** All names, in the order of the documentation. */
export const eventTypeNames = Object.keys(eventTypes) as readonly EventTypeName[]

/** The declaration of a type. */
export function eventTypeSpec(type: EventTypeName): EventTypeSpec {
  return eventTypes[type]
}

/** Whether events of the type are sent only to providers with `include_cdc_events`. */
export function isChangeType(type: EventTypeName): boolean {
  return eventTypes[type].group === 'cdc'
}

const keyId = text.describe('the id of the credential')

const actor = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('agent'),
      id: text,
      applicationId: text,
      keyId: keyId.optional(),
      user: z.strictObject({ type: text, externalId: text }).optional().describe('the user of the token'),
      actedBy: text
        .optional()
        .describe('who acts for the user: the subject of the claim `act` (RFC 8693) of the delegation token'),
    }),
    z.strictObject({ type: z.literal('service-account'), id: text, role: text, keyId: keyId.optional() }),
    z.strictObject({
      type: z.literal('user'),
      user: z.strictObject({ type: text, externalId: text }),
    }),
    z.strictObject({
      type: z.literal('operating-system-user'),
      id: text.describe('the user id of the operating system'),
      name: text,
      host: text,
    }),
    z.strictObject({ type: z.literal('service') }),
  ])
  .describe(
    'who caused the event; `user`: the user of a token whose MCP server has no agent; `operating-system-user`: who ran a command; `service`: the service itself',
  )

/** The payload (`data`) of events of a type. */
export function payloadSchema(type: EventTypeName): z.ZodObject {
  return z.strictObject({
    eventType: z.literal(type),
    version: z.literal(PAYLOAD_VERSION).describe('of the payload'),
    requestId: text.optional().describe('the `X-Request-ID` of the call'),
    address: text.optional().describe('the IP address of the client; see the setting `client_address_header`'),
    actor: actor.optional(),
    ...eventTypes[type].data,
  })
}
