// The way out: which addresses may be called, and the users whom issuers out there vouch for.
import type { Repository } from '../config/repository.ts'
import type { ProjectGraphs } from '../engine/store.ts'
import { Issuers, type OutgoingParts } from '../identity/issuers.ts'
import { TokenRules } from '../identity/token-rules.ts'
import { UserTokens } from '../identity/user-tokens.ts'
import { UserInfo } from '../identity/userinfo.ts'
import type { Clock } from '../kernel/clock.ts'
import { OperatorFault } from '../kernel/errors.ts'
import type { Settings } from '../settings.ts'
import { readAllowedUpstreams } from '../upstream/allowed.ts'
import { createUpstream, type Upstream } from '../upstream/client.ts'

/** Throws OperatorFault. */
export function upstreamOf({ upstreamAllow }: Settings): Upstream {
  const allowed = readAllowedUpstreams(upstreamAllow)
  if (!allowed.ok) throw new OperatorFault(`the setting upstream_allow: ${allowed.error}`)
  return createUpstream({ allowed: allowed.value })
}

export interface UserWiring {
  /** False: this process writes no nodes of users; a request that needs one is handed to a lane. */
  readonly writes: boolean
  readonly documents: Repository
  graphsOf(projectId: string): ProjectGraphs | null
  /** Opens the graph of a project; null where that was done. */
  ready(projectId: string): Promise<void> | null
  readonly upstream: Upstream
  readonly clock: Clock
  readonly report: (line: string) => void
}

export function userTokensFor(settings: Settings, wiring: UserWiring): UserTokens {
  const { writes, documents, graphsOf, ready, upstream, clock, report } = wiring
  const { upstreamTimeMs: timeMs, upstreamBytesMax: bytesMax } = settings
  const outgoing: OutgoingParts = { upstream, clock, timeMs, bytesMax, report }
  return new UserTokens({
    writes,
    rules: new TokenRules(documents),
    issuers: new Issuers(outgoing),
    userInfo: new UserInfo(outgoing),
    clock,
    graphOf(projectId) {
      const graph = () => graphsOf(projectId)?.default ?? null
      return ready(projectId)?.then(graph) ?? graph()
    },
  })
}
