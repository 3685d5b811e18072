// The list of all configuration kinds, in the order of the API description.
import { auditSignings, type SigningKeyDeps } from '../audit/audit-signing.ts'
import { locationsOf } from '../config/db-connection.ts'
import type { ConfigKind, DocumentFields, StoredDocument } from '../config/kind.ts'
import { type ProjectKindsDeps, projectKinds } from '../config/project-kinds.ts'
import { knowledgeQueries } from '../context-query/knowledge-query.ts'
import { queryWarningsBy } from '../context-query/query-warnings.ts'
import { queryConsequences } from '../context-query/type-issues.ts'
import { eventSinks } from '../events/event-sink.ts'
import { agentCredentials } from '../identity/agent-credential.ts'
import { serviceAccountCredentials, serviceAccounts } from '../identity/service-account-kinds.ts'
import { tokenIntrospects } from '../identity/token-introspect.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { entityMatchingPipelines } from '../matching/entity-matching-pipeline.ts'
import { mcpServers } from '../mcp/server-config.ts'
import { models } from '../model/model-kind.ts'
import { externalDataResolvers } from '../pip/external-data-resolver.ts'
import { authorizationPolicies } from '../policy/authorization-policy.ts'
import { modelConsequences } from '../policy/model-consequences.ts'
import { modelWarningsBy } from '../policy/model-warnings.ts'
import { type NameSource, policyWarningsBy } from '../policy/name-warnings.ts'
import type { Settings } from '../settings.ts'
import { trustScoreProfiles } from '../trust/trust-score-profile.ts'
import type { Upstream } from '../upstream/client.ts'

/** Collaborators of the kinds. */
export interface KindDeps {
  readonly environment: ProjectKindsDeps
  readonly upstream: Upstream
  readonly clock: Clock
  /** The graphs whose names policies and queries are compared with. */
  readonly names: NameSource
  /** Removes all events of a project that were not delivered. */
  dropEvents(projectId: string): Promise<void>
  /** Removes the scores of a deleted trust score profile. */
  removeScores(profile: StoredDocument): Promise<void>
  /** Removes the relationships, decisions and report of a deleted entity matching pipeline. */
  removeMatches(pipeline: StoredDocument): Promise<void>
  /** Adds the state of delivery to the body of an event sink. */
  withDeliveryState(sink: StoredDocument, body: DocumentFields): Promise<DocumentFields>
  readonly signingKeys: SigningKeyDeps
  /** Adds to the body of an audit signing how its key has signed. */
  withSigningState(signing: StoredDocument, body: DocumentFields): Promise<DocumentFields>
}

/** Returns all kinds. */
export function createConfigKinds(
  settings: Settings,
  {
    environment,
    upstream,
    clock,
    names,
    dropEvents,
    removeScores,
    removeMatches,
    withDeliveryState,
    signingKeys,
    withSigningState,
  }: KindDeps,
): readonly ConfigKind[] {
  const { publicUrl } = settings
  return [
    ...projectKinds(environment),
    agentCredentials(clock, publicUrl),
    serviceAccounts(clock),
    serviceAccountCredentials(clock, publicUrl),
    ...policyKinds(settings, names),
    externalDataResolvers(upstream),
    // The scores of a deleted profile are removed by its last pass.
    { ...trustScoreProfiles, effects: { deleted: removeScores } },
    {
      ...eventSinks,
      withState: withDeliveryState,
      // Without its sink, nothing would deliver or remove the events of a project.
      effects: { deleted: ({ project_id }) => dropEvents(project_id) },
    },
    { ...entityMatchingPipelines(publicUrl.replace(/\/+$/, '')), effects: { deleted: removeMatches } },
    mcpServers,
    { ...auditSignings(signingKeys), withState: withSigningState },
    tokenIntrospects(upstream),
  ]
}

/** All kinds as declarations of names, schemas and secrets. Their checks, effects and states must not be used. */
export function declaredKinds(settings: Settings): readonly ConfigKind[] {
  return createConfigKinds(settings, { environment: {}, signingKeys: {} } as KindDeps)
}

/** Returns the kinds whose documents name what is in the graph. `names`: the graphs that their names are compared with. */
export function policyKinds({ policyTextMax }: Settings, names: NameSource): readonly ConfigKind[] {
  return [
    models(
      policyTextMax,
      (...change) => [...modelConsequences(...change), ...queryConsequences(...change)],
      modelWarningsBy(names),
    ),
    authorizationPolicies(policyTextMax, (project) => locationsOf(project).keys(), policyWarningsBy(names)),
    knowledgeQueries(policyTextMax, queryWarningsBy(names)),
  ]
}
