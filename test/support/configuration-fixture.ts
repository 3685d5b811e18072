// Builds the configuration services over a real database in a temporary folder, as the application wires them.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConfigKinds } from '../../src/app/kinds.ts'
import type { ConfigKind, DocumentFields } from '../../src/config/kind.ts'
import { type Provisioner, Provisioning } from '../../src/config/provisioning.ts'
import { ConfigRepository } from '../../src/config/repository.ts'
import { openSecret } from '../../src/config/secrets.ts'
import { ConfigService } from '../../src/config/service.ts'
import type { SystemGraph } from '../../src/config/system-nodes.ts'
import { AgentKeys } from '../../src/identity/agent-key.ts'
import { bootstrap } from '../../src/identity/bootstrap.ts'
import { loadMasterKey } from '../../src/identity/master-key.ts'
import { SecretBox } from '../../src/identity/secret-box.ts'
import { ServiceAccounts } from '../../src/identity/service-account.ts'
import type { ServiceError } from '../../src/kernel/errors.ts'
import type { ServiceAccountCaller } from '../../src/kernel/request/caller.ts'
import type { Result } from '../../src/kernel/result.ts'
import { PolicyIndex } from '../../src/policy/policy-index.ts'
import { defaultSettings } from '../../src/settings.ts'
import type { Constituent, GraphLayout } from '../../src/store/tenancy/project-graphs.ts'
import { UpstreamAllowList } from '../../src/upstream/allow-list.ts'
import { createUpstream } from '../../src/upstream/client.ts'
import { createDestinations } from '../../src/upstream/destinations.ts'
import { ManualClock } from './manual-clock.ts'
import { openStore } from './open-collections.ts'

export const START_MS = Date.parse('2026-01-15T12:00:00.000Z')

/** A substitute for the project databases: records which exist and which system nodes they contain. */
export class RecordingProvisioner implements Provisioner, SystemGraph {
  readonly nodes = new Map<string, Set<string>>()
  readonly layouts = new Map<string, GraphLayout>()
  /** Names of constituents with data: `eu-db`, `global`. */
  readonly withData = new Set<string>()
  readonly opened = new Set<string>()
  /** The projects whose databases were deleted, in order. */
  readonly deleted: string[] = []
  /** `create` waits for this before it completes; it rejects if provisioning is to fail. */
  gate: Promise<void> = Promise.resolve()

  async create(projectId: string, layout: GraphLayout): Promise<void> {
    await this.gate
    this.layouts.set(projectId, layout)
    this.nodes.set(projectId, this.nodes.get(projectId) ?? new Set())
  }
  async completeProxies(): Promise<void> {}
  async replayIntents(): Promise<void> {}
  async openAll(projectId: string): Promise<void> {
    this.opened.add(projectId)
  }
  holdsData(projectId: string, constituent: Constituent): boolean {
    if (!this.opened.has(projectId)) throw new Error('a graph is opened before it is looked into')
    return this.withData.has(typeof constituent === 'string' ? constituent : constituent.database)
  }
  async delete(projectId: string): Promise<void> {
    this.deleted.push(projectId)
    this.nodes.delete(projectId)
  }
  async putApplication(projectId: string, applicationId: string): Promise<void> {
    this.graph(projectId).add(applicationId)
  }
  async putAgent(projectId: string, applicationId: string, agentId: string): Promise<void> {
    if (!this.graph(projectId).has(applicationId)) throw new Error('an agent comes after its application')
    this.graph(projectId).add(agentId)
  }
  async deleteApplication(projectId: string, applicationId: string): Promise<void> {
    this.graph(projectId).delete(applicationId)
  }
  async deleteAgent(projectId: string, agentId: string): Promise<void> {
    this.graph(projectId).delete(agentId)
  }
  private graph(projectId: string): Set<string> {
    const nodes = this.nodes.get(projectId)
    if (nodes === undefined) throw new Error('no such graph')
    return nodes
  }
}

export interface ConfigurationFixture {
  readonly dir: string
  readonly clock: ManualClock
  readonly documents: ConfigRepository
  readonly box: SecretBox
  readonly board: RecordingProvisioner
  readonly provisioning: Provisioning
  readonly service: ConfigService
  readonly keys: AgentKeys
  readonly accounts: ServiceAccounts
  readonly library: PolicyIndex
  readonly admin: ServiceAccountCaller
  readonly viewer: ServiceAccountCaller
  readonly log: string[]
  kind(path: string): ConfigKind
  /** Creates and returns the body; throws if the service refuses. */
  create(path: string, body: DocumentFields): Promise<DocumentFields & { id: string }>
  read(path: string, id: string): DocumentFields
  close(): Promise<void>
}

const dirs: string[] = []

export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'verdigraph-'))
  dirs.push(dir)
  return dir
}

/** For afterAll. */
export function removeTemporaryFolders(): void {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
}

/** Opening the same folder again simulates a restart. `moreKinds`: in addition to those of the product. */
export async function openConfiguration(
  from: { dir?: string; clock?: ManualClock; board?: RecordingProvisioner; moreKinds?: readonly ConfigKind[] } = {},
): Promise<ConfigurationFixture> {
  const dir = from.dir ?? temporaryFolder()
  const clock = from.clock ?? new ManualClock(START_MS)
  const board = from.board ?? new RecordingProvisioner()
  const log: string[] = []
  const report = (line: string): void => void log.push(line)
  const store = openStore(dir)
  const documents = new ConfigRepository(store)
  const mayCreate = documents.all('organizations').length === 0
  const box = new SecretBox(loadMasterKey({ dataDir: dir, given: null, mayCreate }))
  const { admin } = await bootstrap(documents, box, clock)
  const provisioning = new Provisioning({ documents, provisioner: board, systemGraph: board, report, retryMs: 10 })
  const allowed = new UpstreamAllowList(new Set(['127.0.0.1']), [])
  const upstream = createUpstream({ allowed })
  const { hostError } = createDestinations(allowed)
  const own = createConfigKinds(defaultSettings, {
    environment: { reader: documents, systemGraph: board, provisioning, hostError, isShared: false },
    upstream,
    clock,
    // The board holds no graphs, so there are no names to compare with.
    names: { ready: () => null, storesOf: () => [] },
    dropEvents: async () => {},
    removeScores: async () => {},
    removeMatches: async () => {},
    withDeliveryState: async (_sink, body) => body,
    signingKeys: {
      upstream,
      openSecret: (document, path) => openSecret(document, path, box),
      isFailing: async () => false,
    },
    withSigningState: async (_signing, body) => body,
  })
  const kinds = [...own, ...(from.moreKinds ?? [])]
  const service = new ConfigService({ kinds, documents, sealer: box, clock, report })
  const kind = (path: string): ConfigKind => {
    const found = kinds.find((one) => one.path === path)
    if (found === undefined) throw new Error(`no kind ${path}`)
    return found
  }
  const setup: ConfigurationFixture = {
    dir,
    clock,
    documents,
    box,
    board,
    provisioning,
    service,
    keys: new AgentKeys(documents, clock),
    accounts: new ServiceAccounts(documents, box, clock),
    library: new PolicyIndex(documents, report),
    admin,
    viewer: { ...admin, role: 'all_viewer' },
    log,
    kind,
    create: async (path, body) =>
      valueIn(await service.create(admin, kind(path), body)).body as DocumentFields & { id: string },
    read: (path, id) => valueIn(service.read(admin, kind(path), id)).body,
    async close() {
      await provisioning.stop()
      await store.close()
    },
  }
  provisioning.startLeading()
  return setup
}

/** An ACTIVE project with an application, an agent and a key. */
export interface ProjectFixture extends ConfigurationFixture {
  readonly project: string
  readonly application: string
  readonly agent: string
  readonly credential: string
  readonly key: string
}

export async function openProject(moreKinds: readonly ConfigKind[] = []): Promise<ProjectFixture> {
  const setup = await openConfiguration({ moreKinds })
  const project = (await setup.create('projects', projectBody(setup))).id
  const application = (await setup.create('applications', { project_id: project, name: 'shop' })).id
  const agent = (
    await setup.create('application-agents', {
      application_id: application,
      name: 'shop-agent',
      api_permissions: ['Authorization', 'Capture'],
    })
  ).id
  const credential = await setup.create('application-agent-credentials', { application_agent_id: agent })
  await setup.provisioning.whenIdle()
  return { ...setup, project, application, agent, credential: credential.id, key: credential.api_key as string }
}

export function projectBody(setup: ConfigurationFixture, more: DocumentFields = {}): DocumentFields {
  return { organization_id: setup.admin.organizationId, name: 'fleet', region: 'eu-west', ...more }
}

export function valueIn<T>(result: Result<T, ServiceError>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}

export function errorIn(result: Result<unknown, ServiceError>): ServiceError {
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`)
  return result.error
}

/** All bytes below the folder except the master key file, as one searchable text. */
export function bytesBelow(dir: string): string {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'master.key')
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}
