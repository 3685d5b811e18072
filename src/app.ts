// The composition root: builds every part once, in order, by hand. Knows everything; only the process door, the command
// line and tests know it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { LineFile } from './adapters/line-file.ts'
import { auditSignings } from './audit/signing.ts'
import type { CaptureParts } from './capture/batch.ts'
import type { ContextParts } from './ciq/execute.ts'
import { knowledgeQueries } from './ciq/knowledge-query.ts'
import { QueryLibrary } from './ciq/library.ts'
import { locationsOf } from './config/db-connection.ts'
import { environmentKinds } from './config/environment.ts'
import { Provisioning } from './config/provisioning.ts'
import { type DocumentStore, Repository } from './config/repository.ts'
import { ConfigService } from './config/service.ts'
import { systemGraph } from './config/system-nodes.ts'
import type { ProjectGraphs } from './engine/store.ts'
import { eventSinks } from './events/sink.ts'
import { agentRate } from './http/agent-rate.ts'
import { authenticator } from './http/authenticate.ts'
import { corsFor } from './http/cors.ts'
import { createDispatcher, type Handle } from './http/dispatch.ts'
import type { Auth, Route } from './http/route.ts'
import { accessRoutes } from './http/routes/access.ts'
import { captureRoutes } from './http/routes/capture.ts'
import { configRoutes } from './http/routes/config.ts'
import { contextRoutes } from './http/routes/contx-iq.ts'
import { dataSchemaRoutes } from './http/routes/data-schema.ts'
import { descriptionRoutes } from './http/routes/description.ts'
import { mcpRoutes } from './http/routes/mcp.ts'
import { metadataRoutes } from './http/routes/metadata.ts'
import { operationRoutes } from './http/routes/operations.ts'
import { type Front, startFront } from './http/server.ts'
import { agentCredentials } from './identity/agent-credential.ts'
import { AgentKeys } from './identity/agent-key.ts'
import { adminOf, bootstrap } from './identity/bootstrap.ts'
import { DerivedSigner } from './identity/derived-signer.ts'
import { Issuers, type OutgoingParts } from './identity/issuers.ts'
import {
  loadMasterKeys,
  type MasterKeySource,
  type MasterKeys,
  masterKeyVariable,
  nextMasterKeyVariable,
} from './identity/master-key.ts'
import { SecretBox } from './identity/secret-box.ts'
import { ServiceAccounts } from './identity/service-account.ts'
import { serviceAccountCredentials, serviceAccounts as serviceAccountKind } from './identity/service-account-kinds.ts'
import { tokenIntrospects } from './identity/token-introspect.ts'
import { TokenRules } from './identity/token-rules.ts'
import { UserTokens } from './identity/user-tokens.ts'
import { UserInfo } from './identity/userinfo.ts'
import { assert } from './kernel/assert.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import { OperatorFault, ServiceFault } from './kernel/errors.ts'
import { entityMatchingPipelines } from './matching/pipeline.ts'
import { McpEndpoint } from './mcp/endpoint.ts'
import { originsFor } from './mcp/origins.ts'
import { mcpServers } from './mcp/server-config.ts'
import { StoredEndedSessions } from './mcp/session/ended-sessions.ts'
import { SessionIds } from './mcp/session/session-ids.ts'
import { type Certificate, type CertificateWatch, readCertificate, watchCertificate } from './ops/certificate.ts'
import { type Log, type LogEntry, openLog } from './ops/log.ts'
import { exposition } from './ops/metrics.ts'
import { seldom } from './ops/seldom.ts'
import { serviceMetrics } from './ops/service-metrics.ts'
import { DecisionLog } from './pdp/decision-log.ts'
import { Mask } from './pdp/mask.ts'
import { PageTokens } from './pdp/page-token.ts'
import type { DecisionEvent, DecisionFault, DecisionParts } from './pdp/parts.ts'
import { Resolvers } from './pip/resolve.ts'
import { externalDataResolvers } from './pip/resolver.ts'
import { authorizationPolicies } from './policy/authorization-policy.ts'
import { PolicyLibrary } from './policy/library.ts'
import { GraphsOfProjects } from './project-graphs.ts'
import { dataSchemaOf } from './schema/data-schema.ts'
import type { Access, Settings } from './settings.ts'
import { openCatalog, projectFolders } from './store/catalog.ts'
import { Elections } from './store/elections.ts'
import { joinFolder, lockFolder } from './store/folder-lock.ts'
import { type Collections, openCollections } from './store/lmdb/collections.ts'
import { isStored } from './store/lmdb/native.ts'
import { openSharedNumber } from './store/shared-number.ts'
import { unfinishedImport } from './transfer/folders.ts'
import { trustScoreProfiles } from './trust/profile.ts'
import { readAllowedUpstreams } from './upstream/allowed.ts'
import { createUpstream } from './upstream/client.ts'

/** What a test may put in the place of the real thing. */
export interface AppOverrides {
  readonly clock?: Clock
  readonly log?: (entry: LogEntry) => void
  /** False: commits are not flushed to disk. */
  readonly sync?: boolean
  /** Told of every fault inside a policy, beside the log. */
  readonly onDecisionFault?: (fault: DecisionFault) => void
  /** Told of every answered question. */
  readonly onDecided?: (event: DecisionEvent) => void
  /** The folder is locked already, by whoever started this process or will start others, and is not this app's to release. */
  readonly folder?: 'held'
  /** One of several processes on the folder and the port. */
  readonly worker?: WorkerPlace
}

export interface WorkerPlace {
  /** From 1 on. A process that is started in the place of another gets its number. */
  readonly number: number
  /** Of the process that holds the folder. */
  readonly proof: string
}

export interface Listening {
  readonly host: string
  readonly port: number
  readonly url: string
}

export interface App {
  readonly settings: Settings
  readonly organizationId: string
  /** The admin service account. */
  readonly serviceAccountId: string
  /** True when this start found an empty data folder. */
  readonly bootstrapped: boolean
  readonly routes: readonly Route[]
  /** The whole service without a socket. */
  readonly handle: Handle
  readonly decisions: DecisionParts
  readonly capture: CaptureParts
  readonly config: ConfigService
  issueAdminToken(lifetimeS: number): Promise<string>
  /** After a rotation has renamed them. */
  reopenLogs(): void
  listen(): Promise<Listening>
  /** Shows a new certificate at once, where there is one. */
  lookAtCertificate(): void
  /** To be called when another process on the folder was killed. */
  checkReaders(): void
  /** Refuses new requests, lets running ones finish, then closes the store. */
  close(): Promise<void>
}

/** Rejects with OperatorFault when the folder cannot be served, by another process that serves it for one. */
export async function createApp(settings: Settings, overrides: AppOverrides = {}): Promise<App> {
  const { folder, worker } = overrides
  const lock =
    worker !== undefined
      ? joinFolder(settings.dataDir, worker.proof)
      : folder === 'held'
        ? { release: () => {} }
        : lockFolder(settings.dataDir)
  const opened: Opened = []
  try {
    return await buildApp(settings, overrides, opened, () => lock.release())
  } catch (fault) {
    for (const part of opened.reverse()) await part.close()
    lock.release()
    throw fault
  }
}

/** What must be closed when a start fails half-way. */
type Opened = { close(): Promise<void> }[]

async function buildApp(
  settings: Settings,
  overrides: AppOverrides,
  opened: Opened,
  releaseFolder: () => void,
): Promise<App> {
  const { dataDir } = settings
  const clock = overrides.clock ?? systemClock
  const log = overrides.log ?? standardLog(settings, clock)
  const report = (message: string): void => log({ level: 'error', message })
  const again = seldom(SAME_FAULT_MS, () => clock.now())
  // Each place once in a while: every request may meet it.
  const tellOperator = (fault: ServiceFault, request: object): void => {
    if (again(fault.message))
      log({ level: 'error', message: 'a request could not be served', ...request, reason: fault.message })
  }
  const sync = overrides.sync ?? true
  const metrics = serviceMetrics(dataDir, packageJson.version, overrides.worker?.number ?? null)
  const worker = overrides.worker ?? null

  const allowed = readAllowedUpstreams(settings.upstreamAllow)
  if (!allowed.ok) throw new OperatorFault(`the setting upstream_allow: ${allowed.error}`)
  const upstream = createUpstream({ allowed: allowed.value })

  const lost = lostConfiguration(dataDir) ?? unfinishedImport(dataDir)
  if (lost !== null) throw new OperatorFault(lost)
  const collections = openCollections(join(dataDir, CONFIGURATION), { sync })
  opened.push(collections)
  const documents = new Repository(documentStore(collections), openSharedNumber(join(dataDir, COMMIT)))
  if (worker === null) documents.settle()
  // A folder without an organization holds no secrets, so a new master key loses none.
  const keys = masterKeysOf(dataDir, documents.all('organizations').length === 0)
  const sealer = secretBoxOf(keys)
  if (keys.next !== null) {
    report(
      'two master keys are known, the old and the next: `verdigraph rotate-master-key` on the stopped folder ends that',
    )
  }
  const { created, admin } = await bootstrap(documents, sealer, clock)
  const serviceAccounts = new ServiceAccounts(documents, sealer, clock)
  // With another master key than the folder's nothing that is sealed could be used: told now, and not with a request.
  await serviceAccounts.issueToken(admin.serviceAccountId, 120)
  const agentKeys = new AgentKeys(documents, clock)

  const catalog = openCatalog(dataDir, { clock, sync, hotBytes: settings.hotBytesMax })
  opened.push(catalog)
  const graphs = new GraphsOfProjects({
    documents,
    graph: (projectId, constituent) => catalog.graph(projectId, constituent),
    report,
  })
  // Whichever process removed it. Its own effect, or that of the other process, takes the files away.
  documents.subscribe((changes) => {
    for (const { before, after } of changes) {
      if (after !== null || before?.kind !== 'projects') continue
      catalog.forget(before.id).catch((failure: unknown) => {
        report(`the graph of the removed project ${before.id} could not be closed: ${String(failure)}`)
      })
    }
  })
  const graphsOf = (projectId: string): ProjectGraphs | null => graphs.of(projectId)

  const nodes = systemGraph(
    (projectId) => graphs.provisioned(projectId),
    (kind, id) => {
      documents.follow()
      return documents.get(kind, id) !== null
    },
  )
  const provisioning = new Provisioning({ documents, provisioner: catalog, systemGraph: nodes, report })
  const config = new ConfigService({
    documents,
    kinds: [
      ...environmentKinds({ reader: documents, systemGraph: nodes, provisioning }),
      agentCredentials(clock, settings.publicUrl),
      serviceAccountKind(clock),
      serviceAccountCredentials(clock, settings.publicUrl),
      authorizationPolicies(settings.policyTextMax, (project) => locationsOf(project).keys()),
      knowledgeQueries(settings.policyTextMax),
      externalDataResolvers,
      trustScoreProfiles,
      eventSinks,
      entityMatchingPipelines,
      mcpServers,
      auditSignings,
      tokenIntrospects(upstream),
    ],
    sealer,
    clock,
    report,
    place: worker?.number ?? 0,
  })
  const mask = new Mask(settings.parameterMask)
  const logFile =
    settings.decisionLog === 'off'
      ? null
      : new LineFile(settings.decisionLog, { bufferBytesMax: settings.logBufferBytes, report })
  if (logFile !== null) opened.push(logFile)
  const decisionLog = logFile && new DecisionLog({ sink: logFile, clock, mask, percent: settings.decisionLogPercent })
  const decisions: DecisionParts = {
    policies: new PolicyLibrary(documents, report),
    graphsOf,
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.decisionTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
    },
    inputStringMax: settings.inputStringMax,
    evaluationsMax: settings.evaluationsMax,
    batchTimeMs: settings.batchTimeMs,
    searchPageMax: settings.searchPageMax,
    pageTokens: new PageTokens(new DerivedSigner(keys.current, 'page tokens'), clock, settings.pageTokenTimeS * 1000),
    onDecided: toldTo([
      (event) => metrics.decided(event),
      decisionLog && ((event) => decisionLog.record(event)),
      overrides.onDecided ?? null,
    ]),
    onServiceFault: (fault) => tellOperator(fault, {}),
    onFault(fault) {
      const { message: reason, ...where } = fault
      log({ level: 'error', message: 'a policy faulted and does not grant', ...where, reason })
      metrics.faulted()
      overrides.onDecisionFault?.(fault)
    },
  }
  const resolvers = new Resolvers({
    documents,
    upstream,
    clock,
    report,
    limits: {
      timeMs: settings.upstreamTimeMs,
      bytesMax: settings.upstreamBytesMax,
      callsMax: settings.resolverCallsMax,
      parallel: settings.resolverParallel,
      keptMs: settings.resolverCacheMs,
    },
  })
  const queries = new QueryLibrary(documents, report)
  const contexts: ContextParts = {
    queries,
    graphsOf,
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.executeTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
    },
    batchReadTimeMs: settings.batchReadTimeMs,
    writesMax: settings.executeWritesMax,
    inputStringMax: settings.inputStringMax,
    resolvers,
  }
  const capture: CaptureParts = {
    graphsOf,
    onCaptured: (operation, items) => metrics.captured(operation, items),
  }
  const outgoing: OutgoingParts = {
    upstream,
    clock,
    timeMs: settings.upstreamTimeMs,
    bytesMax: settings.upstreamBytesMax,
    report,
  }
  const userTokens = new UserTokens({
    rules: new TokenRules(documents),
    issuers: new Issuers(outgoing),
    userInfo: new UserInfo(outgoing),
    clock,
    graphOf: (projectId) => graphsOf(projectId)?.default ?? null,
  })
  // One for both doors: an agent that is asked through MCP has no second allowance there.
  const rate = agentRate(settings.agentRequestsPerS, settings.agentBurst, () => clock.now())
  const mcp = new McpEndpoint({
    documents,
    decisions,
    contexts,
    queries,
    pageMax: settings.mcpPageMax,
    version: packageJson.version,
    origins: originsFor(settings.corsOrigins, settings.publicUrl),
    sessions: new SessionIds(
      new DerivedSigner(keys.current, 'mcp sessions'),
      clock,
      settings.mcpSessionTimeS * 1000,
      new StoredEndedSessions(documentStore(collections), openSharedNumber(join(dataDir, ENDED)), clock),
    ),
    authenticateUser: (projectId, token, delegation, only) =>
      userTokens.authenticateUser(projectId, token, delegation, only),
    agentRate: rate,
  })
  // Finishes what a crash cut off, before the first request.
  await config.resume(worker === null)
  await provisioning.repair()
  const elections = new Elections(dataDir)
  opened.push({ close: async () => elections.close() })
  elections.stand('provisioning', () => provisioning.lead())
  let sweeping: ReturnType<typeof setInterval> | null = null
  let swept: Promise<void> = Promise.resolve()
  elections.stand('sweeping', () => {
    const sweep = (): void => {
      swept = config.sweep().catch((failure: unknown) => report(`sweeping failed: ${String(failure)}`))
    }
    sweep()
    sweeping = setInterval(sweep, SWEEP_MS)
    sweeping.unref()
  })
  // A process that nobody asks anything follows too: it may be the one that provisions, or hold a removed graph open.
  const following = worker === null ? null : setInterval(() => documents.follow(), FOLLOW_MS)
  following?.unref()

  let front: Front | null = null
  let closing: Promise<void> | null = null
  let certificate: CertificateWatch | null = null
  const metricsAuth = authFor(settings.metricsAccess)
  const descriptionAuth = authFor(settings.descriptionAccess)
  const notReady = (): string | null => {
    if (closing !== null) return 'stopping'
    if (front === null) return 'not listening yet'
    try {
      collections.read((reading) => reading.get('configuration', 'none'))
      return null
    } catch {
      return 'the store is not open'
    }
  }
  const routes: readonly Route[] = [
    ...accessRoutes(decisions, mask),
    ...metadataRoutes(settings.publicUrl),
    ...captureRoutes(capture, settings.captureItemsMax),
    ...contextRoutes(contexts),
    ...mcpRoutes(mcp, { publicUrl: settings.publicUrl, secure: settings.tlsCertificate !== '' }),
    ...configRoutes(config),
    ...dataSchemaRoutes(async ({ projectId }) => {
      const graphs = graphsOf(projectId)
      return graphs === null ? null : dataSchemaOf(graphs.default)
    }),
    ...operationRoutes({
      worker: worker?.number ?? null,
      notReady,
      metrics: metricsAuth === null ? null : { auth: metricsAuth, mediaType: exposition, text: () => metrics.text() },
    }),
    ...(descriptionAuth === null ? [] : descriptionRoutes(descriptionAuth, packageJson.version, () => routes)),
  ]
  const authenticate = authenticator({
    authenticateAgent: (key) => agentKeys.authenticateAgent(key),
    authenticateServiceAccount: (bearer) => serviceAccounts.authenticateServiceAccount(bearer),
    authenticateUser: (projectId, token, delegation) => userTokens.authenticateUser(projectId, token, delegation),
  })
  const handle = createDispatcher({
    routes,
    agentRate: rate,
    cors: corsFor(settings.corsOrigins, routes),
    measure: (route, method) => metrics.requests(route, method),
    onAnswered:
      settings.accessLog === 'off' ? null : (answered) => log({ level: 'info', message: 'answered', ...answered }),
    authenticate(auth, request) {
      // Every request begins here: it sees what any process had committed before it came.
      documents.follow()
      return authenticate(auth, request)
    },
    onFailure({ error, ...request }) {
      if (error instanceof ServiceFault) return tellOperator(error, request)
      const stack = error instanceof Error ? error.stack : String(error)
      log({ level: 'error', message: 'a request failed', ...request, stack })
    },
  })

  async function close(): Promise<void> {
    certificate?.stop()
    await front?.stop()
    if (following !== null) clearInterval(following)
    if (sweeping !== null) clearInterval(sweeping)
    await swept
    await provisioning.rest()
    elections.close()
    await logFile?.close()
    await catalog.close()
    await collections.close()
    releaseFolder()
  }

  return {
    settings,
    organizationId: admin.organizationId,
    serviceAccountId: admin.serviceAccountId,
    bootstrapped: created,
    routes,
    handle,
    decisions,
    capture,
    config,
    issueAdminToken: (lifetimeS) => serviceAccounts.issueToken(admin.serviceAccountId, lifetimeS),
    reopenLogs: () => logFile?.reopen(),
    async listen() {
      assert(front === null && closing === null, 'an app listens once')
      const { host, port, bodyBytesMax, bodyTimeMs, drainMs, idleTimeS } = settings
      const files = { certificate: settings.tlsCertificate, key: settings.tlsKey }
      const tls = files.certificate === '' ? null : readCertificate(files)
      const paths = [...new Set(routes.map(({ path }) => path).filter((path) => !path.includes('{')))]
      const shared = worker !== null
      const started = startFront(handle, {
        host,
        port,
        bodyBytesMax,
        bodyTimeMs,
        drainMs,
        idleTimeS,
        tls,
        shared,
        paths,
      })
      front = started
      if (tls !== null) {
        const renew = (found: Certificate) => {
          started.renew(found)
          log({ level: 'info', message: 'the certificate was renewed' })
        }
        certificate = watchCertificate(files, tls, CERTIFICATE_LOOK_MS, renew, report)
      }
      return { host: started.host, port: started.port, url: started.url }
    },
    lookAtCertificate() {
      certificate?.look()
    },
    checkReaders() {
      collections.checkReaders()
      catalog.checkReaders()
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** Null where nobody listens, so that nothing is measured for nobody. */
function toldTo(listeners: readonly (((event: DecisionEvent) => void) | null)[]): DecisionParts['onDecided'] {
  const present = listeners.filter((listener) => listener !== null)
  if (present.length < 2) return present[0] ?? null
  return (event) => {
    for (const listener of present) listener(event)
  }
}

export interface AdminToken {
  readonly organizationId: string
  readonly serviceAccountId: string
  readonly token: string
}

/**
 * Without serving the folder: reads what is there and starts nothing, so it may be called beside the process that serves
 * it. That process knows the account's public key, and so takes the token from its first moment.
 */
export async function makeAdminToken({ dataDir }: Settings, lifetimeS: number): Promise<AdminToken> {
  const collections = openCollections(join(dataDir, CONFIGURATION), { readOnly: true })
  try {
    const documents = new Repository(documentStore(collections))
    const { organizationId, serviceAccountId } = adminOf(documents)
    const accounts = new ServiceAccounts(documents, secretBoxOf(masterKeysOf(dataDir, false)), systemClock)
    return { organizationId, serviceAccountId, token: await accounts.issueToken(serviceAccountId, lifetimeS) }
  } finally {
    await collections.close()
  }
}

/** How often the log tells of one damaged place, or of a disk that is full, while requests meet it. */
const SAME_FAULT_MS = 60_000

/** How soon a renewed certificate is shown when nobody tells of it. */
const CERTIFICATE_LOOK_MS = 5000

/** The folder of the configuration in the data folder. */
export const CONFIGURATION = 'config'

export function masterKeySource(dataDir: string, mayCreate: boolean): MasterKeySource {
  return { dataDir, fromEnvironment: process.env[masterKeyVariable], mayCreate }
}

function masterKeysOf(dataDir: string, mayCreate: boolean): MasterKeys {
  return loadMasterKeys(masterKeySource(dataDir, mayCreate), process.env[nextMasterKeyVariable])
}

function secretBoxOf({ current, next }: MasterKeys): SecretBox {
  return new SecretBox(current, next === null ? [] : [next])
}

/** The number of the configuration's last commit, for all processes to see. */
const COMMIT = 'config.commit'

/** Changes with every MCP session that is ended, for all processes to see. */
const ENDED = 'mcp.ended'

/** How late a worker that gets no requests may learn of what the others commit. Looking costs some nanoseconds. */
const FOLLOW_MS = 25

const SWEEP_MS = 3_600_000

/** Projects without the configuration that made them: a new organization would be a stranger to them. */
function lostConfiguration(dataDir: string): string | null {
  const folder = join(dataDir, CONFIGURATION)
  if (existsSync(folder) || isStored(folder)) return null
  const [project] = projectFolders(dataDir)
  return project === undefined ? null : `the folder ${dataDir} holds projects, and has lost its configuration`
}

/** The store speaks of deleting keys, the repository of removing documents. */
function documentStore(collections: Collections): DocumentStore {
  return {
    read: (look) => collections.read(look),
    transact: (change) =>
      collections.transact(({ get, all, put, delete: remove }) => change({ get, all, put, remove })),
  }
}

export function standardLog({ logLevel }: Settings, clock: Clock): Log {
  const secrets = [process.env[masterKeyVariable] ?? '', process.env[nextMasterKeyVariable] ?? '']
  return openLog({ clock, level: logLevel, secrets, write: (line) => process.stderr.write(line) })
}

/** Null: the setting says that nobody may. */
function authFor(access: Access): Auth | null {
  if (access === 'off') return null
  return access === 'public' ? { kind: 'public' } : { kind: 'service-account' }
}
