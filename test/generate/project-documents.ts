// Random projects with documents of all kinds that a project folder can have, as requests to apply them.
import type { ApplyRequest } from '../../src/config/apply-documents.ts'
import type { Random } from './random.ts'

type Requested = ApplyRequest['documents'][number]
type DocumentBody = Record<string, unknown>

/** Texts that YAML could take for something else, or change. */
const awkward = [
  'plain words',
  'yes',
  'null',
  '1.0',
  '0x1F',
  '2026-11-22',
  'a: b',
  '# no comment',
  '- item',
  '---\nsecond document\n...\n',
  ' leading and trailing ',
  '"quoted" and \'single\'',
  'first line\nsecond line\n\n  indented\n',
  'ends without a line feed\nhere',
  'ends with two\n\n',
  '\ttab',
  'carriage\r\nreturn',
  '{flow: [a, b]}',
  '*alias &anchor !tag %directive @at `tick`',
  'back\\slash \u0000\u0007\u001b',
  'Grüße, 日本語, 🚗\u2028line separator\u0085next line',
  `${'long word '.repeat(40)}end`,
  '>',
  '|',
  '~',
  '=',
  '<<',
]

const text = (random: Random): string => (random.odds(0.5) ? random.pick(awkward) : `text ${random.between(0, 999)}`)

function sometimes(random: Random, member: string, value: () => unknown): DocumentBody {
  return random.odds(0.4) ? { [member]: value() } : {}
}

/** No policy uses its definitions. */
function model(random: Random): string {
  const comment = random.pick(['', '// --- who keeps what\n', '\n\n/* first\r second\n---\n */\n'])
  const name = random.pick(['keeps', '`keeps a lot`'])
  const body = random.pick(['MATCH (p)-[:HOLDS]->(c)', '\r\n  MATCH (p)-[:HOLDS]->(:Box)-[:HAS]->(c)\r\n'])
  return `${comment}DEFINE (p:Person)-[:${name}]->(c:Car) AS { ${body} }${random.pick(['', '\n', '\r\n\r\n', ' ; // end'])}`
}

function described(random: Random): DocumentBody {
  const long = (): string => `${text(random)}..`
  return { ...sometimes(random, 'display_name', () => long().slice(0, 250)), ...sometimes(random, 'description', long) }
}

function names(random: Random, stem: string, max: number): string[] {
  // Some differ only in case.
  const all = [`${stem}-a`, `${stem}-A`, `${stem}-b2`, `${stem}C`]
  return all.slice(0, random.between(0, Math.min(max, all.length)))
}

/** JSON with random spacing, numbers that differ from 1 only as floats, and integers beyond 53 bits. */
function jsonText(random: Random, value: object): string {
  const plain = JSON.stringify(value, null, random.pick([0, 1, 2, 4]))
  return plain.replaceAll('"FLOAT"', '1.0').replaceAll('"BIG"', '9007199254740993').replaceAll('"EXP"', '1.5e-9')
}

function filter(random: Random, depth = 0): object {
  if (depth < 2 && random.odds(0.4)) {
    const operands = Array.from({ length: random.between(2, 3) }, () => filter(random, depth + 1))
    return { operator: random.pick(['AND', 'OR']), operands }
  }
  const value = random.pick<unknown>([1, 'FLOAT', 'BIG', 'EXP', true, text(random), -3, 'plain'])
  return { operator: random.pick(['=', '>', '<']), attribute: '$price', value }
}

function decisionPolicy(random: Random): DocumentBody {
  const cypher = random.pick([
    'MATCH (subject)-[:OWNS]->(resource)',
    'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.price > 1.0',
    '// a comment: with a colon\nMATCH (subject)-[:OWNS]->(resource)\n\n',
    "MATCH (subject {name: '# no comment'})-[:OWNS]->(resource)  ",
  ])
  const members = [
    ['meta', { policy_version: random.pick(['2.0-kbac', '3.0-kbac']) }],
    ['subject', { type: 'Person' }],
    ['actions', random.pick([['drive'], ['drive', 'sell:now']])],
    ['resource', { type: 'Car' }],
    ['condition', { cypher, ...sometimes(random, 'filter', () => filter(random)) }],
  ] as const
  const order = random.odds(0.5) ? members : [...members].reverse()
  return { policy: jsonText(random, Object.fromEntries(order)) }
}

function contextPolicy(random: Random): DocumentBody {
  return {
    policy: jsonText(random, {
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: { cypher: 'MATCH (subject)-[r:OWNS]->(car:Car)' },
      allowed_reads: {
        nodes: ['car.external_id', 'car.property.plate'],
        ...sometimes(random, 'relationships', () => ['r']),
      },
      ...sometimes(random, 'allowed_deletes', () => ({ nodes: ['car'] })),
    }),
  }
}

const secret = (random: Random): string => `secret-${random.between(0, 999_999)}`
const tags = (random: Random): DocumentBody =>
  sometimes(random, 'tags', () => random.pick([[], ['fleet'], ['a', 'yes', '1']]))

function resolver(random: Random): DocumentBody {
  return {
    url: random.pick(['https://prices.example/{$maker}?c={$currency}', 'https://one.example/']),
    method: random.pick(['GET', 'POST']),
    ...sometimes(random, 'headers', () => ({
      'X-One': secret(random),
      ...(random.odds(0.5) && { Accept: [secret(random), secret(random)] }),
      ...(random.odds(0.5) && { 'X-One-1': secret(random) }),
    })),
    request_content_type: 'JSON',
    ...sometimes(random, 'request_payload', () => random.pick(['', '{"id":"{$id}"}', '{\n  "id": "{$id}"\n}\n'])),
    response_content_type: 'JSON',
    response_selector: '.chart.result[0].price',
  }
}

function sink(random: Random): DocumentBody {
  const filters = { event_type: 'svc.audit.*', context_key_value: [{ key: 'captureLabel', value: 'Car' }] }
  return {
    providers: {
      kafka: {
        streaming_broker: {
          brokers: ['broker-1.example:9092'],
          topic: 'events',
          username: 'sink',
          password: secret(random),
          ...sometimes(random, 'disable_tls', () => random.odds(0.5)),
        },
        ...sometimes(random, 'include_cdc_events', () => true),
      },
      ...(random.odds(0.5) && {
        bus: {
          queue_service: { queue_or_topic_name: 'audit', connection_string: secret(random), display_name: 'Bus' },
        },
      }),
    },
    routes: [
      {
        provider_id: 'kafka',
        event_type_key_values_filter: random.odds(0.5) ? filters : { event_type: 'svc.audit.config.*' },
        ...sometimes(random, 'stop_processing', () => random.odds(0.5)),
      },
    ],
    ...sometimes(random, 'include_cdc_events', () => random.odds(0.5)),
    ...tags(random),
  }
}

function profile(random: Random, type: string): DocumentBody {
  return {
    node_classification: type,
    dimensions: random.pick([
      [{ name: 'VALIDITY', weight: 1 }],
      [
        { name: 'ORIGIN', weight: 0.25 },
        { name: 'FRESHNESS', weight: 0 },
      ],
    ]),
    schedule: random.pick(['DAILY', 'SIX_HOURS']),
    ...sometimes(random, 'freshness_half_life_days', () => random.pick([90, 1.5])),
    ...sometimes(random, 'sources', () => random.pick([{}, { registry: 1, 'my shop': 0.5 }])),
    ...sometimes(random, 'required_properties', () => ['plate', 'yes']),
    ...sometimes(random, 'validity_rules', () => [
      { property: 'wheels', rule: 'range', minimum: 2 },
      { property: 'plate', rule: 'pattern', pattern: '^[A-Z]+: \\d+$' },
    ]),
    ...sometimes(random, 'keep_scores', () => random.odds(0.5)),
  }
}

function introspection(random: Random, index: number): DocumentBody {
  const audience = `audience ${index}`
  const offline = { jwt_matcher: { issuer: 'https://accounts.example', audience }, offline_validation: {} }
  const online = { jwt_matcher: { issuer: 'https://accounts.example', audience }, online_validation: { cache_ttl: 60 } }
  return {
    ...random.pick([offline, online]),
    ...sometimes(random, 'sub_claim', () => random.pick<unknown>(['email', { selector: 'email' }])),
    ...sometimes(random, 'claims_mapping', () => random.pick([{}, { region: { selector: 'zone' } }])),
    ...sometimes(random, 'ikg_node_type', () => 'Person'),
    ...sometimes(random, 'perform_upsert', () => false),
  }
}

/** A request that creates a project with random documents. `name`: of the project. */
export function randomProject(random: Random): ApplyRequest {
  const documents: Requested[] = []
  const add = (kind: string, name: string, body: DocumentBody, references?: Requested['references']): void => {
    documents.push({ kind, name, body: { ...described(random), ...body }, ...(references && { references }) })
  }
  const applications = names(random, 'app', 2)
  for (const name of applications) add('applications', name, {})
  const agents = applications.length === 0 ? [] : names(random, 'agent', 3)
  for (const name of agents)
    add(
      'application-agents',
      name,
      {
        api_permissions: random.pick([['Authorization'], ['Capture', 'Audit']]),
        ...sometimes(random, 'page_token_counts', () => random.pick(['rows', 'pages'])),
      },
      [{ member: 'application_id', kind: 'applications', name: random.pick(applications) }],
    )
  const introspections = names(random, 'issuer', 3)
  for (const [i, name] of introspections.entries()) add('token-introspects', name, introspection(random, i))
  for (const name of names(random, 'resolver', 3)) add('external-data-resolvers', name, resolver(random))
  for (const name of names(random, 'drive', 4))
    add('authorization-policies', name, {
      ...decisionPolicy(random),
      status: random.pick(['ACTIVE', 'INACTIVE', 'DRAFT']),
      ...tags(random),
    })
  for (const name of names(random, 'draft', 2))
    add('authorization-policies', name, {
      policy: random.pick(['{"unfinished":', '[]', '{"meta":{}}', text(random)]),
      status: 'DRAFT',
    })
  const readable = names(random, 'see', 2)
  if (random.odds(0.5)) add('models', random.pick(['model', 'cars']), { model: model(random) })
  for (const name of readable) add('authorization-policies', name, { ...contextPolicy(random), status: 'ACTIVE' })
  if (readable.length > 0)
    for (const name of names(random, 'query', 3))
      add(
        'knowledge-queries',
        name,
        random.odds(0.8)
          ? { query: jsonText(random, { nodes: ['car.external_id'] }), status: random.pick(['ACTIVE', 'INACTIVE']) }
          : { query: random.pick(['{"unfinished":', '{"nodes": 1}']), status: 'DRAFT' },
        [{ member: 'policy_id', kind: 'authorization-policies', name: random.pick(readable) }],
      )
  if (agents.length > 0 && introspections.length > 0 && random.odds(0.5))
    add(
      'mcp-servers',
      'assistant',
      {
        enabled: random.odds(0.5),
        scopes_supported: ['read: all'],
        ...sometimes(random, 'application_queries', () => false),
      },
      [
        { member: 'app_agent_id', kind: 'application-agents', name: random.pick(agents) },
        { member: 'token_introspect_id', kind: 'token-introspects', name: random.pick(introspections) },
      ],
    )
  for (const [i, name] of names(random, 'score', 3).entries())
    add('trust-score-profiles', name, profile(random, `Type${i}`))
  for (const name of names(random, 'match', 2))
    add('entity-matching-pipelines', name, {
      node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
      similarity_score_cutoff: random.pick([0.5, 1, 0]),
      ...sometimes(random, 'rerun_interval', () => random.pick(['', '6h'])),
    })
  if (random.odds(0.6)) add('event-sinks', 'events', sink(random))
  if (random.odds(0.3)) add('audit-signings', 'platform', { provider: 'PLATFORM_MANAGED' })
  const project = {
    region: random.pick(['local', 'eu-west']),
    ...described(random),
    ...sometimes(random, 'page_token_counts', () => random.pick(['rows', 'pages'])),
    ...sometimes(random, 'ikg_size', () => random.pick(['2GB', '8GB'])),
    ...sometimes(random, 'db_connection', () => ({ url: 'lmdb:', username: 'ann', password: secret(random) })),
  }
  return { project: { body: project }, documents: documents.sort(() => (random.odds(0.5) ? 1 : -1)) }
}
