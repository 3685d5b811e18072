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
  /** `name=value` pairs, separated by commas, with percent-encoded values (W3C Baggage). `isSecret`: masked wherever settings are printed. */
  | { readonly kind: 'pairs'; readonly isSecret: boolean }
  /** A number from 0 to 1. */
  | { readonly kind: 'share' }
  /** A folder or `s3://bucket/prefix`, without credentials. */
  | { readonly kind: 'place' }
  /** The URL of a Bolt server, or of one of its databases, without credentials. */
  | { readonly kind: 'database' }
  /** Text that is masked wherever settings are printed. */
  | { readonly kind: 'secret' }
  /** Five or six fields, as croner reads them. */
  | { readonly kind: 'cron' }
  /** Public keys of age identities, separated by commas. */
  | { readonly kind: 'recipients' }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number; readonly unit: string }

/** The declaration of one setting. */
export interface SettingSpec<V extends string | number = string | number> {
  /** Name in a settings file, such as `body_bytes_max`; the environment variable is `VERDIGRAPH_BODY_BYTES_MAX`. */
  readonly name: string
  /** The environment variable, if another specification defines it. */
  readonly environment?: string
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
  'Backups',
  'Network',
  'Lanes',
  'Request bodies',
  'Decisions and searches',
  'Knowledge queries and captures',
  'MCP',
  'External calls',
  'Graphs in database servers',
  'Events',
  'Audit',
  'Logs and metrics',
  'Traces',
] as const
/** A section of the settings reference. */
type SettingSection = (typeof settingSections)[number]

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
  supervisor: choice(
    'Process and storage',
    'supervisor',
    ['auto', 'on'],
    'auto',
    'A process that starts the workers, replaces one that ends, and performs rolling restarts (`verdigraph restart`). `auto`: only with several workers. `on`: also with one.',
  ),
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

  backupFolder: text(
    'Backups',
    'backup_folder',
    '',
    'The folder for backups on request: `POST /operations/v1/backups` and the console. Do not put it into the data folder; another disk is better. It is created if it does not exist. Empty: no backups on request.',
  ),
  backupTo: spec<string>(
    'Backups',
    'backup_to',
    { kind: 'place' },
    '',
    'Where scheduled backups go: a folder, or `s3://bucket/prefix`. Each service needs a prefix of its own. An S3-compatible server is reached with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL_S3 of the environment. Empty: `backup_folder`.',
  ),
  backupSchedule: spec<string>(
    'Backups',
    'backup_schedule',
    { kind: 'cron' },
    '',
    'When backups are made: a cron pattern in UTC, such as `30 2 * * *`. A backup that was due while the service was stopped is made once, after the start; one that fails is repeated after 1 minute, and later with delays of up to 1 hour. Empty: never.',
  ),
  backupKeep: integer(
    'Backups',
    'backup_keep',
    7,
    [1, 1000, 'backups'],
    'The scheduled backups that are kept. Older ones are removed after a new one was made, and verified if `backup_verify` is `on`. The newest one that was found to be sound is never removed.',
  ),
  backupVerify: choice(
    'Backups',
    'backup_verify',
    ['on', 'off'],
    'on',
    '`on`: each scheduled backup is read back from its place, unpacked and verified completely. An encrypted one needs `backup_identity`; without it, the stored bytes are compared with those that were written.',
  ),
  backupRecipients: spec<string>(
    'Backups',
    'backup_recipients',
    { kind: 'recipients' },
    '',
    'Public keys (`age1…`), separated by commas, for which backups are encrypted in the age format: those of the schedule, on request and of `verdigraph backup`. Empty: backups are not encrypted.',
  ),
  backupIdentity: text(
    'Backups',
    'backup_identity',
    '',
    'File with the age identity (private key) for verifications and drills of encrypted backups by the service. Without it the service can write encrypted backups, and not read them.',
  ),
  backupWorkFolder: text(
    'Backups',
    'backup_work_folder',
    '',
    'Existing folder for the temporary copies of backups, verifications and drills. Empty: `backup_folder`; without it, the folder of `backup_to`, or for a bucket the data folder.',
  ),
  drillSchedule: spec<string>(
    'Backups',
    'drill_schedule',
    { kind: 'cron' },
    '',
    'When the newest scheduled backup is restored to a temporary folder, verified and asked sample questions: a cron pattern in UTC. Empty: only with `verdigraph drill`.',
  ),
  drillQuestions: text(
    'Backups',
    'drill_questions',
    '',
    'File with the questions of scheduled drills, one line of JSON each, with the expected decisions. Empty: decisions are sampled from the policies and data of the backup.',
  ),
  shipTo: spec<string>(
    'Backups',
    'ship_to',
    { kind: 'place' },
    '',
    'Where changes are shipped while the service runs, so that any moment can be restored: a folder, or `s3://bucket/prefix`, with the credentials of `backup_to`. It may be the place of the backups. Each service needs a prefix of its own. Encrypted for `backup_recipients`. Empty: changes are not shipped.',
  ),
  shipIntervalMs: integer(
    'Backups',
    'ship_interval_ms',
    5000,
    [200, 10_000, 'milliseconds'],
    'How often changes are shipped. At a disaster, changes are lost of this time and of the time of an upload.',
  ),
  shipGenerationHours: integer(
    'Backups',
    'ship_generation_hours',
    24,
    [1, 720, 'hours'],
    'How often all data is shipped again, as the base of the changes that follow. A restore reads one base and the changes after it.',
  ),
  shipKeepHours: integer(
    'Backups',
    'ship_keep_hours',
    168,
    [1, 87_600, 'hours'],
    'How far back any moment can be restored. Older bases and changes are removed after the next base.',
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
    'The URL that clients reach the service at, such as `https://pdp.example.org`. Empty: taken from the `Host` header; a sign-in link of the console is then made for addresses of this machine only.',
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
  console: choice(
    'Network',
    'console',
    ['auto', 'on', 'off'],
    'auto',
    'The console at `/console`, a page to look at the graph and to ask for decisions. `auto`: only if `host`, and `public_url` if it is set, are loopback addresses. `off`: neither the page nor its sign-in exists.',
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
    'Total size of all request bodies above 64 KiB that are being received or processed. More get status 503; bodies of one caller beyond a quarter of it get status 429. A single body is always admitted.',
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
  watchStreamsMax: integer(
    'Decisions and searches',
    'watch_streams_max',
    10_000,
    [0, 1_000_000, 'streams'],
    'Open change streams (`GET /access/v1/watch`) in each process. One project may have a fifth of them.',
  ),
  mcpStreamsMax: integer(
    'MCP',
    'mcp_streams_max',
    4096,
    [1, 1_000_000, 'streams'],
    'Open MCP notification streams in each process. One project may have a quarter of them, and one user a quarter of those.',
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

  databaseConnectionsMax: integer(
    'Graphs in database servers',
    'database_connections_max',
    32,
    [1, 1000, 'connections'],
    'Connections to one database server, in each process.',
  ),
  databaseConnectTimeMs: integer(
    'Graphs in database servers',
    'database_connect_time_ms',
    5000,
    [100, 60_000, 'milliseconds'],
    'Time limit for opening a connection to a database server, and for waiting for a free one.',
  ),
  databaseTimeMs: integer(
    'Graphs in database servers',
    'database_time_ms',
    30_000,
    [100, 600_000, 'milliseconds'],
    'Time limit of one transaction that writes to a database server. Reads have the time limit of their request.',
  ),
  databaseRetryMs: integer(
    'Graphs in database servers',
    'database_retry_ms',
    15_000,
    [0, 600_000, 'milliseconds'],
    'Time in which a write to a database server is repeated after a deadlock or a change of the leader.',
  ),
  configStore: spec<string>(
    'Graphs in database servers',
    'config_store',
    { kind: 'database' },
    '',
    'The database with the configuration, for several instances that share it, such as `neo4j+s://graph.example.org/neo4j`. All instances need the same master key, and all graphs must be in database servers. Empty: the data folder has the configuration.',
  ),
  configStoreUsername: text(
    'Graphs in database servers',
    'config_store_username',
    '',
    'The user of `config_store`. Empty: the server asks for no credentials.',
  ),
  configStorePassword: spec<string>(
    'Graphs in database servers',
    'config_store_password',
    { kind: 'secret' },
    '',
    'The password of that user.',
  ),
  configStoreAgeMaxMs: integer(
    'Graphs in database servers',
    'config_store_age_max_ms',
    1000,
    [500, 60_000, 'milliseconds'],
    'How old the configuration may be with which an instance answers. It looks for changes five times a second. If `config_store` does not answer, requests wait, and are refused with 503 after three seconds.',
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
  metricsTokenFile: text(
    'Logs and metrics',
    'metrics_token_file',
    '',
    'A file with one or two such tokens, each in a line, which `verdigraph metrics-token` writes. It is read again when it changes, so that a token is changed without a restart. Not together with `metrics_token`. Empty: none.',
  ),

  otlpEndpoint: otel(
    spec<string>(
      'Traces',
      'otlp_endpoint',
      { kind: 'url' },
      '',
      'The URL of a collector of OpenTelemetry, such as `http://collector:4318`: spans are sent to `/v1/traces` below it. Empty, and `otlp_traces_endpoint` too: requests are not traced.',
    ),
    'OTEL_EXPORTER_OTLP_ENDPOINT',
  ),
  otlpTracesEndpoint: otel(
    spec<string>(
      'Traces',
      'otlp_traces_endpoint',
      { kind: 'url' },
      '',
      'The whole URL that spans are sent to, instead of `otlp_endpoint`.',
    ),
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  ),
  otlpHeaders: otel(
    spec<string>(
      'Traces',
      'otlp_headers',
      { kind: 'pairs', isSecret: true },
      '',
      'Headers that are sent to the collector, such as `authorization=Bearer%20…`. Needs one of the endpoints.',
    ),
    'OTEL_EXPORTER_OTLP_HEADERS',
  ),
  otlpProtocol: otel(
    choice('Traces', 'otlp_protocol', ['http/json'], 'http/json', 'How spans are encoded.'),
    'OTEL_EXPORTER_OTLP_PROTOCOL',
  ),
  otlpTimeoutMs: otel(
    integer(
      'Traces',
      'otlp_timeout',
      10_000,
      [1, 600_000, 'milliseconds'],
      'Time limit of one request to the collector, with its repetitions.',
    ),
    'OTEL_EXPORTER_OTLP_TIMEOUT',
  ),
  tracesExporter: otel(
    choice('Traces', 'traces_exporter', ['otlp', 'none'], 'otlp', '`none`: requests are not traced.'),
    'OTEL_TRACES_EXPORTER',
  ),
  tracesDisabled: otel(
    choice('Traces', 'otel_disabled', ['true', 'false'], 'false', '`true`: requests are not traced.'),
    'OTEL_SDK_DISABLED',
  ),
  tracesSampler: otel(
    choice(
      'Traces',
      'traces_sampler',
      [
        'always_on',
        'always_off',
        'traceidratio',
        'parentbased_always_on',
        'parentbased_always_off',
        'parentbased_traceidratio',
      ],
      'parentbased_always_on',
      'Which requests are traced. `parentbased_…`: the header `traceparent` of the caller decides, and the rest of the name only without this header.',
    ),
    'OTEL_TRACES_SAMPLER',
  ),
  tracesSamplerShare: otel(
    spec<number>(
      'Traces',
      'traces_sampler_arg',
      { kind: 'share' },
      1,
      'The share of traces for `traceidratio` and `parentbased_traceidratio`.',
    ),
    'OTEL_TRACES_SAMPLER_ARG',
  ),
  otelServiceName: otel(
    text('Traces', 'otel_service_name', 'verdigraph', 'The name of the service in traces.'),
    'OTEL_SERVICE_NAME',
  ),
  otelResource: otel(
    spec<string>(
      'Traces',
      'otel_resource_attributes',
      { kind: 'pairs', isSecret: false },
      '',
      'Attributes of the process in traces, such as `deployment.environment.name=production`.',
    ),
    'OTEL_RESOURCE_ATTRIBUTES',
  ),
  spanQueueMax: otel(
    integer(
      'Traces',
      'span_queue_max',
      2048,
      [1, 1_000_000, 'spans'],
      'Spans of one process that wait to be sent. More are dropped and counted.',
    ),
    'OTEL_BSP_MAX_QUEUE_SIZE',
  ),
  spanBatchMax: otel(
    integer('Traces', 'span_batch_max', 512, [1, 10_000, 'spans'], 'Spans of one request to the collector.'),
    'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  ),
  spanDelayMs: otel(
    integer(
      'Traces',
      'span_delay',
      5000,
      [1, 600_000, 'milliseconds'],
      'How long a span waits for others before they are sent together.',
    ),
    'OTEL_BSP_SCHEDULE_DELAY',
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
export function environmentNameOf({ name, environment }: Pick<SettingSpec, 'name' | 'environment'>): string {
  return environment ?? `VERDIGRAPH_${name.toUpperCase()}`
}

/** Whether the value of a setting is masked wherever settings are printed. */
export function isSecretRule(rule: SettingRule): boolean {
  return rule.kind === 'tokens' || rule.kind === 'secret' || (rule.kind === 'pairs' && rule.isSecret)
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
    case 'pairs':
      return 'pairs such as `name=value`, separated by commas, with percent-encoded values'
    case 'share':
      return 'a number from 0 to 1'
    case 'place':
      return 'a folder, or `s3://bucket/prefix` without credentials'
    case 'database':
      return 'the URL of a server or database such as `bolt://host:7687/name`, without credentials'
    case 'secret':
      return 'text'
    case 'cron':
      return 'a cron pattern such as `30 2 * * *`'
    case 'recipients':
      return 'public keys of age identities (`age1…`), separated by commas'
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

/** A setting whose environment variable OpenTelemetry defines. */
function otel<V extends string | number>(declared: SettingSpec<V>, environment: string): SettingSpec<V> {
  return { ...declared, environment }
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
