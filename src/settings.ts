// What can be set, its default and what it may be. Every limit of the process has its name, unit and reason here.

export interface Settings {
  readonly dataDir: string
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** Processes that share the port and the data folder. 1: this one, without others. */
  readonly workers: number
  /**
   * Helper processes for requests that are too large for the serving loop, at most; 0: everything runs in the serving
   * process. Each worker has its own. They start when they are first needed.
   */
  readonly lanes: number
  /** Requests of one project that may wait for a lane. */
  readonly laneQueueMax: number
  /** How long a request may wait for a lane, milliseconds. */
  readonly laneWaitMs: number
  /** Memory of a lane, bytes, without mapped files: an idle lane that holds more is replaced. */
  readonly laneMemoryMax: number
  /** One capture or configuration change in a lane, milliseconds. */
  readonly writeTimeMs: number
  /** Request body, bytes: 4 MiB holds a capture of 250 large nodes. */
  readonly bodyBytesMax: number
  /** Bytes of all request bodies above 64 KiB that are under way; a single one is always admitted. */
  readonly bodyTotalBytesMax: number
  /** The same of one caller: an agent, a service account, or the MCP users of one project. */
  readonly bodyCallerBytesMax: number
  /** Values of one JSON body: objects, lists and all that stands in them. */
  readonly jsonValuesMax: number
  /** How long the body of a request may take to come, milliseconds. */
  readonly bodyTimeMs: number
  /** Document of one policy, characters (facts 1.7.6); its Cypher alone may have as many. */
  readonly policyTextMax: number
  /** One string among the input parameters of a question, characters: a longer one is a payload. */
  readonly inputStringMax: number
  /** One question with all its policies, milliseconds. */
  readonly decisionTimeMs: number
  /** Rows, relationships and list items that one question may touch. */
  readonly traversalStepsMax: number
  /** Rows, groups and visited nodes that one question may keep in memory: 2 million are some 200 MB. */
  readonly rowsHeldMax: number
  /** Texts, lists and rows that one question may keep in memory, bytes by an estimate. */
  readonly questionBytesMax: number
  /** Items of one batch of evaluations. */
  readonly evaluationsMax: number
  /** An item of a batch that would begin later than this is not asked any more, milliseconds. */
  readonly batchTimeMs: number
  /** Results of one answer of a search: more of them come in pages. */
  readonly searchPageMax: number
  /** How long the token of a next page holds, seconds. */
  readonly pageTokenTimeS: number
  /** How clients reach the service (`https://pdp.example.org`); empty: by the host that they name. */
  readonly publicUrl: string
  /** File of the decision log, one line of JSON for each decision; `off`: none. */
  readonly decisionLog: string
  /** How many of a hundred calls are in the decision log. */
  readonly decisionLogPercent: number
  /** Parameters whose values nobody writes down or shows: `*`, names with commas between them, or `none`. */
  readonly parameterMask: string
  /** Lines of the decision log that wait for the disk, bytes: what comes on top of them is dropped and counted. */
  readonly logBufferBytes: number
  /** One execution of a knowledge query, milliseconds. */
  readonly executeTimeMs: number
  /** The same of a query with `batch_read` (facts 1.6.1), milliseconds. */
  readonly batchReadTimeMs: number
  /** Upserts and deletions of one execution, over all its rows: they are one transaction. */
  readonly executeWritesMax: number
  /** Characters of the values in one answer of a knowledge query. */
  readonly executeAnswerMax: number
  /** How long an MCP session may be used, seconds; after it, clients open another. */
  readonly mcpSessionTimeS: number
  /** Entries in one page of an MCP list. */
  readonly mcpPageMax: number
  /** MCP streams that listen for changes, all together in one process. */
  readonly mcpStreamsMax: number
  /** The same of one project. */
  readonly mcpProjectStreamsMax: number
  /** Items of one capture batch (facts 1.12). */
  readonly captureItemsMax: number
  /** Memory for decoded parts of one graph, bytes; each constituent of each project has its own. */
  readonly hotBytesMax: number
  /**
   * Graphs that one process has open at once; those not used for the longest time are closed and opened again at their next
   * use. 0: as many as half of the files that the process may open and half of its address space allow.
   */
  readonly graphsOpenMax: number
  /** Origins that pages may ask from, separated by commas, or `*` for every one; empty: none. */
  readonly corsOrigins: string
  /** Files of PEM, read anew when they change; both or none. */
  readonly tlsCertificate: string
  readonly tlsKey: string
  /** Seconds that a connection may be silent: longer than the idle time of usual load balancers. */
  readonly idleTimeS: number
  /** Requests of one agent in a second; 0: as many as it likes. */
  readonly agentRequestsPerS: number
  /** Requests of one agent that may come at once; 0: as many as in a second. */
  readonly agentBurst: number
  readonly descriptionAccess: Access
  readonly metricsAccess: Access
  /** One line for each answered request. */
  readonly accessLog: 'on' | 'off'
  readonly logLevel: 'info' | 'error' | 'silent'
  /** How long a stop waits for requests that are being answered, milliseconds: below the usual 10 s before a SIGKILL. */
  readonly drainMs: number
  /** CIDRs, addresses and host names, with commas, that may be called beside the public internet, without TLS too (F10). */
  readonly upstreamAllow: string
  /** One call of an issuer or a resolver, from the look-up of its name to its last byte, milliseconds. */
  readonly upstreamTimeMs: number
  /** One answer of an issuer or a resolver, bytes: key sets and claims are a few thousand. */
  readonly upstreamBytesMax: number
  /** Different requests to resolvers in one execution of a knowledge query: a page asks for each value of each row. */
  readonly resolverCallsMax: number
  /** Calls of resolvers that run at once for one project, in one process. */
  readonly resolverParallel: number
  /** For how long the answer of a resolver does for equal requests, milliseconds; 0: for the execution that asked. */
  readonly resolverCacheMs: number
}

/** Each lane is a process with memory of its own. */
const LANES_MAX = 64

/** Who may read: anybody, who shows the token of a service account, or nobody. */
export type Access = 'public' | 'account' | 'off'

export const defaultSettings: Settings = {
  dataDir: './verdigraph-data',
  host: '127.0.0.1',
  port: 8080,
  workers: 1,
  // One project never holds all of them, so there are at least two.
  lanes: Math.min(LANES_MAX, Math.max(2, navigator.hardwareConcurrency - 1)),
  laneQueueMax: 256,
  laneWaitMs: 10_000,
  laneMemoryMax: 512 * 1024 * 1024,
  writeTimeMs: 60_000,
  bodyBytesMax: 4 * 1024 * 1024,
  bodyTotalBytesMax: 256 * 1024 * 1024,
  bodyCallerBytesMax: 64 * 1024 * 1024,
  jsonValuesMax: 1_000_000,
  bodyTimeMs: 30_000,
  policyTextMax: 512_000,
  inputStringMax: 65_536,
  decisionTimeMs: 1000,
  traversalStepsMax: 20_000_000,
  rowsHeldMax: 2_000_000,
  questionBytesMax: 256 * 1024 * 1024,
  evaluationsMax: 1000,
  batchTimeMs: 10_000,
  searchPageMax: 10_000,
  pageTokenTimeS: 3600,
  publicUrl: '',
  decisionLog: 'off',
  decisionLogPercent: 100,
  parameterMask: '*',
  logBufferBytes: 8 * 1024 * 1024,
  executeTimeMs: 10_000,
  batchReadTimeMs: 300_000,
  executeWritesMax: 10_000,
  executeAnswerMax: 64 * 1024 * 1024,
  mcpSessionTimeS: 86_400,
  mcpPageMax: 100,
  mcpStreamsMax: 4096,
  mcpProjectStreamsMax: 1024,
  captureItemsMax: 250,
  hotBytesMax: 96 * 1024 * 1024,
  graphsOpenMax: 0,
  corsOrigins: '',
  tlsCertificate: '',
  tlsKey: '',
  idleTimeS: 75,
  agentRequestsPerS: 0,
  agentBurst: 0,
  descriptionAccess: 'public',
  metricsAccess: 'account',
  accessLog: 'off',
  logLevel: 'info',
  drainMs: 8000,
  upstreamAllow: '',
  upstreamTimeMs: 5000,
  upstreamBytesMax: 1024 * 1024,
  resolverCallsMax: 1000,
  resolverParallel: 16,
  resolverCacheMs: 0,
}

/** Each of them takes reader slots in every database: beyond this the limit is not the processor. */
const WORKERS_MAX = 64

export type SettingRule =
  | { readonly kind: 'text' }
  /** Of http or https, without query, fragment, credentials and a slash at its end. */
  | { readonly kind: 'url' }
  /** `https://app.example.org, http://localhost:3000`, or `*`. */
  | { readonly kind: 'origins' }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number; readonly unit: string }

export interface SettingSpec {
  /** `body_bytes_max`: the name in a settings file; `VERDIGRAPH_BODY_BYTES_MAX` in the environment. */
  readonly name: string
  readonly rule: SettingRule
  /** How the documentation shows a default that depends on the machine. */
  readonly defaultText?: string
}

const access: SettingRule = { kind: 'choice', of: ['public', 'account', 'off'] }

export const settingSpecs: Readonly<Record<keyof Settings, SettingSpec>> = {
  dataDir: { name: 'data', rule: { kind: 'text' } },
  host: { name: 'host', rule: { kind: 'text' } },
  port: { name: 'port', rule: { kind: 'integer', min: 0, max: 65_535, unit: '' } },
  workers: { name: 'workers', rule: { kind: 'integer', min: 1, max: WORKERS_MAX, unit: '' } },
  lanes: {
    name: 'lanes',
    rule: { kind: 'integer', min: 0, max: LANES_MAX, unit: '' },
    defaultText: 'cores - 1, min. 2',
  },
  laneQueueMax: { name: 'lane_queue_max', rule: { kind: 'integer', min: 1, max: 100_000, unit: ' requests' } },
  laneWaitMs: { name: 'lane_wait_ms', rule: { kind: 'integer', min: 1, max: 600_000, unit: ' milliseconds' } },
  laneMemoryMax: {
    name: 'lane_memory_max',
    rule: { kind: 'integer', min: 64 * 1024 * 1024, max: 2 ** 40, unit: ' bytes' },
  },
  writeTimeMs: { name: 'write_time_ms', rule: { kind: 'integer', min: 1, max: 3_600_000, unit: ' milliseconds' } },
  bodyBytesMax: { name: 'body_bytes_max', rule: { kind: 'integer', min: 1024, max: 1 << 30, unit: ' bytes' } },
  bodyTotalBytesMax: {
    name: 'body_total_bytes_max',
    rule: { kind: 'integer', min: 65_536, max: Number.MAX_SAFE_INTEGER, unit: ' bytes' },
  },
  bodyCallerBytesMax: {
    name: 'body_caller_bytes_max',
    rule: { kind: 'integer', min: 65_536, max: Number.MAX_SAFE_INTEGER, unit: ' bytes' },
  },
  jsonValuesMax: {
    name: 'json_values_max',
    rule: { kind: 'integer', min: 1000, max: Number.MAX_SAFE_INTEGER, unit: ' values' },
  },
  bodyTimeMs: { name: 'body_time_ms', rule: { kind: 'integer', min: 1, max: 600_000, unit: ' milliseconds' } },
  policyTextMax: { name: 'policy_text_max', rule: { kind: 'integer', min: 1, max: 512_000, unit: ' characters' } },
  inputStringMax: {
    name: 'input_string_max',
    rule: { kind: 'integer', min: 1, max: 1 << 30, unit: ' characters' },
  },
  decisionTimeMs: { name: 'decision_time_ms', rule: { kind: 'integer', min: 1, max: 600_000, unit: ' milliseconds' } },
  traversalStepsMax: {
    name: 'traversal_steps_max',
    rule: { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER, unit: ' steps' },
  },
  rowsHeldMax: {
    name: 'rows_held_max',
    rule: { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER, unit: ' rows' },
  },
  questionBytesMax: {
    name: 'question_bytes_max',
    rule: { kind: 'integer', min: 65_536, max: Number.MAX_SAFE_INTEGER, unit: ' bytes' },
  },
  evaluationsMax: { name: 'evaluations_max', rule: { kind: 'integer', min: 1, max: 100_000, unit: ' items' } },
  batchTimeMs: { name: 'batch_time_ms', rule: { kind: 'integer', min: 1, max: 600_000, unit: ' milliseconds' } },
  searchPageMax: { name: 'search_page_max', rule: { kind: 'integer', min: 1, max: 1_000_000, unit: ' results' } },
  pageTokenTimeS: {
    name: 'page_token_time_s',
    rule: { kind: 'integer', min: 1, max: 31_536_000, unit: ' seconds' },
  },
  publicUrl: { name: 'public_url', rule: { kind: 'url' } },
  decisionLog: { name: 'decision_log', rule: { kind: 'text' } },
  decisionLogPercent: { name: 'decision_log_pct', rule: { kind: 'integer', min: 1, max: 100, unit: '' } },
  parameterMask: { name: 'parameter_mask', rule: { kind: 'text' } },
  logBufferBytes: {
    name: 'log_buffer_bytes',
    rule: { kind: 'integer', min: 4096, max: 1 << 30, unit: ' bytes' },
  },
  executeTimeMs: { name: 'execute_time_ms', rule: { kind: 'integer', min: 1, max: 600_000, unit: ' milliseconds' } },
  batchReadTimeMs: {
    name: 'batch_read_time_ms',
    rule: { kind: 'integer', min: 1, max: 3_600_000, unit: ' milliseconds' },
  },
  executeWritesMax: { name: 'execute_writes_max', rule: { kind: 'integer', min: 1, max: 1_000_000, unit: ' writes' } },
  executeAnswerMax: {
    name: 'execute_answer_max',
    rule: { kind: 'integer', min: 1024, max: 1024 * 1024 * 1024, unit: ' characters' },
  },
  mcpSessionTimeS: {
    name: 'mcp_session_time_s',
    rule: { kind: 'integer', min: 1, max: 31_536_000, unit: ' seconds' },
  },
  mcpPageMax: { name: 'mcp_page_max', rule: { kind: 'integer', min: 1, max: 10_000, unit: ' entries' } },
  mcpStreamsMax: { name: 'mcp_streams_max', rule: { kind: 'integer', min: 1, max: 1_000_000, unit: ' streams' } },
  mcpProjectStreamsMax: {
    name: 'mcp_project_streams',
    rule: { kind: 'integer', min: 1, max: 1_000_000, unit: ' streams' },
  },
  captureItemsMax: { name: 'capture_items_max', rule: { kind: 'integer', min: 1, max: 100_000, unit: ' items' } },
  graphsOpenMax: { name: 'graphs_open_max', rule: { kind: 'integer', min: 0, max: 100_000, unit: ' graphs' } },
  hotBytesMax: { name: 'hot_bytes_max', rule: { kind: 'integer', min: 0, max: 1 << 30, unit: ' bytes' } },
  corsOrigins: { name: 'cors_origins', rule: { kind: 'origins' } },
  tlsCertificate: { name: 'tls_certificate', rule: { kind: 'text' } },
  tlsKey: { name: 'tls_key', rule: { kind: 'text' } },
  idleTimeS: { name: 'idle_time_s', rule: { kind: 'integer', min: 1, max: 255, unit: ' seconds' } },
  agentRequestsPerS: {
    name: 'agent_requests_per_s',
    rule: { kind: 'integer', min: 0, max: 1_000_000, unit: ' requests' },
  },
  agentBurst: { name: 'agent_burst', rule: { kind: 'integer', min: 0, max: 1_000_000, unit: ' requests' } },
  descriptionAccess: { name: 'description_access', rule: access },
  metricsAccess: { name: 'metrics_access', rule: access },
  accessLog: { name: 'access_log', rule: { kind: 'choice', of: ['on', 'off'] } },
  logLevel: { name: 'log_level', rule: { kind: 'choice', of: ['info', 'error', 'silent'] } },
  drainMs: { name: 'drain_ms', rule: { kind: 'integer', min: 0, max: 600_000, unit: ' milliseconds' } },
  upstreamAllow: { name: 'upstream_allow', rule: { kind: 'text' } },
  upstreamTimeMs: { name: 'upstream_time_ms', rule: { kind: 'integer', min: 1, max: 60_000, unit: ' milliseconds' } },
  upstreamBytesMax: {
    name: 'upstream_bytes_max',
    rule: { kind: 'integer', min: 1024, max: 1 << 30, unit: ' bytes' },
  },
  resolverCallsMax: { name: 'resolver_calls_max', rule: { kind: 'integer', min: 1, max: 100_000, unit: ' calls' } },
  resolverParallel: { name: 'resolver_parallel', rule: { kind: 'integer', min: 1, max: 1000, unit: ' calls' } },
  resolverCacheMs: {
    name: 'resolver_cache_ms',
    rule: { kind: 'integer', min: 0, max: 3_600_000, unit: ' milliseconds' },
  },
}

/** Its name in the environment. */
export function environmentNameOf({ name }: Pick<SettingSpec, 'name'>): string {
  return `VERDIGRAPH_${name.toUpperCase()}`
}
