// All settings of the process, each declared once: names, default, allowed values and description. The type Settings, the
// defaults, the environment variables, the command-line options, their help and docs/reference/settings.md derive from it.

/** Read access: everybody, callers with a service-account token, or no access. */
export type Access = 'public' | 'account' | 'off'

/** The values that a setting accepts. */
export type SettingRule =
  | { readonly kind: 'text' }
  /** http or https, without query, fragment, credentials and trailing slash. */
  | { readonly kind: 'url' }
  /** `https://app.example.org, http://localhost:3000`, or `*`. */
  | { readonly kind: 'origins' }
  /** The name of an HTTP header, stored in lower case. */
  | { readonly kind: 'header' }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  /** One or two bearer tokens, separated by a comma. Secret: masked wherever settings are printed. */
  | { readonly kind: 'tokens' }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number; readonly unit: string }

/** The declaration of one setting. */
export interface SettingSpec<V extends string | number = string | number> {
  /** Name in a settings file, such as `body_bytes_max`; the environment variable is `VERDIGRAPH_BODY_BYTES_MAX`. */
  readonly name: string
  /** Where the reference lists it. */
  readonly section: SettingSection
  readonly rule: SettingRule
  readonly default: V
  /** Markdown; the first letter is a capital, and each sentence ends with a full stop. */
  readonly description: string
  /** How the documentation shows a default that depends on the machine. */
  readonly defaultText?: string
  /** The placeholder of the value in the help; present if the setting has a command-line option `--name`. */
  readonly option?: string
}

/** The sections of the reference, in order. */
export const settingSections = [
  'Process and storage',
  'Network',
  'Lanes',
  'Request bodies',
  'Decisions and searches',
  'Knowledge queries and captures',
  'MCP',
  'External calls',
  'Events',
  'Audit',
  'Logs and metrics',
] as const
/** A section of the settings reference. */
export type SettingSection = (typeof settingSections)[number]

/** Node 20, under which authorizers run, has no `navigator`. */
const processors = (globalThis.navigator as { hardwareConcurrency: number } | undefined)?.hardwareConcurrency ?? 2

/** A lane and a worker are each a process of their own. */
const LANES_MAX = 64
/** Each worker takes reader slots in every database: beyond this number the processor is not the limit. */
const WORKERS_MAX = 64

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

/** `verdigraph settings` prints the current values. */
export const settingSpecs = {
  dataDir: {
    ...text('Process and storage', 'data', './verdigraph-data', 'The data folder.'),
    option: 'dir',
  },
  workers: {
    ...integer(
      'Process and storage',
      'workers',
      1,
      [1, WORKERS_MAX, ''],
      'Processes that share the port and the data folder.',
    ),
    option: 'n',
  },
  graphsOpenMax: integer(
    'Process and storage',
    'graphs_open_max',
    0,
    [0, 100_000, 'graphs'],
    'Graphs that one process has open at a time. The least recently used ones are closed, and opened again at their next use. 0: as many as half of the allowed open files and half of the address space permit.',
  ),
  hotBytesMax: integer(
    'Process and storage',
    'hot_bytes_max',
    96 * MIB,
    [0, GIB, 'bytes'],
    'Maximum size of the memory cache of one graph. Each constituent of each project has its own cache.',
  ),
  drainMs: integer(
    'Process and storage',
    'drain_ms',
    8000,
    [0, 600_000, 'milliseconds'],
    'How long a stop waits for requests that are being answered. Keep it below the time after which your service manager kills the process, usually 10 s.',
  ),

  host: {
    ...text('Network', 'host', '127.0.0.1', 'The address to listen on.'),
    option: 'host',
  },
  port: {
    ...integer('Network', 'port', 8080, [0, 65_535, ''], 'The port to listen on. 0 picks a free one.'),
    option: 'port',
  },
  publicUrl: spec<string>(
    'Network',
    'public_url',
    { kind: 'url' },
    '',
    'The URL that clients reach the service at, such as `https://pdp.example.org`. Empty: taken from the `Host` header.',
  ),
  tlsCertificate: text(
    'Network',
    'tls_certificate',
    '',
    'PEM file with the certificate. With `tls_key`, the service uses HTTPS. Read again when it changes.',
  ),
  tlsKey: text('Network', 'tls_key', '', 'PEM file with the private key of the certificate.'),
  idleTimeS: integer(
    'Network',
    'idle_time_s',
    75,
    [1, 255, 'seconds'],
    'How long a connection may be idle. Longer than the idle timeout of usual load balancers.',
  ),
  clientAddressHeader: spec<string>(
    'Network',
    'client_address_header',
    { kind: 'header' },
    '',
    'The header in which a proxy passes the address of the client, such as `x-forwarded-for`; events contain the address. Its last entry is used. Set it only if every connection comes from a proxy that sets or extends this header: else clients can invent their address. Empty: the address of the connection.',
  ),
  corsOrigins: spec<string>(
    'Network',
    'cors_origins',
    { kind: 'origins' },
    '',
    'Origins whose pages may call the service, separated by commas, or `*`. Empty: none.',
  ),
  descriptionAccess: choice(
    'Network',
    'description_access',
    ['public', 'account', 'off'],
    'public',
    'Who may read `/docs` and `/openapi.json`: everybody (`public`), callers with a service-account token (`account`), or no one (`off`).',
  ),
  agentRequestsPerS: integer(
    'Network',
    'agent_requests_per_s',
    0,
    [0, 1_000_000, 'requests'],
    'Requests of one agent per second. More get status 429. 0: no limit.',
  ),
  agentBurst: integer(
    'Network',
    'agent_burst',
    0,
    [0, 1_000_000, 'requests'],
    'Requests of one agent that may arrive at once. 0: as many as in a second.',
  ),

  lanes: {
    ...integer(
      'Lanes',
      'lanes',
      // A project never holds all lanes, so there are at least two.
      Math.min(LANES_MAX, Math.max(2, processors - 1)),
      [0, LANES_MAX, ''],
      'Maximum number of lane processes for requests that are too large for the event loop, for each worker. They start when they are first needed. 0: everything runs in the serving process.',
    ),
    defaultText: 'cores - 1, min. 2',
  },
  laneQueueMax: integer(
    'Lanes',
    'lane_queue_max',
    256,
    [1, 100_000, 'requests'],
    'Requests of one project that may wait for a lane. More get status 503.',
  ),
  laneWaitMs: integer(
    'Lanes',
    'lane_wait_ms',
    10_000,
    [1, 600_000, 'milliseconds'],
    'How long a request may wait for a lane. Then it gets status 503.',
  ),
  laneMemoryMax: integer(
    'Lanes',
    'lane_memory_max',
    512 * MIB,
    [64 * MIB, 2 ** 40, 'bytes'],
    'Memory of an idle lane, without mapped files. A lane that holds more is replaced.',
  ),
  writeTimeMs: integer(
    'Lanes',
    'write_time_ms',
    60_000,
    [1, 3_600_000, 'milliseconds'],
    'Time limit of one capture or configuration change in a lane.',
  ),

  bodyBytesMax: integer(
    'Request bodies',
    'body_bytes_max',
    4 * MIB,
    [KIB, GIB, 'bytes'],
    'Size of a request body. 4 MiB is enough for a capture of 250 large nodes.',
  ),
  bodyTotalBytesMax: integer(
    'Request bodies',
    'body_total_bytes_max',
    256 * MIB,
    [64 * KIB, Number.MAX_SAFE_INTEGER, 'bytes'],
    'Total size of all request bodies above 64 KiB that are being received or processed. More get status 503. A single body is always admitted.',
  ),
  bodyCallerBytesMax: integer(
    'Request bodies',
    'body_caller_bytes_max',
    64 * MIB,
    [64 * KIB, Number.MAX_SAFE_INTEGER, 'bytes'],
    'Total size of the request bodies above 64 KiB of one caller: an agent, a service account, or the MCP users of one project. More get status 429.',
  ),
  bodyTimeMs: integer(
    'Request bodies',
    'body_time_ms',
    30_000,
    [1, 600_000, 'milliseconds'],
    'How long a request body may take to arrive.',
  ),
  jsonValuesMax: integer(
    'Request bodies',
    'json_values_max',
    1_000_000,
    [1000, Number.MAX_SAFE_INTEGER, 'values'],
    'Values in one JSON body: objects, lists, and everything in them.',
  ),

  policyTextMax: integer(
    'Decisions and searches',
    'policy_text_max',
    512_000,
    [1, 512_000, 'characters'],
    'Size of one policy document; its Cypher text may have the same size.',
  ),
  inputStringMax: integer(
    'Decisions and searches',
    'input_string_max',
    65_536,
    [1, GIB, 'characters'],
    'Length of one string in the input parameters of a request, at any depth.',
  ),
  decisionTimeMs: integer(
    'Decisions and searches',
    'decision_time_ms',
    1000,
    [1, 600_000, 'milliseconds'],
    'Time limit of one evaluation or search with all its policies.',
  ),
  traversalStepsMax: integer(
    'Decisions and searches',
    'traversal_steps_max',
    20_000_000,
    [1, Number.MAX_SAFE_INTEGER, 'steps'],
    'Rows, relationships and list items that one evaluation or search may touch.',
  ),
  rowsHeldMax: integer(
    'Decisions and searches',
    'rows_held_max',
    2_000_000,
    [1, Number.MAX_SAFE_INTEGER, 'rows'],
    'Rows, groups and visited nodes that one evaluation or search may hold in memory. 2 million take about 200 MB.',
  ),
  questionBytesMax: integer(
    'Decisions and searches',
    'question_bytes_max',
    256 * MIB,
    [64 * KIB, Number.MAX_SAFE_INTEGER, 'bytes'],
    'Strings, lists and rows that one evaluation or search may hold in memory, estimated.',
  ),
  evaluationsMax: integer(
    'Decisions and searches',
    'evaluations_max',
    1000,
    [1, 100_000, 'items'],
    'Items of one batch of evaluations.',
  ),
  batchTimeMs: integer(
    'Decisions and searches',
    'batch_time_ms',
    10_000,
    [1, 600_000, 'milliseconds'],
    'Time limit of a batch of evaluations or an explanation. The remaining items are not evaluated.',
  ),
  searchPageMax: integer(
    'Decisions and searches',
    'search_page_max',
    10_000,
    [1, 1_000_000, 'results'],
    'Results in one search response. More results are returned in pages.',
  ),
  pageTokenTimeS: integer(
    'Decisions and searches',
    'page_token_time_s',
    3600,
    [1, 31_536_000, 'seconds'],
    'How long a page token is valid.',
  ),

  captureItemsMax: integer(
    'Knowledge queries and captures',
    'capture_items_max',
    250,
    [1, 100_000, 'items'],
    'Items of one capture request.',
  ),
  executeTimeMs: integer(
    'Knowledge queries and captures',
    'execute_time_ms',
    10_000,
    [1, 600_000, 'milliseconds'],
    'Time limit of one execution of a knowledge query.',
  ),
  batchReadTimeMs: integer(
    'Knowledge queries and captures',
    'batch_read_time_ms',
    300_000,
    [1, 3_600_000, 'milliseconds'],
    'Time limit of one execution of a knowledge query with `batch_read`.',
  ),
  executeWritesMax: integer(
    'Knowledge queries and captures',
    'execute_writes_max',
    10_000,
    [1, 1_000_000, 'writes'],
    'Upserts and deletions of one execution of a knowledge query, over all its rows. They are one transaction.',
  ),
  executeAnswerMax: integer(
    'Knowledge queries and captures',
    'execute_answer_max',
    64 * MIB,
    [KIB, GIB, 'characters'],
    'Size of the values in one response of a knowledge query.',
  ),

  mcpSessionTimeS: integer(
    'MCP',
    'mcp_session_time_s',
    86_400,
    [1, 31_536_000, 'seconds'],
    'How long an MCP session is valid. Clients then open another.',
  ),
  mcpPageMax: integer('MCP', 'mcp_page_max', 100, [1, 10_000, 'entries'], 'Entries in one page of an MCP list.'),
  mcpStreamsMax: integer(
    'MCP',
    'mcp_streams_max',
    4096,
    [1, 1_000_000, 'streams'],
    'Open MCP notification streams in each process.',
  ),
  mcpProjectStreamsMax: integer(
    'MCP',
    'mcp_project_streams',
    1024,
    [1, 1_000_000, 'streams'],
    'Open MCP notification streams of one project in each process. One user may have a quarter of them.',
  ),

  upstreamAllow: text(
    'External calls',
    'upstream_allow',
    '',
    'CIDRs, addresses and host names that may be called in addition to the public internet, also without TLS. Separated by commas.',
  ),
  upstreamTimeMs: integer(
    'External calls',
    'upstream_time_ms',
    5000,
    [1, 60_000, 'milliseconds'],
    'Time limit of one call of an issuer or resolver, from name resolution to the last byte.',
  ),
  upstreamBytesMax: integer(
    'External calls',
    'upstream_bytes_max',
    MIB,
    [KIB, GIB, 'bytes'],
    'Size of one response of an issuer or resolver.',
  ),
  resolverCallsMax: integer(
    'External calls',
    'resolver_calls_max',
    1000,
    [1, 100_000, 'calls'],
    'Different requests to resolvers in one execution of a knowledge query.',
  ),
  resolverParallel: integer(
    'External calls',
    'resolver_parallel',
    16,
    [1, 1000, 'calls'],
    'Concurrent calls of resolvers for one project, in each process.',
  ),
  resolverCacheMs: integer(
    'External calls',
    'resolver_cache_ms',
    0,
    [0, 3_600_000, 'milliseconds'],
    'How long responses of resolvers are cached for equal requests. 0: only within one execution.',
  ),

  eventActivityStrict: choice(
    'Events',
    'event_activity_strict',
    ['on', 'off'],
    'off',
    '`on`: the answer to a decision, a search, a read of the configuration or a knowledge query is sent when its event is on disk. `off`: its event is written at most 50 ms later, and a crash may lose it. Without a route for such events there is no difference.',
  ),

  eventBacklogBytesMax: integer(
    'Events',
    'event_backlog_bytes_max',
    GIB,
    [MIB, 1024 * GIB, 'bytes'],
    'Maximum size of the events that wait for one provider of an event sink, in each graph of the project and in its configuration. Beyond it the oldest are dropped, and the provider receives one event with their range. While no process delivers, writers drop beyond 1.25 times this size.',
  ),
  eventBacklogAgeMaxS: integer(
    'Events',
    'event_backlog_age_max_s',
    604_800,
    [1, 31_536_000, 'seconds'],
    'How long events wait for a provider that cannot be reached. Older ones are dropped, and the provider receives one event with their range.',
  ),

  eventDeadLetterBytesMax: integer(
    'Events',
    'event_dead_letter_bytes_max',
    64 * MIB,
    [MIB, 1024 * GIB, 'bytes'],
    'Maximum size of the dead letters of one provider of an event sink, in each graph of the project and in its configuration. Beyond it the oldest are dropped and counted.',
  ),

  audit: choice(
    'Audit',
    'audit',
    ['on', 'off'],
    'on',
    '`on`: changes and reads of the configuration, permissions, captures, knowledge queries, verified tokens, and the decisions that `audit_decisions` selects are recorded for the audit log. `off`: nothing is recorded for it, except starts, stops and commands if the data folder has an audit log, so that it shows the gap.',
  ),
  auditDecisions: choice(
    'Audit',
    'audit_decisions',
    ['none', 'denials', 'sampled', 'all'],
    'none',
    'The decisions and searches in the audit log. `denials`: evaluations that are denied or fail, and no search. `sampled`: one in `audit_decisions_sample_rate`, selected at random.',
  ),
  auditDecisionsSampleRate: integer(
    'Audit',
    'audit_decisions_sample_rate',
    100,
    [1, 1_000_000, 'decisions and searches'],
    'With `audit_decisions` `sampled`: one in so many is in the audit log.',
  ),
  auditOrigin: text(
    'Audit',
    'audit_origin',
    'verdigraph',
    'The first part of the names of audit logs, for example the host name of the service: `<audit_origin>/projects/<id>/<generation>`. A change applies to logs that begin later.',
  ),
  auditKeyRotationDays: integer(
    'Audit',
    'audit_key_rotation',
    90,
    [0, 3650, 'days'],
    'How long one platform key signs the audit logs before another one replaces it. 0: until `verdigraph audit rotate-key`.',
  ),
  auditSignatureIntervalS: integer(
    'Audit',
    'audit_signature_interval',
    60,
    [1, 86_400, 'seconds'],
    'A customer-managed key signs the audit log of its project this often, if the log has new entries. It also signs after 10,000 entries, after a change of a key, and on request. A signature that fails is overdue, and recorded in the log after one interval.',
  ),
  auditRetentionDays: integer(
    'Audit',
    'audit_retention',
    0,
    [0, 36_500, 'days'],
    'How long entries of audit logs are kept. Older ones are removed in groups of 256; hashes, signatures and proofs stay. 0: without end.',
  ),

  logLevel: choice(
    'Logs and metrics',
    'log_level',
    ['info', 'error', 'silent'],
    'info',
    'Which entries are logged on the error stream.',
  ),
  accessLog: choice('Logs and metrics', 'access_log', ['on', 'off'], 'off', '`on`: one log line per request.'),
  decisionLog: text(
    'Logs and metrics',
    'decision_log',
    'off',
    'File of the decision log, one line of JSON per decision. `off`: none.',
  ),
  decisionLogPercent: integer(
    'Logs and metrics',
    'decision_log_pct',
    100,
    [1, 100, ''],
    'Percentage of calls in the decision log.',
  ),
  parameterMask: text(
    'Logs and metrics',
    'parameter_mask',
    '*',
    'Parameters whose values are hidden in logs and explanations, and properties whose values are hidden in explanations: `*`, names separated by commas, or `none`.',
  ),
  logBufferBytes: integer(
    'Logs and metrics',
    'log_buffer_bytes',
    8 * MIB,
    [4096, GIB, 'bytes'],
    'Buffer of the decision log. Lines that do not fit are dropped and counted.',
  ),
  metricsAccess: choice(
    'Logs and metrics',
    'metrics_access',
    ['public', 'account', 'off'],
    'account',
    'Who may read `/metrics`: everybody (`public`), callers with a service-account token or the `metrics_token` (`account`), or no one (`off`).',
  ),
  metricsToken: spec<string>(
    'Logs and metrics',
    'metrics_token',
    { kind: 'tokens' },
    '',
    'Bearer token for `/metrics` only, which does not expire: for Prometheus. Two tokens are both valid, for a change without a gap. Needs `metrics_access` `account`. Empty: none.',
  ),
} as const satisfies Record<string, SettingSpec>

type Specs = typeof settingSpecs

/** The name of a setting in the program. */
export type SettingField = keyof Specs

/** The value of every setting. */
export type Settings = { readonly [F in SettingField]: Specs[F] extends { readonly default: infer V } ? V : never }

/** All settings, in the order of the reference. */
export const settingFields = Object.keys(settingSpecs) as readonly SettingField[]

/** The default of every setting. */
export const defaultSettings = Object.fromEntries(
  settingFields.map((field) => [field, settingSpecs[field].default]),
) as unknown as Settings

/** The environment variable of a setting. */
export function environmentNameOf({ name }: Pick<SettingSpec, 'name'>): string {
  return `VERDIGRAPH_${name.toUpperCase()}`
}

/** Describes the values that a rule accepts, for messages and the reference. */
export function expectationOf(rule: SettingRule): string {
  switch (rule.kind) {
    case 'text':
      return 'text'
    case 'url':
      return 'an http or https URL without query, fragment and trailing slash'
    case 'origins':
      return '`*`, or origins such as `https://app.example.org`, separated by commas'
    case 'header':
      return 'the name of an HTTP header'
    case 'choice':
      return rule.of.map((one) => `\`${one}\``).join(' or ')
    case 'tokens':
      return 'one or two tokens of 24 to 256 letters, digits and `-._~+/=`, separated by a comma'
    case 'integer':
      return `an integer from ${rule.min} to ${rule.max}${rule.unit === '' ? '' : ` ${rule.unit}`}`
  }
}

function spec<V extends string | number>(
  section: SettingSection,
  name: string,
  rule: SettingRule,
  value: V,
  description: string,
): SettingSpec<V> {
  return { name, section, rule, default: value, description }
}

function text(section: SettingSection, name: string, value: string, description: string): SettingSpec<string> {
  return spec(section, name, { kind: 'text' }, value, description)
}

function integer(
  section: SettingSection,
  name: string,
  value: number,
  [min, max, unit]: readonly [min: number, max: number, unit: string],
  description: string,
): SettingSpec<number> {
  return spec(section, name, { kind: 'integer', min, max, unit }, value, description)
}

function choice<const V extends string>(
  section: SettingSection,
  name: string,
  of: readonly V[],
  value: NoInfer<V>,
  description: string,
): SettingSpec<V> {
  return spec<V>(section, name, { kind: 'choice', of }, value, description)
}
