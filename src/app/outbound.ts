// The way out: which addresses may be called, and the users whom issuers out there vouch for.

import type { ConfigRepository } from '../config/repository.ts'
import { type IssuerClientDeps, Issuers } from '../identity/issuers.ts'
import { TokenRules } from '../identity/token-rules.ts'
import { UserTokenAuthenticator } from '../identity/user-tokens.ts'
import { UserInfoClient } from '../identity/userinfo-client.ts'
import type { Clock } from '../kernel/clock.ts'
import { OperationalError } from '../kernel/errors.ts'
import type { Settings } from '../settings.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import { parseAllowList } from '../upstream/allow-list.ts'
import { createUpstream, type Upstream } from '../upstream/client.ts'

/** Throws OperatorFault. */
export function createUpstreamClient({ upstreamAllow }: Settings): Upstream {
  const allowed = parseAllowList(upstreamAllow)
  if (!allowed.ok) throw new OperationalError(`the setting upstream_allow: ${allowed.error}`)
  return createUpstream({ allowed: allowed.value })
}

export interface OutboundDeps {
  /** False: this process writes no nodes of users; a request that needs one is handed to a lane. */
  readonly writes: boolean
  readonly documents: ConfigRepository
  graphsOf(projectId: string): ProjectGraphs | null
  /** Opens the graph of a project; null where that was done. */
  ready(projectId: string): Promise<void> | null
  readonly upstream: Upstream
  readonly clock: Clock
  readonly report: (line: string) => void
}

export function createUserTokens(settings: Settings, wiring: OutboundDeps): UserTokenAuthenticator {
  const { writes, documents, graphsOf, ready, upstream, clock, report } = wiring
  const { upstreamTimeMs: timeMs, upstreamBytesMax: bytesMax } = settings
  const outgoing: IssuerClientDeps = { upstream, clock, timeMs, bytesMax, report }
  return new UserTokenAuthenticator({
    mayWrite: writes,
    rules: new TokenRules(documents),
    issuers: new Issuers(outgoing),
    userInfo: new UserInfoClient(outgoing),
    clock,
    graphOf(projectId) {
      const graph = () => graphsOf(projectId)?.default ?? null
      return ready(projectId)?.then(graph) ?? graph()
    },
  })
}
