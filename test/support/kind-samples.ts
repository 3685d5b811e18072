// One sample for each kind of configuration: a valid body, an update, the body read back, and what is refused. The CRUD
// conformance test derives all common tests from them.
import type { DocumentFields } from '../../src/config/kind.ts'

/** The documents that samples refer to, all in one project. */
export interface SampleContext {
  readonly organization: string
  readonly project: string
  readonly application: string
  readonly agent: string
  readonly account: string
  readonly introspect: string
  /** A context policy. */
  readonly policy: string
}

export interface Sample {
  /** Without `name`, which the conformance test adds if the kind has names. */
  body(context: SampleContext): DocumentFields
  /** The members read back in addition to the envelope. */
  reads(context: SampleContext): DocumentFields
  /** Bodies of an update that change something, and the members that then read back. */
  readonly change?: { readonly body: DocumentFields; readonly reads: DocumentFields }
  /** Members that an update must always contain. */
  always?(context: SampleContext): DocumentFields
  /** The patch of the body, and the complete list of issues. A member that is undefined is removed. */
  readonly refused: readonly (readonly [patch: DocumentFields, issues: readonly string[]])[]
  /** Texts that no response after the create may contain. */
  readonly secrets?: readonly string[]
  /** Members that lists leave empty without `full_fetch`. */
  readonly heavy?: readonly string[]
  /** Query of a list → whether the sample is in it. */
  readonly filters?: readonly (readonly [query: string, found: boolean])[]
}

const found = (expected: string) => `expected ${expected}, found nothing`

const decisionPolicy = JSON.stringify({
  meta: { policy_version: '3.0-kbac' },
  subject: { type: 'Person' },
  actions: ['drive'],
  resource: { type: 'Car' },
  condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' },
})

export const contextPolicy = JSON.stringify({
  meta: { policy_version: '1.0-ciq' },
  subject: { type: 'Person' },
  condition: { cypher: 'MATCH (subject:Person)-[r:OWNS]->(car:Car)' },
  allowed_reads: { nodes: ['car.external_id', 'car.property.plate', 'subject.external_id'], relationships: ['r'] },
})

/** No policy of the samples uses the definition. */
const model = 'DEFINE (p:Person)-[:keeps]->(c:Car) AS { MATCH (p)-[:HOLDS]->(c) }'

const contextQuery = JSON.stringify({ nodes: ['car.external_id', 'car.property.plate'], relationships: ['r'] })

const broker = { brokers: ['broker-1:9092'], topic: 'events', username: 'sink', password: 'broker-secret-1' }
const queue = { queueOrTopicName: 'audit', connectionString: 'queue-secret-2' }
const { password: _p, ...openBroker } = broker
const { connectionString: _c, ...openQueue } = queue

const customerKey = {
  provider: 'CUSTOMER_CLOUD1_KMS',
  key_resource: 'arn:aws:kms:eu-west-1:111122223333:key/1',
  kid: 'key-1',
}

export const samples: Readonly<Record<string, Sample>> = {
  projects: {
    body: ({ organization }) => ({
      organization_id: organization,
      region: 'eu-west',
      replica_region: 'eu-north',
      ikg_size: '4GB',
      db_connection: {
        url: 'lmdb:',
        username: 'ann',
        password: 'database-secret-3',
        composite_db_name: 'whole',
        alias_mapping: 'eu=db-eu&us=db-us',
      },
    }),
    reads: () => ({
      region: 'eu-west',
      replica_region: 'eu-north',
      ikg_size: '4GB',
      page_token_counts: 'rows',
      db_connection: {
        url: 'lmdb:',
        username: 'ann',
        composite_db_name: 'whole',
        alias_mapping: 'eu=db-eu&us=db-us',
      },
    }),
    change: {
      body: { db_connection: { url: 'lmdb:', username: 'bob' } },
      reads: { db_connection: { url: 'lmdb:', username: 'bob' } },
    },
    refused: [
      [{ organization_id: undefined }, [`organization_id: ${found('string')}`]],
      [{ organization_id: 'gid:else' }, ['organization_id: no organization `gid:else`']],
      [{ region: undefined }, [`region: ${found('string')}`]],
      [{ page_token_counts: 'items' }, ['page_token_counts: expected `rows` or `pages`, found `items`']],
      [{ replica_region: 'eu-west' }, ['replica_region: expected another region than `region`']],
      [
        { db_connection: { url: 'bolt://graph.example.com' } },
        ['db_connection.url: expected the scheme `bolt+s:` or `neo4j+s:`'],
      ],
    ],
    secrets: ['database-secret-3'],
  },
  applications: {
    body: ({ project }) => ({ project_id: project }),
    reads: () => ({}),
    refused: [
      [{ project_id: undefined }, [`project_id: ${found('string')}`]],
      [{ project_id: 'gid:else' }, ['project_id: no project `gid:else`']],
    ],
  },
  'application-agents': {
    body: ({ application }) => ({
      application_id: application,
      api_permissions: ['Capture', 'IKGRead', 'Audit'],
      page_token_counts: 'pages',
    }),
    reads: ({ application }) => ({
      application_id: application,
      api_permissions: ['Capture', 'Audit'],
      page_token_counts: 'pages',
    }),
    change: { body: { api_permissions: ['CIQ'] }, reads: { api_permissions: ['CIQ'] } },
    refused: [
      [{ application_id: 'gid:else' }, ['application_id: no application `gid:else`']],
      [{ api_permissions: undefined }, [`api_permissions: ${found('array')}`]],
      [{ api_permissions: [] }, ['api_permissions: expected at least 1 item']],
      [{ page_token_counts: '' }, ['page_token_counts: expected `rows` or `pages`, found ``']],
    ],
  },
  'application-agent-credentials': {
    body: ({ agent }) => ({ application_agent_id: agent, expire_time: '2999-01-01T00:00:00+02:00' }),
    reads: ({ agent, application }) => ({
      application_agent_id: agent,
      application_id: application,
      expire_time: '2999-01-01T00:00:00+02:00',
    }),
    refused: [
      [{ application_agent_id: 'gid:else' }, ['application_agent_id: no application agent `gid:else`']],
      [{ expire_time: '2999-01-01T00:00:00' }, ['expire_time: expected an RFC 3339 timestamp with offset']],
      [{ expire_time: '2999-01-01T24:00:00Z' }, ['expire_time: expected an RFC 3339 timestamp with offset']],
      [
        { expire_time: '2001-01-01T00:00:00Z' },
        ['expire_time: expected a time in the future, found `2001-01-01T00:00:00Z`'],
      ],
    ],
  },
  'service-accounts': {
    body: ({ organization }) => ({ organization_id: organization, role: 'all_viewer' }),
    reads: () => ({ role: 'all_viewer' }),
    refused: [
      [{ role: undefined }, ['role: expected `all_editor` or `all_viewer`, found nothing']],
      [{ role: 'owner' }, ['role: expected `all_editor` or `all_viewer`, found `owner`']],
      [{ organization_id: 'gid:else' }, ['organization_id: no organization `gid:else`']],
    ],
  },
  'service-account-credentials': {
    body: ({ account }) => ({ service_account_id: account, expire_time: '2999-01-01T00:00:00Z' }),
    reads: ({ account }) => ({ service_account_id: account, expire_time: '2999-01-01T00:00:00Z' }),
    refused: [
      [{ service_account_id: 'gid:else' }, ['service_account_id: no service account `gid:else`']],
      [{ public_key_pem: 'none' }, ['public_key_pem: expected a public key']],
      [{ public_key_jwk: { kty: 'oct', k: 'AAAA' } }, ['public_key_jwk: expected a public key']],
      [{ public_key_jwk: '{}', public_key_pem: 'x' }, ['public_key_pem: cannot be combined with `public_key_jwk`']],
    ],
  },
  models: {
    body: ({ project }) => ({ project_id: project, model }),
    reads: () => ({ model }),
    change: {
      body: { model: model.replace('HOLDS', 'KEEPS') },
      reads: { model: model.replace('HOLDS', 'KEEPS') },
    },
    refused: [
      [{ model: undefined }, [`model: ${found('string')}`]],
      [{ model: ' \n' }, ['model: expected the text of a model: a project without types and definitions has no model']],
      [
        { model: 'DEFINE (p:Person)-[:keeps]->(p:Car) AS { MATCH (p)-[:OWNS]->(p) }' },
        [
          'model: line 1, column 29: the two ends of a definition need different variables\nDEFINE (p:Person)-[:keeps]->(p:Car) AS { MATCH (p)-[:OWNS]->(p) }\n                            ^^^^^^^',
        ],
      ],
    ],
    heavy: ['model'],
  },
  'authorization-policies': {
    body: ({ project }) => ({ project_id: project, policy: decisionPolicy, status: 'ACTIVE', tags: ['fleet'] }),
    reads: () => ({ policy: decisionPolicy, status: 'ACTIVE', tags: ['fleet'] }),
    change: {
      body: { policy: '{"unfinished":', status: 'DRAFT', tags: [] },
      reads: { policy: '{"unfinished":', status: 'DRAFT', tags: [] },
    },
    refused: [
      [{ status: 'active' }, ['status: expected `ACTIVE` or `INACTIVE` or `DRAFT`, found `active`']],
      [{ policy: undefined }, [`policy: ${found('string')}`]],
      [{ policy: '{' }, ['policy: malformed JSON at line 1, column 2: expected a key in double quotes, found the end']],
      [{ tags: ['a', 'a'] }, ['tags: duplicate tag']],
      [
        { policy: decisionPolicy.replace('3.0-kbac', '4.0-kbac') },
        ['policy.meta.policy_version: expected one of `2.0-kbac`, `3.0-kbac`, `1.0-ciq`, found `4.0-kbac`'],
      ],
    ],
    heavy: ['policy'],
    filters: [
      ['type=kbac', true],
      ['type=ciq', false],
    ],
  },
  'knowledge-queries': {
    body: ({ project, policy }) => ({ project_id: project, policy_id: policy, query: contextQuery, status: 'ACTIVE' }),
    reads: ({ policy }) => ({ policy_id: policy, query: contextQuery, status: 'ACTIVE' }),
    change: {
      body: { query: '{"unfinished":', status: 'DRAFT' },
      reads: { query: '{"unfinished":', status: 'DRAFT' },
    },
    refused: [
      [{ policy_id: 'gid:else' }, ['policy_id: no authorization policy `gid:else` in the project']],
      [{ status: undefined }, ['status: expected `ACTIVE` or `INACTIVE` or `DRAFT`, found nothing']],
      [{ query: '[' }, ['query: malformed JSON at line 1, column 2: expected a value, found the end']],
      [{ query: '{"order_by":"x"}' }, ['query: unknown member `order_by`']],
      [{ query: '{"nodes":["car.property.price"]}' }, ['query.nodes[0]: the policy does not allow reading it']],
      [{ query: '{"nodes":["bike.*"]}' }, ['query.nodes[0]: the policy does not bind `bike`']],
    ],
    heavy: ['query'],
  },
  'external-data-resolvers': {
    body: ({ project }) => ({
      project_id: project,
      url: 'https://prices.example/{$maker}/latest?currency={$currency}',
      method: 'GET',
      headers: { 'X-One': 'resolver-secret-5', Accept: ['resolver-secret-6', 'resolver-secret-7'] },
      request_content_type: 'JSON',
      response_content_type: 'JSON',
      response_selector: '.chart.result[0].price',
    }),
    reads: () => ({
      url: 'https://prices.example/{$maker}/latest?currency={$currency}',
      method: 'GET',
      headers: { 'X-One': '', Accept: ['', ''] },
      request_content_type: 'JSON',
      request_payload: '',
      response_content_type: 'JSON',
      response_selector: '.chart.result[0].price',
    }),
    change: {
      body: { method: 'POST', request_payload: '{"id":"{$id}"}', headers: { Accept: ['', ''], 'X-Two': 'b' } },
      reads: {
        method: 'POST',
        request_payload: '{"id":"{$id}"}',
        headers: { Accept: ['', ''], 'X-Two': '' },
        request_content_type: 'JSON',
      },
    },
    refused: [
      [{ url: 'prices' }, ['url: expected a URL']],
      [{ url: 'ftp://prices.example' }, ['url: expected the scheme `https:` or `http:`']],
      [{ url: 'https://{$host}/x' }, ['url: the host cannot contain a placeholder']],
      [
        { url: 'https://prices.example/{maker}' },
        ['url: expected placeholders of the form `{$name}` or `{$name || default}`'],
      ],
      [{ method: 'DELETE' }, ['method: expected `GET` or `POST` or `PUT` or `PATCH`, found `DELETE`']],
      [{ request_content_type: 'XML' }, ['request_content_type: expected `JSON`, found `XML`']],
      [
        { response_selector: 'price' },
        ['response_selector: expected `.name` or `[index]` at character 1, found `price`'],
      ],
      [{ response_selector: `.${'x'.repeat(255)}` }, ['response_selector: expected at most 255 characters']],
      [{ headers: { 'X One': 'a' } }, ['headers.X One: expected letters, digits and hyphens']],
      [{ headers: { 'X-One': 'a\r\nX-Two: b' } }, ['headers.X-One: expected Latin-1 text without control characters']],
      [{ headers: { 'X-One': 'Bearer {$token.sub}' } }, ['headers.X-One: a header cannot contain a placeholder']],
      [{ headers: { 'X-One': '5 €' } }, ['headers.X-One: expected Latin-1 text without control characters']],
      [{ headers: { 'X-One': '' } }, ['headers.X-One: expected at least 1 character']],
      [{ url: 'https://127.0.0.1/x' }, ['url: the address `127.0.0.1` is not public']],
      [{ url: 'https://[::1]/x' }, ['url: the address `::1` is not public']],
      [{ url: 'https://10.1.2.3/{$maker}' }, ['url: the address `10.1.2.3` is not public']],
      [{ url: 'https://0x7f.1/x' }, ['url: the address `127.0.0.1` is not public']],
      [{ url: 'https://169.254.169.254/latest' }, ['url: the address `169.254.169.254` is not public']],
      [{ url: 'https://localhost/x' }, ['url: the host `localhost` is not public']],
      [{ url: 'https://a.LOCALHOST./x' }, ['url: the host `a.localhost.` is not public']],
      [{ url: 'https://metadata.google.internal/x' }, ['url: the host `metadata.google.internal` is not public']],
      [{ url: 'http://prices.example/x' }, ['url: expected https']],
    ],
    secrets: ['resolver-secret-5', 'resolver-secret-6', 'resolver-secret-7'],
  },
  'token-introspects': {
    body: ({ project }) => ({
      project_id: project,
      jwt_matcher: { issuer: 'https://accounts.example', audience: 'fleet' },
      ikg_node_type: 'Person',
      sub_claim: { selector: 'email' },
      claims_mapping: { region: { selector: 'zone' } },
      online_validation: { cache_ttl: 60 },
    }),
    reads: () => ({
      jwt_matcher: { issuer: 'https://accounts.example', audience: 'fleet' },
      ikg_node_type: 'Person',
      sub_claim: 'email',
      claims_mapping: { region: { selector: 'zone' } },
      online_validation: { cache_ttl: 60 },
      perform_upsert: false,
    }),
    change: {
      body: {
        jwt_matcher: { issuer: 'https://accounts.example', audience: 'garage' },
        offline_validation: {},
        online_validation: null,
        sub_claim: '',
      },
      reads: { jwt_matcher: { issuer: 'https://accounts.example', audience: 'garage' } },
    },
    refused: [
      [{ jwt_matcher: undefined }, ['jwt_matcher: expected exactly one of `jwt_matcher` and `opaque_matcher`']],
      [{ online_validation: { cache_ttl: 3601 } }, ['online_validation.cache_ttl: expected at most 3600']],
      [{ claims_mapping: { external_id: { selector: 'sub' } } }, ['claims_mapping.external_id: is a protected name']],
    ],
  },
  'trust-score-profiles': {
    body: ({ project }) => ({
      project_id: project,
      node_classification: 'Licence',
      dimensions: [
        { name: 'VALIDITY', weight: 1 },
        { name: 'ORIGIN', weight: 0 },
      ],
      schedule: 'SIX_HOURS',
    }),
    reads: () => ({
      node_classification: 'Licence',
      dimensions: [
        { name: 'VALIDITY', weight: 1 },
        { name: 'ORIGIN', weight: 0 },
      ],
      schedule: 'SIX_HOURS',
      freshness_half_life_days: 90,
      verification_half_life_days: 365,
      sources: {},
      named_source_trust: 0.5,
      unnamed_source_trust: 0,
      required_properties: [],
      validity_rules: [],
      keep_scores: false,
      last_run_id: '',
      last_run_start_time: '',
      last_run_end_time: '',
      dimensions_execution_times: {},
      last_error: '',
      run_progress: null,
    }),
    change: {
      body: { schedule: 'DAILY', sources: { registry: 1 } },
      reads: { schedule: 'DAILY', sources: { registry: 1 } },
    },
    refused: [
      [{ freshness_half_life_days: 0 }, ['freshness_half_life_days: expected at least 1']],
      [{ sources: { registry: 2 } }, ['sources.registry: expected at most 1']],
      [{ required_properties: ['name', 'name'] }, ['required_properties: duplicate property']],
      [
        { validity_rules: [{ property: 'plate', rule: 'pattern', pattern: '(' }] },
        ['validity_rules[0].pattern: error parsing regexp: missing closing ): `(`'],
      ],
      [
        { validity_rules: [{ property: 'wheels', rule: 'range' }] },
        ['validity_rules[0]: expected `minimum` or `maximum`'],
      ],
      [
        { validity_rules: [{ property: 'wheels', rule: 'range', minimum: 2, maximum: 1 }] },
        ['validity_rules[0].minimum: expected at most `maximum`'],
      ],
      [
        { validity_rules: [{ property: 'issued', rule: 'not_after', other: 'issued' }] },
        ['validity_rules[0].other: expected another property'],
      ],
      [
        { node_classification: 'a licence' },
        [
          'node_classification: expected a label: a letter or `_`, then letters, digits and `_`, and between two of them single `-`, `.` or `/`',
        ],
      ],
      [
        { dimensions: [] },
        ['dimensions: expected at least 1 item', 'dimensions: expected at least one weight above 0'],
      ],
      [{ dimensions: [{ name: 'ORIGIN', weight: 0 }] }, ['dimensions: expected at least one weight above 0']],
      [{ dimensions: [{ name: 'ORIGIN', weight: 1.1 }] }, ['dimensions[0].weight: expected at most 1']],
      [
        {
          dimensions: [
            { name: 'ORIGIN', weight: -0.1 },
            { name: 'VALIDITY', weight: 1 },
          ],
        },
        ['dimensions[0].weight: expected at least 0'],
      ],
      [
        {
          dimensions: [
            { name: 'ORIGIN', weight: 1 },
            { name: 'ORIGIN', weight: 1 },
          ],
        },
        ['dimensions: duplicate dimension'],
      ],
      [
        { schedule: 'HOURLY' },
        ['schedule: expected `THREE_HOURS` or `SIX_HOURS` or `TWELVE_HOURS` or `DAILY`, found `HOURLY`'],
      ],
    ],
  },
  'event-sinks': {
    body: ({ project }) => ({
      project_id: project,
      providers: {
        kafka: { streaming_broker: broker, include_cdc_events: true },
        bus: { queue_service: { ...queue, display_name: 'Bus' } },
      },
      routes: [
        {
          provider_id: 'kafka',
          event_type_key_values_filter: {
            event_type: 'svc.audit.capture.*',
            context_key_value: [{ key: 'captureLabel', value: 'Car' }],
          },
          stop_processing: true,
          display_name: 'Cars',
        },
      ],
    }),
    reads: () => ({
      include_cdc_events: false,
      providers: {
        kafka: { streaming_broker: { ...openBroker, last_error: '' }, include_cdc_events: true },
        bus: { queue_service: { ...openQueue, display_name: 'Bus', last_error: '' } },
      },
      routes: [
        {
          provider_id: 'kafka',
          event_type_key_values_filter: {
            event_type: 'svc.audit.capture.*',
            context_key_value: [{ key: 'captureLabel', value: 'Car' }],
          },
          stop_processing: true,
          display_name: 'Cars',
        },
      ],
      tags: [],
    }),
    change: {
      // The secret of a provider that stays is kept; the other spelling is accepted.
      body: {
        providers: {
          kafka: { streaming_broker: { ...openBroker, last_error: 'as it was read' } },
          bus: { queue_service: { queue_or_topic_name: 'b' }, display_name: 'Bus 2' },
        },
        routes: [
          {
            provider_id: 'bus',
            event_type_key_values_filter: {
              event_type: 'svc.audit.capture.*',
              key_value_pairs: [{ key: 'captureLabel', value: 'Van' }],
            },
          },
        ],
      },
      reads: {
        providers: {
          kafka: { streaming_broker: { ...openBroker, last_error: '' } },
          bus: { queue_service: { queueOrTopicName: 'b', display_name: 'Bus 2', last_error: '' } },
        },
        routes: [
          {
            provider_id: 'bus',
            event_type_key_values_filter: {
              event_type: 'svc.audit.capture.*',
              context_key_value: [{ key: 'captureLabel', value: 'Van' }],
            },
          },
        ],
      },
    },
    refused: [
      [{ providers: undefined }, [`providers: ${found('object')}`]],
      [{ providers: {} }, ['providers: expected at least 1 provider']],
      [{ routes: [] }, ['routes: expected at least 1 item']],
      [
        { providers: { kafka: {} } },
        ['providers.kafka: expected exactly one of `streaming_broker`, `event_topic`, `queue_service`, `pub_sub`'],
      ],
      [
        { providers: { kafka: { streaming_broker: { ...broker, topic: 'a b' } } } },
        ['providers.kafka.streaming_broker.topic: expected letters, digits and `. _ -`'],
      ],
      [
        { providers: { kafka: { queue_service: { queueOrTopicName: 'q' } } } },
        ['providers.kafka.queue_service.connectionString: expected string, found nothing'],
      ],
      [
        {
          providers: {
            kafka: { streaming_broker: { ...broker, display_name: 'A' }, display_name: 'B' },
            bus: { queue_service: { ...queue, last_error: 1 } },
          },
        },
        [
          'providers.kafka.display_name: cannot be combined with `streaming_broker.display_name`',
          'providers.bus.queue_service.last_error: expected string, found number',
        ],
      ],
      [
        {
          routes: [
            {
              provider_id: 'kafka',
              event_type_key_values_filter: { event_type: 'a', context_key_value: [], key_value_pairs: [] },
            },
            {
              provider_id: 'kafka',
              event_type_key_values_filter: { event_type: 'a', key_value_pairs: [{ key: 'k' }] },
            },
          ],
        },
        [
          'routes[0].event_type_key_values_filter.key_value_pairs: cannot be combined with `context_key_value`',
          'routes[1].event_type_key_values_filter.key_value_pairs[0].value: expected string, found nothing',
        ],
      ],
      [{ providers: { bus: { queue_service: queue } } }, ['routes[0].provider_id: no provider `kafka`']],
      [
        { routes: [{ provider_id: 'kafka', event_type_key_values_filter: { event_type: 'svc.*.node' } }] },
        [
          'routes[0].event_type_key_values_filter.event_type: expected words of letters, digits and `_` joined by dots, the last of which may be `*`',
        ],
      ],
    ],
    secrets: ['broker-secret-1', 'queue-secret-2'],
  },
  'entity-matching-pipelines': {
    body: ({ project }) => ({
      project_id: project,
      node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
      similarity_score_cutoff: 0.5,
    }),
    reads: () => ({
      node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
      similarity_score_cutoff: 0.5,
      rerun_interval: '',
      keep_matches: false,
      property_mapping_status: 'PENDING',
      property_mapping_message: '',
      entity_matching_status: 'PENDING',
      entity_matching_message: '',
      property_mappings: [],
      last_run_time: '',
      report_url: '',
      report_type: '',
      matched_entities: 0,
      run_progress: null,
    }),
    change: { body: { similarity_score_cutoff: 0.75 }, reads: { similarity_score_cutoff: 0.75 } },
    refused: [
      [{ node_filter: undefined }, [`node_filter: ${found('object')}`]],
      [
        { node_filter: { source_node_types: [], target_node_types: ['Person'] } },
        ['node_filter.source_node_types: expected at least 1 item'],
      ],
      [{ similarity_score_cutoff: 1.5 }, ['similarity_score_cutoff: expected at most 1']],
      [
        { rerun_interval: '5h' },
        ['rerun_interval: expected `1h`, `2h`, `3h`, `4h`, `6h`, `8h`, `12h`, `24h` or an empty string'],
      ],
    ],
  },
  'mcp-servers': {
    body: ({ project, agent, introspect }) => ({
      project_id: project,
      app_agent_id: agent,
      token_introspect_id: introspect,
      enabled: true,
      scopes_supported: ['openid'],
    }),
    reads: ({ agent, introspect }) => ({
      app_agent_id: agent,
      token_introspect_id: introspect,
      enabled: true,
      scopes_supported: ['openid'],
      application_queries: false,
    }),
    change: {
      body: { enabled: false, application_queries: true },
      reads: { enabled: false, application_queries: true, scopes_supported: ['openid'] },
    },
    refused: [
      [{ app_agent_id: 'gid:else' }, ['app_agent_id: no application agent `gid:else` in the project']],
      [{ token_introspect_id: 'gid:else' }, ['token_introspect_id: no token introspect `gid:else` in the project']],
      [{ enabled: undefined }, [`enabled: ${found('boolean')}`]],
      [{ application_queries: 'yes' }, ['application_queries: expected boolean, found string']],
      [{ scopes_supported: [] }, ['scopes_supported: expected at least 1 item']],
      [{ scopes_supported: ['x'.repeat(257)] }, ['scopes_supported[0]: expected at most 256 characters']],
    ],
  },
  'audit-signings': {
    // A key of a customer is called when it is stored: test/process/audit/customer-keys.test.ts.
    body: ({ project }) => ({ project_id: project, provider: 'PLATFORM_MANAGED' }),
    reads: () => ({
      provider: 'PLATFORM_MANAGED',
      key_resource: '',
      kid: '',
      auth_params: {},
      public_key: '',
      verifier_key: '',
      last_signed_time: '',
      signed_size: 0,
      is_overdue: false,
      last_error: '',
    }),
    always: () => ({ provider: 'PLATFORM_MANAGED' }),
    refused: [
      [
        { provider: undefined },
        [
          'provider: expected `PLATFORM_MANAGED` or `CUSTOMER_CLOUD1_KMS` or `CUSTOMER_CLOUD2_KMS` or `CUSTOMER_CLOUD3_KEY_VAULT`, found nothing',
        ],
      ],
      [{ ...customerKey, key_resource: undefined }, ['key_resource is required for customer-managed providers']],
      [{ ...customerKey, kid: '' }, ['kid is required for customer-managed providers']],
      [{ ...customerKey, key_resource: 'x'.repeat(257) }, ['key_resource: expected at most 256 characters']],
      [{ ...customerKey, kid: 'x'.repeat(257) }, ['kid: expected at most 256 characters']],
      // It is the name in signature lines.
      [{ ...customerKey, kid: 'our key' }, ['kid: expected no spaces, plus signs and control characters']],
      [{ ...customerKey, kid: 'a+b' }, ['kid: expected no spaces, plus signs and control characters']],
      [
        { ...customerKey, auth_params: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, 'v'])) },
        ['auth_params: expected at most 32 pairs'],
      ],
      [{ ...customerKey, auth_params: { role_arn: 7 } }, ['auth_params.role_arn: expected string, found number']],
      // A name that a plain object would drop silently.
      [{ ...customerKey, auth_params: JSON.parse('{"__proto__":"v"}') }, ['auth_params: unknown member `__proto__`']],
      [
        { ...customerKey, auth_params: { region: 'eu-west-1' }, provider: 'PLATFORM_MANAGED' },
        [
          'key_resource: only for customer-managed providers',
          'kid: only for customer-managed providers',
          'auth_params: only for customer-managed providers',
        ],
      ],
    ],
  },
}
