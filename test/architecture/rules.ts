// The architecture rules as data: layers, what each may import, entry points and files that only tests import.
// import-graph.ts checks them.

export interface LayerRule {
  /** Path prefixes (ending in `/`) or whole paths; the first rule that matches a file applies to it. */
  readonly files: readonly string[]
  /** Prefixes (ending in `/`) and whole paths of the repository, and package names (`node:` for all of Node's modules). */
  readonly mayImport: readonly string[]
  /** Printed with a violation. */
  readonly sentence: string
  /** Words that must not occur in the code of this layer, outside comments. */
  readonly forbiddenWords?: readonly { readonly word: RegExp; readonly why: string }[]
}

const engineEntryPoints = [
  'src/engine/budget.ts',
  'src/engine/graph.ts',
  'src/engine/conditions.ts',
  'src/engine/condition-rows.ts',
  'src/engine/store.ts',
  'src/engine/errors.ts',
  'src/engine/impossible-literals.ts',
  'src/engine/open-exclusions.ts',
  'src/engine/parameter-places.ts',
  'src/engine/unknown-symbols.ts',
  'src/engine/value-joins.ts',
  'src/engine/value/',
]
const sharedTypes = [
  'src/config/kind.ts',
  // Two features update what they derive from their kinds when the configuration changes, both through this cache.
  'src/config/per-project-cache.ts',
  // The mapping of a project's locations, and the error for a location that is not in it.
  'src/config/db-connection.ts',
  'src/config/validate.ts',
  // The schema of objects with any members, a component of the OpenAPI document.
  'src/config/json-schema.ts',
  // The schemas of the names in nodes and relationships, the same in all features.
  'src/config/element-schemas.ts',
  'src/kernel/caller.ts',
  // The port to the graphs of a project: types only.
  'src/store/tenancy/project-graphs.ts',
]
const feature = ['grammar/diagnostic.ts', 'src/kernel/', ...engineEntryPoints, ...sharedTypes, 'zod']
const features = [
  'policy',
  'pdp',
  'context-query',
  'capture',
  'trust',
  'pip',
  'identity',
  'config',
  'events',
  'audit',
  'matching',
  'graph-statistics',
  'graph-query',
]
const everything = [
  'grammar/',
  'src/',
  'data/',
  'package.json',
  'node:',
  'bun',
  'bun:ffi',
  'zod',
  'commander',
  // latencies of the command `bench`, and one of its peers
  'hdr-histogram-js',
  'neo4j-driver-lite',
  'jose',
  // what a release contains
  '@cyclonedx/cyclonedx-library',
  'spdx-expression-parse',
  'spdx-license-list',
  'tar-stream',
  'picocolors',
  'vscode-languageserver',
  'esbuild',
  'vitest',
]

const synchronous = [
  { word: /\bawait\b|\basync\b/, why: 'the engine is synchronous' },
  { word: /\bDate\.now\b|\bnew Date\(\)/, why: 'the engine reads no clock of its own' },
  { word: /\bMath\.random\b/, why: 'the engine generates no random numbers' },
  { word: /\bconsole\./, why: 'the engine writes no log' },
  { word: /^(export )?let /m, why: 'the engine has no module-level mutable state: pass it' },
  { word: /^(export )?const [^=\n]*= new Weak(Map|Set)/m, why: 'the engine has no module-level cache: pass it' },
]

export const layerRules: readonly LayerRule[] = [
  {
    files: ['grammar/'],
    mayImport: ['grammar/', 'chevrotain', 'fastest-levenshtein'],
    sentence: 'grammar imports chevrotain, fastest-levenshtein and itself, and nothing of src',
  },
  {
    files: ['src/kernel/'],
    mayImport: ['src/kernel/', 'fastest-levenshtein', 'croner', 'yaml', 'node:async_hooks'],
    sentence:
      'kernel imports nothing but itself, fastest-levenshtein for suggestions, croner for schedules, yaml for texts with a limit of depth, and node:async_hooks for the reads of remote graphs',
  },
  {
    files: ['src/engine/value/'],
    mayImport: [
      'src/engine/value/',
      'src/engine/errors.ts',
      'src/engine/store.ts',
      'src/engine/budget.ts',
      'src/kernel/',
      'grammar/value-types.ts',
      're2js',
    ],
    sentence:
      'engine/value imports values, the names of their types, the budget, the store port and re2js (regular expressions in linear time); never engine/exec, which imports it, and no query or plan',
    // rand() is a function of Cypher, and this layer implements Cypher's functions.
    forbiddenWords: synchronous.filter(({ why }) => !why.includes('random')),
  },
  {
    files: ['src/engine/bind/'],
    mayImport: [
      'src/engine/bind/',
      'src/engine/value/',
      'src/engine/errors.ts',
      'src/engine/store.ts',
      'grammar/',
      'src/kernel/',
    ],
    sentence: 'engine/bind imports the grammar, values and the types of the store port; no plan or operator',
    forbiddenWords: synchronous,
  },
  {
    files: ['src/engine/plan/', 'src/engine/optimize/'],
    mayImport: [
      'src/engine/plan/',
      'src/engine/optimize/',
      'src/engine/bind/',
      'src/engine/value/',
      'src/engine/errors.ts',
      'grammar/',
      'src/kernel/',
    ],
    sentence:
      'engine/plan and engine/optimize never import exec or store.ts: a plan is data, only exec touches a snapshot',
    forbiddenWords: synchronous,
  },
  {
    files: ['src/engine/'],
    mayImport: ['src/engine/', 'grammar/', 'src/kernel/'],
    sentence: 'engine imports grammar, kernel and itself: no zod, no node:*, no lmdb, no layer above',
    forbiddenWords: synchronous,
  },
  {
    files: ['src/bolt/print/'],
    mayImport: ['src/bolt/print/', 'src/engine/', 'src/kernel/'],
    sentence:
      'bolt/print turns bound queries into text for a server: it imports the engine and kernel, and no driver or store',
    forbiddenWords: synchronous,
  },
  {
    files: ['src/bolt/'],
    mayImport: [
      'src/bolt/',
      'src/engine/',
      'src/store/format/',
      'src/store/graph/element-edits.ts',
      'src/store/graph/element-checks.ts',
      'src/store/graph/element-images.ts',
      'src/store/graph/fill-chunk.ts',
      'src/store/graph/property-edits.ts',
      'src/store/graph/symbols.ts',
      'src/store/tenancy/project-graphs.ts',
      'src/kernel/',
      'neo4j-driver-lite',
    ],
    sentence:
      'bolt implements the graph port over a database server: it imports the engine, kernel, the driver and what both implementations share, and no feature; no feature imports it',
  },
  {
    files: ['src/store/format/'],
    mayImport: ['src/store/format/', 'src/engine/store.ts', 'src/engine/value/', 'src/kernel/'],
    sentence: 'store/format encodes values and keys: no LMDB, no files',
  },
  {
    files: ['src/store/process/'],
    mayImport: ['src/store/process/', 'src/kernel/', 'node:', 'bun:sqlite', 'bun:ffi'],
    sentence: 'store/process coordinates processes on one data folder: locks and counters, no graph',
  },
  {
    files: ['src/store/pages/'],
    mayImport: ['src/store/pages/', 'src/kernel/', 'node:'],
    sentence: 'store/pages reads the pages of an LMDB file without LMDB',
  },
  {
    files: ['src/store/lmdb/'],
    mayImport: [
      'src/store/lmdb/',
      'src/store/format/',
      'src/store/process/',
      'src/store/pages/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
      'lmdb',
      'node:',
    ],
    sentence: 'store/lmdb wraps lmdb: only format, process and pages lie below it',
  },
  {
    files: ['src/store/cache/'],
    mayImport: [
      'src/store/cache/',
      'src/store/lmdb/',
      'src/store/format/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
    ],
    sentence: 'store/cache imports format and lmdb',
  },
  {
    files: ['src/store/outbox/'],
    mayImport: ['src/store/outbox/', 'src/store/lmdb/', 'src/store/format/', 'src/kernel/'],
    sentence: 'store/outbox imports format and lmdb: it stores events as bytes and does not interpret them',
  },
  {
    files: ['src/store/audit/'],
    mayImport: ['src/store/audit/', 'src/store/lmdb/', 'src/store/format/', 'src/kernel/'],
    sentence: 'store/audit imports format and lmdb: it stores what is sealed, and neither seals nor reads entries',
  },
  {
    files: ['src/store/integrity/'],
    mayImport: [
      'src/store/integrity/',
      'src/store/outbox/',
      'src/store/audit/',
      'src/store/lmdb/',
      'src/store/pages/',
      'src/store/format/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
      'node:',
    ],
    sentence: 'store/integrity imports format, pages and lmdb: it checks what the graph is made of',
  },
  {
    files: ['src/store/documents/'],
    mayImport: ['src/store/documents/', 'src/store/outbox/', 'src/store/lmdb/', 'src/store/format/', 'src/kernel/'],
    sentence: 'store/documents imports format, lmdb and outbox, and nothing of graphs',
  },
  {
    files: ['src/store/graph/'],
    mayImport: [
      'src/store/graph/',
      'src/store/outbox/',
      'src/store/cache/',
      'src/store/integrity/',
      'src/store/lmdb/',
      'src/store/memory/',
      'src/store/sorting/',
      'src/store/format/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
    ],
    sentence: 'store/graph imports format, lmdb, memory, sorting, cache and integrity; never tenancy',
  },
  {
    files: ['src/store/sorting/'],
    mayImport: ['src/store/sorting/', 'src/store/format/', 'src/engine/store.ts', 'src/kernel/', 'node:'],
    sentence: 'store/sorting sorts entries in files of its own, without LMDB',
  },
  {
    files: ['src/store/memory/'],
    mayImport: ['src/store/memory/', 'src/store/lmdb/', 'src/store/format/', 'src/kernel/'],
    sentence: 'store/memory implements the file of an environment without LMDB: it imports its types, and format',
  },
  {
    files: ['src/store/tenancy/'],
    mayImport: [
      'src/store/tenancy/',
      'src/store/graph/',
      'src/store/outbox/',
      'src/store/integrity/',
      'src/store/lmdb/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
      'node:',
    ],
    sentence: 'store/tenancy maps projects to graphs: it is the top of the store',
  },
  {
    files: ['src/store/'],
    mayImport: [],
    sentence: 'files directly in store import no other file of it',
  },
  {
    files: ['src/upstream/'],
    mayImport: ['src/upstream/', 'src/kernel/', 'ipaddr.js', 'jose', 'zod', 'node:dns/promises'],
    sentence:
      'upstream makes outgoing requests and decides about their addresses; it imports kernel, ipaddr.js to classify addresses, node:dns to resolve them, and jose and zod for tokens of service accounts',
  },
  {
    files: ['src/policy/'],
    mayImport: ['src/policy/', ...feature],
    sentence:
      'a feature imports kernel, the engine’s entry points, zod and the shared types; policy imports no other feature',
  },
  {
    files: ['src/pdp/'],
    mayImport: ['src/pdp/', 'src/policy/', ...feature, 'lru-cache'],
    sentence:
      'a feature imports kernel, the engine’s entry points, zod and the shared types; pdp also lru-cache, and no other feature than policy',
  },
  {
    files: ['src/context-query/'],
    mayImport: ['src/context-query/', 'src/policy/', 'src/pip/', 'src/identity/', ...feature],
    sentence:
      'a feature imports kernel, the engine’s entry points, zod and the shared types; context-query also policy, pip and identity',
  },
  {
    files: ['src/identity/'],
    mayImport: [
      'src/identity/',
      'src/upstream/client.ts',
      ...feature,
      'jose',
      'lru-cache',
      'node:crypto',
      'node:fs',
      'node:path',
    ],
    sentence:
      'identity imports kernel, the engine’s entry points, the shared types, zod, jose, lru-cache, node:crypto, node:fs for the master key, and upstream for requests to issuers; no other feature',
  },
  {
    files: ['src/config/'],
    mayImport: ['src/config/', ...feature, 'immutable', 'node:crypto'],
    sentence:
      'a feature imports its own folder, kernel, the engine’s entry points, zod and the shared types; config also immutable, and node:crypto for ETags; identity imports config, and config never imports identity',
  },
  {
    files: ['src/pip/'],
    mayImport: ['src/pip/', 'src/upstream/client.ts', ...feature, 'lru-cache', 'p-limit'],
    sentence:
      'pip imports kernel, the engine’s entry points, the shared types, zod, lru-cache, p-limit, and upstream for requests to resolvers; no other feature',
  },
  {
    files: ['src/events/providers/'],
    mayImport: [
      'src/events/providers/',
      'src/upstream/client.ts',
      'src/upstream/destinations.ts',
      'src/upstream/service-account.ts',
      ...feature,
      '@platformatic/kafka',
      'rhea',
      'ipaddr.js',
      'node:crypto',
      'node:net',
      'node:tls',
    ],
    sentence:
      'events/providers sends events: it imports kernel, the shared types, zod, upstream, the clients of brokers, and node:net and node:tls to connect them to checked addresses; nothing of delivery',
  },
  {
    files: ['src/events/delivery/'],
    mayImport: ['src/events/', 'src/store/outbox/', ...feature],
    sentence:
      'events/delivery imports events, the outbox that it delivers, kernel and the shared types; never http or app',
  },
  {
    files: ['src/events/streams/'],
    mayImport: [
      'src/kernel/',
      'src/config/kind.ts',
      'src/config/validate.ts',
      'src/engine/store.ts',
      'src/events/',
      'src/store/graph/write-batch.ts',
      'src/store/outbox/outbox.ts',
      'src/store/tenancy/catalog.ts',
      'zod',
    ],
    sentence:
      'events/streams reads the events of all graphs of a folder: it imports events, the outboxes of the store, kernel and the shared types',
  },
  {
    files: ['src/events/operations/'],
    mayImport: [
      'src/kernel/',
      'src/config/',
      'src/events/',
      'src/ops/service-metrics.ts',
      'src/store/outbox/dead-letters.ts',
      'src/store/outbox/outbox-format.ts',
      'zod',
    ],
    sentence:
      'events/operations has what administrators do with an event sink, and its state: it imports events, the outboxes of the store, kernel, the shared types and types of metrics',
  },
  {
    files: ['src/events/recorders/'],
    mayImport: [
      'src/kernel/',
      'src/audit/values-digest.ts',
      'src/config/',
      'src/context-query/execute.ts',
      'src/engine/store.ts',
      'src/events/',
      'src/graph-query/query-operations.ts',
      'src/identity/user-tokens.ts',
      'src/matching/',
      'src/pdp/',
      'src/policy/authorization-policy.ts',
      'src/policy/policy-index.ts',
      'src/trust/trust-score-profile.ts',
      'src/trust/trust-scoring.ts',
      'node:os',
      'node:util',
    ],
    sentence:
      'events/recorders records what the features did: it imports the types of what each feature reports, events, kernel, node:os for the user of a command, and node:util',
  },
  {
    files: ['src/audit/customer-keys/'],
    mayImport: [
      'src/audit/customer-keys/',
      'src/audit/log/',
      'src/upstream/client.ts',
      'src/upstream/service-account.ts',
      'src/events/providers/error-text.ts',
      'src/kernel/',
      'aws4fetch',
      'node:crypto',
      'node:timers/promises',
    ],
    sentence:
      'audit/customer-keys calls key services of customers: it imports kernel, upstream, the texts of errors, aws4fetch to sign requests and node:crypto',
  },
  {
    files: ['src/matching/linkage/'],
    mayImport: ['src/matching/linkage/', 'src/kernel/'],
    sentence: 'matching/linkage compares values: it imports kernel and itself',
  },
  {
    files: ['src/graph-query/'],
    mayImport: ['src/graph-query/', 'src/engine/rows-query.ts', ...feature],
    sentence:
      'graph-query runs queries that read the graph: it imports rows of the engine, kernel, zod and the shared types; no other feature',
  },
  {
    files: ['src/trust/'],
    mayImport: ['src/trust/', ...feature],
    sentence: 'a feature imports its own folder, kernel, the engine’s entry points, zod and the shared types',
  },
  {
    files: ['src/audit/log/'],
    mayImport: ['src/audit/log/', 'src/kernel/', 'lru-cache', 'node:crypto', 'node:fs/promises', 'node:path'],
    sentence:
      'audit/log writes and verifies transparency logs in folders: it imports kernel, lru-cache, node:crypto, node:fs/promises and node:path, and nothing of the service',
  },
  {
    files: ['src/audit/seal/'],
    mayImport: [
      'src/audit/',
      'src/events/',
      'src/store/audit/',
      'src/store/outbox/',
      ...feature,
      'node:crypto',
      'node:fs/promises',
      'node:path',
    ],
    sentence:
      'audit/seal seals the records of outboxes in logs: it imports audit, events, the outbox and the index of the logs, kernel and the shared types; never http or app',
  },
  {
    files: ['src/audit/read/'],
    mayImport: [
      'src/audit/',
      'src/events/event-types.ts',
      'src/store/audit/',
      ...feature,
      'lru-cache',
      'node:crypto',
      'node:path',
    ],
    sentence:
      'audit/read reads sealed logs for auditors: it imports audit, the types of events, the index of the logs, kernel and the shared types; never http or app',
  },
  {
    files: [
      'src/audit/audit-entry.ts',
      'src/audit/entry-memory.ts',
      'src/audit/entry-terms.ts',
      'src/audit/values-digest.ts',
    ],
    mayImport: [
      'src/events/envelope.ts',
      'src/events/event-record.ts',
      'src/audit/entry-memory.ts',
      'src/audit/entry-terms.ts',
      'src/store/audit/audit-types.ts',
      ...feature,
      'node:crypto',
    ],
    sentence:
      'entries of the audit log are built from the records and envelopes of events, hashed with node:crypto, and described by the terms of the index',
  },
  {
    files: features
      .filter((name) => !['policy', 'pdp', 'context-query', 'pip', 'identity', 'config'].includes(name))
      .map((name) => `src/${name}/`),
    mayImport: ['(own folder)', ...feature],
    sentence:
      'a feature imports its own folder, kernel, the engine’s entry points, zod and the shared types; never http, store or another feature',
  },
  {
    files: ['src/language/server/'],
    mayImport: [
      'src/language/',
      'src/engine/',
      'grammar/',
      'chevrotain',
      'vscode-languageserver',
      'vscode-languageserver-textdocument',
    ],
    sentence:
      'language/server serves editors: it imports language, the engine for plans, and the language server packages; it reads no files',
  },
  {
    files: ['src/language/'],
    mayImport: [
      'src/language/format/',
      'src/language/lint/',
      'src/language/source/',
      'src/policy/',
      'src/engine/bind/',
      'src/engine/value/',
      'src/engine/prepared-query.ts',
      'src/engine/impossible-literals.ts',
      'src/engine/open-exclusions.ts',
      'src/engine/parameter-places.ts',
      'src/engine/unknown-symbols.ts',
      'src/graph-statistics/schema.ts',
      'grammar/',
      'src/kernel/',
      'chevrotain',
      'yaml',
    ],
    sentence:
      'language checks and formats texts: it imports the grammar, bound queries, policies and the data schema, and yaml; no graph and no files',
  },
  {
    files: ['src/http/docs/'],
    mayImport: ['src/http/docs/', 'src/http/openapi/', 'node:crypto', 'node:fs', 'node:path', 'marked', 'minisearch'],
    sentence: 'http/docs renders docs/ and the OpenAPI document: node:fs to read the pages, marked and minisearch',
  },
  {
    files: ['src/http/listener/'],
    mayImport: [
      'src/kernel/',
      'src/http/',
      'src/ops/certificate.ts',
      'src/ops/log.ts',
      'src/processes/parent-death.ts',
      'src/settings.ts',
      'bun:ffi',
      'node:fs',
    ],
    sentence:
      'http/listener opens the port of a process and hands it over: it imports the server of http, settings, certificate and log, and bun:ffi for the filter of a shared port',
  },
  {
    files: ['src/http/'],
    mayImport: [
      'src/http/',
      'src/mcp/',
      'src/kernel/',
      ...features.map((name) => `src/${name}/`),
      'zod',
      'bun',
      'node:crypto',
      'node:net',
    ],
    sentence:
      'http imports features, mcp (whose endpoint is a route like any other), kernel and zod, node:crypto, and node:net to recognize addresses; never engine or store',
  },
  {
    files: ['src/console/page/'],
    mayImport: [
      'src/console/page/',
      'src/kernel/backoff.ts',
      'src/kernel/invisible-characters.ts',
      'src/openapi/types.ts',
      'grammar/words.ts',
      'preact',
      'd3-force',
      '@codemirror/',
      '@lezer/highlight',
      'diff',
      'uplot',
    ],
    sentence:
      'console/page runs in browsers: it imports preact, the graph, editor and chart libraries, the keywords of the grammar, the types of the HTTP interface, the delays of repetitions and the table of invisible characters; no other file of the service',
  },
  {
    files: ['src/console/'],
    mayImport: [
      'src/console/access.ts',
      'src/console/origin.ts',
      'src/console/own-host.ts',
      'src/console/page-files.ts',
      'src/console/page-html.ts',
      'src/console/session-cookie.ts',
      'src/console/sessions.ts',
      'src/console/sign-in-link.ts',
      'src/http/authenticate.ts',
      'src/http/route.ts',
      'src/identity/',
      'src/config/kind.ts',
      'src/kernel/',
      'src/settings.ts',
      'zod',
      'jose',
      'node:crypto',
      'node:os',
      'node:path',
      'node:util',
      'node:zlib',
    ],
    sentence:
      'console serves its page and its sessions: it imports the types of routes, identity, kernel and zod; the page calls the public API for everything else',
  },
  {
    files: ['src/processes/'],
    mayImport: [
      'src/processes/',
      'src/kernel/',
      'src/ops/log.ts',
      'src/store/process/shared-counter.ts',
      'bun:ffi',
      'node:fs',
      'node:os',
      'node:path',
    ],
    sentence:
      'processes starts, watches and stops child processes, and is their other side: it imports kernel, the log, shared memory and bun:ffi; never what a process works on',
  },
  {
    files: ['src/lanes/'],
    mayImport: [
      'src/lanes/',
      'src/processes/',
      'src/http/dispatch.ts',
      'src/http/lane-job.ts',
      'src/http/route.ts',
      'src/kernel/',
      'node:fs',
      'node:net',
    ],
    sentence:
      'lanes run requests in helper processes: they import the port of the dispatcher, processes, kernel and node:net; never a feature',
  },
  {
    files: ['src/backup/places/'],
    mayImport: [
      'src/backup/places/',
      'src/kernel/',
      'src/transfer/files/',
      'aws4fetch',
      'node:crypto',
      'node:fs',
      'node:path',
      'node:stream',
      'node:stream/promises',
      'node:timers/promises',
      'node:url',
    ],
    sentence:
      'backup/places stores objects in folders and buckets: it imports kernel, staging folders and aws4fetch, and does not know what is in the objects',
  },
  {
    files: ['src/backup/shipping/'],
    mayImport: [
      'src/kernel/',
      'src/audit/log/',
      'src/backup/',
      'src/processes/supervised.ts',
      'src/store/audit/audit-index.ts',
      'src/store/audit/audit-types.ts',
      'src/store/integrity/verify-folder.ts',
      'src/store/lmdb/',
      'src/store/process/leader-election.ts',
      'src/store/process/shared-counter.ts',
      'src/transfer/files/database-folders.ts',
      'src/transfer/files/sync-path.ts',
      'node:crypto',
      'node:fs',
      'node:path',
      'node:stream',
      'node:stream/promises',
      'node:zlib',
      'zod',
    ],
    sentence:
      'backup/shipping ships changes to a place and restores them: it imports backups and their places, consistent cuts of the store, the files of audit logs, and kernel; never http, policies or decisions',
  },
  {
    files: ['src/backup/'],
    mayImport: [
      'src/backup/',
      'src/kernel/',
      'src/audit/log/',
      'src/config/kind.ts',
      'src/http/route.ts',
      'src/ops/log.ts',
      'src/ops/service-metrics.ts',
      'src/processes/child-process.ts',
      'src/processes/process-figures.ts',
      'src/settings.ts',
      'src/store/audit/',
      'src/store/documents/collections.ts',
      'src/store/documents/document-copy.ts',
      'src/store/integrity/verify-folder.ts',
      'src/store/lmdb/',
      'src/store/outbox/',
      'src/store/process/file-lock.ts',
      'src/store/process/leader-election.ts',
      'src/transfer/files/',
      'age-encryption',
      'node:crypto',
      'node:events',
      'node:fs',
      'node:path',
      'node:stream',
      'node:stream/promises',
      'tar-stream',
      'zod',
    ],
    sentence:
      'backup makes, verifies, restores and schedules backups of data folders: it imports store, kernel, the files of audit logs, processes for jobs, the type of an answer that is a file, tar-stream and age-encryption; never policies or decisions',
  },
  {
    files: ['src/transfer/files/'],
    mayImport: [
      'src/transfer/files/',
      'src/kernel/',
      'src/config/kind.ts',
      'src/store/lmdb/environment-folder.ts',
      'src/store/process/file-lock.ts',
      'src/store/tenancy/project-folders.ts',
      'node:fs',
      'node:fs/promises',
      'node:path',
    ],
    sentence:
      'transfer/files has what backups, exports and imports share: staging folders, the folders of databases, and the markers of imports',
  },
  {
    files: ['src/transfer/lines/'],
    mayImport: [
      'src/transfer/lines/',
      'src/kernel/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/store/graph/bulk-batch.ts',
      'src/transfer/files/database-folders.ts',
    ],
    sentence:
      'transfer/lines writes and reads the lines of an export: it imports values, kernel and what a load accepts',
  },
  {
    files: ['src/transfer/import/'],
    mayImport: [
      'src/transfer/import/',
      'src/kernel/',
      'src/config/db-connection.ts',
      'src/config/kind.ts',
      'src/engine/store.ts',
      'src/store/documents/collections.ts',
      'src/store/documents/document-copy.ts',
      'src/store/graph/',
      'src/store/process/folder-lock.ts',
      'src/store/tenancy/project-folders.ts',
      'src/store/tenancy/project-graphs.ts',
      'src/transfer/files/',
      'src/transfer/lines/',
      'node:buffer',
      'node:crypto',
      'node:fs',
      'node:os',
      'node:path',
    ],
    sentence:
      'transfer/import loads exports into data folders: it imports lines, store, kernel and the location mapping of a project; never http, policies or decisions',
  },
  {
    files: ['src/transfer/export/'],
    mayImport: [
      'src/transfer/export/',
      'src/kernel/',
      'src/audit/log/signed-note.ts',
      'src/backup/audit-files.ts',
      'src/config/kind.ts',
      'src/engine/store.ts',
      'src/store/audit/audit-index.ts',
      'src/store/documents/collections.ts',
      'src/store/format/records.ts',
      'src/store/graph/environment.ts',
      'src/store/lmdb/',
      'src/store/tenancy/project-folders.ts',
      'src/transfer/files/',
      'src/transfer/lines/line-format.ts',
      'node:events',
      'node:fs',
      'node:os',
      'node:path',
    ],
    sentence:
      'transfer/export writes data folders as lines: it imports lines, store, kernel and the files of audit logs; never http, policies or decisions',
  },
  {
    files: ['src/transfer/servers/'],
    mayImport: [
      'src/transfer/servers/',
      'src/kernel/',
      'src/bolt/',
      'src/config/',
      'src/engine/errors.ts',
      'src/engine/store.ts',
      'src/engine/value/temporal/temporal.ts',
      'src/engine/value/value.ts',
      'src/store/documents/collections.ts',
      'src/store/format/records.ts',
      'src/store/graph/',
      'src/store/lmdb/databases.ts',
      'src/store/lmdb/raw-database.ts',
      'src/store/process/folder-lock.ts',
      'src/store/tenancy/',
      'src/transfer/files/import-markers.ts',
      'src/transfer/import/graph-importer.ts',
      'node:crypto',
      'node:fs',
      'node:path',
    ],
    sentence:
      'transfer/servers copies graphs between data folders and database servers: it imports both implementations of the graph port, the layout of a project, the places of its databases and kernel; never http, policies or decisions',
  },
  {
    files: ['src/streams/'],
    mayImport: [
      'src/streams/',
      'src/kernel/',
      'src/config/kind.ts',
      'src/engine/conditions.ts',
      'src/engine/store.ts',
      'src/identity/token-introspect.ts',
      'src/ops/log-follower.ts',
      'src/pdp/decision-stream-schema.ts',
      'src/pdp/watch-schema.ts',
      'src/policy/authorization-policy.ts',
      'src/policy/policy-index.ts',
      'src/store/process/change-table.ts',
      'src/store/process/shared-counter.ts',
      'src/store/tenancy/catalog.ts',
      'node:crypto',
      'node:fs',
      'node:os',
      'node:path',
      'node:util',
    ],
    sentence:
      'streams tells clients of changes and decisions as they happen: it imports the schemas of pdp, policies, shared memory, the log that it follows, and kernel',
  },
  {
    files: ['src/background/'],
    mayImport: [
      'src/background/',
      'src/kernel/',
      'src/config/',
      'src/events/event-sink.ts',
      'src/matching/entity-matching-pipeline.ts',
      'src/matching/entity-matching.ts',
      'src/processes/protocol.ts',
      'src/processes/supervised.ts',
      'src/store/process/leader-election.ts',
      'src/store/tenancy/project-folders.ts',
      'src/trust/trust-score-profile.ts',
      'src/trust/trust-scoring.ts',
    ],
    sentence:
      'background elects and starts the work of a folder that no request waits for: it imports the kinds that give it work, the configuration, processes and elections',
  },
  {
    files: ['src/operator/'],
    mayImport: [
      'src/kernel/',
      'src/config/kind.ts',
      'src/ops/connection-health.ts',
      'src/ops/service-metrics.ts',
      'src/store/tenancy/catalog.ts',
      'src/store/tenancy/project-folders.ts',
      'node:fs/promises',
      'node:path',
    ],
    sentence:
      'operator reads the figures of a service: it imports metrics, projects, the folders of projects and node:fs',
  },
  {
    files: ['src/mcp/session/'],
    mayImport: [
      'src/mcp/session/',
      'src/mcp/server-info.ts',
      'src/mcp/subscriptions.ts',
      'src/mcp/method.ts',
      'src/mcp/resources.ts',
      'src/mcp/protocol-versions.ts',
      'src/mcp/json-rpc.ts',
      'src/mcp/tools.ts',
      'src/kernel/',
      'node:crypto',
    ],
    sentence: 'the two MCP revisions are independent: each imports what they share, and no file of the other',
  },
  {
    files: ['src/mcp/stateless/'],
    mayImport: [
      'src/mcp/stateless/',
      'src/mcp/server-info.ts',
      'src/mcp/subscriptions.ts',
      'src/mcp/method.ts',
      'src/mcp/resources.ts',
      'src/mcp/protocol-versions.ts',
      'src/mcp/json-rpc.ts',
      'src/mcp/tools.ts',
      'src/kernel/',
    ],
    sentence: 'the two MCP revisions are independent: each imports what they share, and no file of the other',
  },
  {
    files: ['src/mcp/'],
    mayImport: ['src/mcp/', 'src/kernel/', ...features.map((name) => `src/${name}/`), 'zod', 'node:crypto'],
    sentence: 'mcp imports features, kernel and zod, and node:crypto for unguessable ids; never http',
  },
  {
    files: ['src/ops/'],
    mayImport: [
      'src/ops/',
      'src/kernel/',
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
      'node:async_hooks',
      'lru-cache',
      'node:crypto',
      'node:fs',
      'node:fs/promises',
      'node:path',
      'pino',
    ],
    sentence:
      'ops (log, metrics, traces, certificate) imports kernel, node, lru-cache, pino and the SDK of OpenTelemetry: features hand it what it writes',
  },
  {
    files: ['src/settings.ts'],
    mayImport: [],
    sentence: 'settings import nothing: they are a table of what can be set; cli reads the values',
  },
  {
    files: ['src/index.ts'],
    mayImport: [
      'grammar/',
      'src/kernel/',
      'src/engine/',
      'src/store/',
      'src/authorizer/authorizer.ts',
      'src/authorizer/authorizer-error.ts',
      'src/authorizer/open-authorizer.ts',
      'src/project/file-diagnostic.ts',
    ],
    sentence:
      'the library entry point exports engine, store and the opening of an authorizer, which loads its parts later: no features, no zod',
  },
  {
    files: ['src/openapi/'],
    mayImport: [],
    sentence: 'the types of the HTTP interface are generated and import nothing: clients of all kinds have them',
  },
  {
    files: ['src/client/'],
    mayImport: [
      'src/client/',
      'src/authorizer/authorizer.ts',
      'src/kernel/backoff.ts',
      'express',
      'fastify',
      'hono',
      'node:http',
    ],
    sentence:
      'the HTTP client runs wherever fetch does: it imports the types of requests and answers, the delays of repetitions, and nothing else; its middleware imports types of the frameworks',
  },
  {
    files: ['src/project/'],
    mayImport: [
      'src/project/',
      'grammar/suggest.ts',
      'src/store/documents/memory-documents.ts',
      'src/upstream/client.ts',
      'src/config/',
      'src/audit/audit-signing.ts',
      'src/context-query/',
      'src/events/event-sink.ts',
      'src/identity/token-introspect.ts',
      'src/matching/entity-matching-pipeline.ts',
      'src/mcp/server-config.ts',
      'src/pip/external-data-resolver.ts',
      'src/policy/',
      'src/trust/trust-score-profile.ts',
      ...feature,
      'yaml',
      'node:fs',
      'node:path',
    ],
    sentence:
      'project reads folders of configuration files: it imports the kinds of the features, kernel, zod, yaml and node:fs; never http, lanes or graphs',
  },
  {
    files: ['src/app.ts', 'src/app/', 'src/authorizer/', 'src/scenarios/', 'src/main.ts', 'src/cli/', 'src/release/'],
    mayImport: everything,
    sentence: 'wiring may import everything',
  },
]

/** Files that no other file needs to import: a process or the package starts there. */
export const entryPoints: readonly string[] = [
  'src/index.ts',
  'src/authorizer/jest.ts',
  'src/authorizer/vitest.ts',
  'src/client/express.ts',
  'src/client/fastify.ts',
  'src/client/hono.ts',
  'src/client/index.ts',
  'src/main.ts',
  // the page of the console, built by src/console/page-files.ts
  'src/console/page/main.tsx',
  'src/cli/build.ts',
  'src/cli/build-package.ts',
  'src/release/release.ts',
]

/** Files that only tests import: the second half of a contract, next to the half that they check. */
export const testOnlyFiles: readonly string[] = [
  // records, keys, both directions, labels, index and counts of a store agree
  'src/store/integrity/check-graph.ts',
]

/** Only the wiring may import these files, even if another rule allows it. */
export const wiring: readonly string[] = [
  'src/app.ts',
  'src/app/',
  'src/background/',
  'src/backup/',
  'src/events/operations/',
  'src/events/recorders/',
  'src/events/streams/',
  'src/http/listener/',
  'src/operator/',
  'src/streams/',
  'src/transfer/',
  'src/authorizer/',
  'src/scenarios/',
  'src/main.ts',
  'src/cli/',
  'src/release/',
  'src/client/',
  'src/index.ts',
]
