// Everything that can be configured: one line for each kind, in the order of the interface description.
import { auditSignings } from '../audit/signing.ts'
import { knowledgeQueries } from '../ciq/knowledge-query.ts'
import { locationsOf } from '../config/db-connection.ts'
import { type EnvironmentParts, environmentKinds } from '../config/environment.ts'
import type { ConfigKind } from '../config/kind.ts'
import { eventSinks } from '../events/sink.ts'
import { agentCredentials } from '../identity/agent-credential.ts'
import { serviceAccountCredentials, serviceAccounts } from '../identity/service-account-kinds.ts'
import { tokenIntrospects } from '../identity/token-introspect.ts'
import type { Clock } from '../kernel/clock.ts'
import { entityMatchingPipelines } from '../matching/pipeline.ts'
import { mcpServers } from '../mcp/server-config.ts'
import { externalDataResolvers } from '../pip/resolver.ts'
import { authorizationPolicies } from '../policy/authorization-policy.ts'
import type { Settings } from '../settings.ts'
import { trustScoreProfiles } from '../trust/profile.ts'
import type { Upstream } from '../upstream/client.ts'

export interface KindParts {
  readonly environment: EnvironmentParts
  readonly upstream: Upstream
  readonly clock: Clock
}

export function kindsOf(settings: Settings, { environment, upstream, clock }: KindParts): readonly ConfigKind[] {
  const { policyTextMax, publicUrl } = settings
  return [
    ...environmentKinds(environment),
    agentCredentials(clock, publicUrl),
    serviceAccounts(clock),
    serviceAccountCredentials(clock, publicUrl),
    authorizationPolicies(policyTextMax, (project) => locationsOf(project).keys()),
    knowledgeQueries(policyTextMax),
    externalDataResolvers(upstream),
    trustScoreProfiles,
    eventSinks,
    entityMatchingPipelines,
    mcpServers,
    auditSignings,
    tokenIntrospects(upstream),
  ]
}
