// An authorizer over the policies of a project folder: with a graph in memory, or with graphs that the caller provides.

import { resolversKind } from '../config/kind.ts'
import { openSecret } from '../config/secrets.ts'
import { createSystemGraph } from '../config/system-nodes.ts'
import { OperationalError } from '../kernel/errors.ts'
import { systemClock } from '../kernel/time/clock.ts'
import { ExternalDataResolvers } from '../pip/resolution.ts'
import type { ProjectFolder } from '../project/project-folder.ts'
import { resolveSecret, type SecretLookup } from '../project/secret-references.ts'
import { type StoredProject, storeProject } from '../project/stored-project.ts'
import { defaultSettings, type Settings } from '../settings.ts'
import { IN_MEMORY, openStore } from '../store/graph/open-store.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { Authorizer } from './authorizer.ts'
import { createAuthorizer } from './create-authorizer.ts'
import { lazyUpstream, loadResolverKind, resolverLimits } from './outgoing.ts'

/** The graphs that the policies of a project folder are asked about. */
export interface GivenGraphs {
  /** Called for each request. */
  graphs(): ProjectGraphs
  readonly readOnlyReason: string | null
  close(): Promise<void>
}

/** Options that do not depend on the graph. */
export interface ProjectAuthorizerOptions {
  readonly secrets: SecretLookup
  readonly report: (message: string) => void
  readonly settings?: Settings
  /** Projects that are checked and stored already, for several authorizers over one of them. Default: none. */
  readonly stored?: StoredProjects
}

/** Stored projects by their folder. An authorizer only reads them. */
export type StoredProjects = WeakMap<ProjectFolder, Promise<StoredProject>>

/** Opens an authorizer over the documents of a project folder. Rejects with ProjectFolderError if one of them is not valid. */
export async function openProjectAuthorizer(
  project: ProjectFolder,
  given: GivenGraphs | null,
  { secrets, report, settings = defaultSettings, stored: known = new WeakMap() }: ProjectAuthorizerOptions,
): Promise<Authorizer> {
  const storing = known.get(project) ?? storeWith(project, settings)
  known.set(project, storing)
  const stored = await storing
  const { graphs, readOnlyReason, close } = given ?? (await memoryGraphs(stored))
  const { documents, projectId, applicationId, agentId } = stored
  return createAuthorizer({
    settings,
    clock: systemClock,
    documents,
    projectId,
    applicationId,
    agentId,
    graphs,
    resolvers: new ExternalDataResolvers({
      documents,
      openSecret: (document, path) => openSecret(document, path, { open: (text) => secretOf(text, secrets) }),
      upstream: lazyUpstream(settings),
      clock: systemClock,
      report,
      limits: resolverLimits(settings),
    }),
    readOnlyReason,
    catchUp() {},
    report,
    close,
  })
}

async function storeWith(project: ProjectFolder, settings: Settings): Promise<StoredProject> {
  const hasResolvers = project.documents.some(({ kind }) => kind === resolversKind)
  return storeProject(project, {
    clock: systemClock,
    policyTextMax: settings.policyTextMax,
    resolvers: hasResolvers ? await loadResolverKind(settings) : null,
  })
}

/** Throws OperationalError if a reference has no value: the resolver then supplies no value. */
function secretOf(text: string, secrets: SecretLookup): string {
  const resolved = resolveSecret(text, secrets)
  if (!resolved.ok) throw new OperationalError(`the secret ${resolved.error} is not set`)
  return resolved.value
}

/** A graph in memory with the nodes that the service keeps in every graph: those of the application and of the agent. */
async function memoryGraphs({ layout, projectId, applicationId, agentId }: StoredProject): Promise<GivenGraphs> {
  if (layout.isComposite || layout.locations.size > 0) {
    throw new OperationalError(
      'a project with locations has several databases, which an authorizer in memory does not have',
    )
  }
  const store = openStore(IN_MEMORY)
  await createSystemGraph(
    () => store,
    () => true,
  ).putAgent(projectId, applicationId, agentId)
  const graphs: ProjectGraphs = { default: store, global: null, at: () => null }
  return { graphs: () => graphs, readOnlyReason: null, close: () => store.close() }
}
