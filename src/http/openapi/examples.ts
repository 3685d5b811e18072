// Example bodies for the OpenAPI document, by operation id, for routes without their own. They form one small scenario and can
// be sent one after the other.

const ann = { type: 'Person', id: 'ann' }
const car = { type: 'Car', id: 'c1' }
const drive = { name: 'drive' }
const annNode = { type: 'Person', external_id: 'ann' }
const carNode = { type: 'Car', external_id: 'c1' }
const owns = { source: annNode, type: 'OWNS', target: carNode }

// Identifiers of the configuration, as the create requests return them.
const organization_id = 'gid:organization'
const project_id = 'gid:project'
const evaluation = { subject: ann, action: drive, resource: car, context: { input_params: { min: 4 } } }

/** The text of a policy: an owner of a car with enough wheels may drive it. */
const policy = JSON.stringify({
  meta: { policy_version: '3.0-kbac' },
  subject: { type: 'Person' },
  actions: ['drive'],
  resource: { type: 'Car' },
  condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.wheels >= $min' },
})

/** The text of a query on a context policy whose condition binds `car`. */
const query = JSON.stringify({ nodes: ['car.external_id', 'car.property.colour'] })

/** Operation id → example body. */
export const examples: Readonly<Record<string, unknown>> = {
  upsertNodes: {
    nodes: [
      { ...annNode, is_identity: true },
      {
        ...carNode,
        properties: [
          { type: 'wheels', value: 4 },
          { type: 'colour', value: 'red', metadata: { source: 'registry', assurance_level: 2 } },
        ],
      },
    ],
  },
  upsertRelationships: { relationships: [{ ...owns, properties: [{ type: 'since', value: '2026-01-01' }] }] },
  evaluate: evaluation,
  explainDecision: evaluation,
  comparePolicies: {
    policies: [
      {
        name: 'drive-own',
        policy: {
          meta: { policy_version: '3.0-kbac' },
          subject: { type: 'Person' },
          actions: ['drive'],
          resource: { type: 'Car' },
          condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' },
        },
      },
    ],
    budget: { time_ms: 2000 },
    sample: 5,
  },
  evaluateMany: {
    subject: ann,
    action: drive,
    evaluations: [{ resource: car }, { resource: { type: 'Car', id: 'c2' } }],
  },
  searchResources: { subject: ann, action: drive, resource: { type: 'Car' } },
  searchSubjects: { subject: { type: 'Person' }, action: drive, resource: car },
  searchActions: { subject: ann, resource: car },
  listWhatAuthorized: { subject: ann, evaluations: [{ action: drive, resource: { type: 'Car' } }] },
  listWhoAuthorized: { evaluations: [{ action: drive, resource: car }] },
  putNode: { is_identity: true, properties: [{ type: 'name', value: 'Ann' }] },
  deleteNodePropertyMetadata: {
    nodes: [{ ...carNode, property_type: 'colour', metadata_fields: ['source', 'assurance_level'] }],
  },
  deleteNodeProperties: { nodes: [{ ...carNode, property_types: ['colour'] }] },
  deleteRelationshipProperties: { relationships: [{ ...owns, property_types: ['since'] }] },
  deleteRelationships: { relationships: [owns] },
  deleteNodes: { nodes: [carNode] },
  executeKnowledgeQuery: { id: 'my-cars', input_params: { colour: 'red' }, page_size: 100 },
  createProject: { organization_id, name: 'fleet', display_name: 'Fleet', region: 'eu-west' },
  updateProject: { display_name: 'Fleet of all locations' },
  createApplication: { project_id, name: 'dispatch' },
  updateApplication: { description: 'Plans the tours.' },
  createApplicationAgent: {
    application_id: 'gid:application',
    name: 'backend',
    api_permissions: ['Authorization', 'Capture', 'CIQ'],
  },
  updateApplicationAgent: { api_permissions: ['Authorization'] },
  createApplicationAgentCredential: {
    application_agent_id: 'gid:application-agent',
    expire_time: '2099-01-01T00:00:00Z',
  },
  createServiceAccount: { organization_id, name: 'pipeline', role: 'all_editor' },
  createServiceAccountCredential: { service_account_id: 'gid:service-account', expire_time: '2099-01-01T00:00:00Z' },
  createAuthorizationPolicy: { project_id, name: 'drive-own-car', policy, status: 'ACTIVE', tags: ['fleet'] },
  updateAuthorizationPolicy: { policy, status: 'INACTIVE' },
  createKnowledgeQuery: { project_id, name: 'my-cars', policy_id: 'gid:policy', query, status: 'ACTIVE' },
  updateKnowledgeQuery: { policy_id: 'gid:policy', query, status: 'INACTIVE' },
  createEventSink: {
    project_id,
    name: 'changes',
    providers: { main: { streaming_broker: { brokers: ['broker:9092'], topic: 'changes' } } },
    routes: [{ provider_id: 'main', event_type_key_values_filter: { event_type: 'capture.*' } }],
  },
  createTokenIntrospectConfiguration: {
    project_id,
    name: 'employees',
    jwt_matcher: { issuer: 'https://accounts.example', audience: 'fleet' },
    offline_validation: {},
    ikg_node_type: 'Person',
    claims_mapping: { email: { selector: 'email' } },
  },
}
