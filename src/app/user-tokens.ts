// Builds the verification of user tokens.
import { type IssuerClientDeps, Issuers } from '../identity/issuers.ts'
import { TokenRules } from '../identity/token-rules.ts'
import { type TokenIntrospection, UserTokenAuthenticator } from '../identity/user-tokens.ts'
import { UserInfoClient } from '../identity/userinfo-client.ts'
import { tracedUpstream } from '../upstream/traced-upstream.ts'
import type { Platform } from './open-store.ts'

/** Creates the authenticator of user tokens. With lanes, requests that must create the node of a user run in a lane. */
export function createUserTokens(
  {
    process: { settings, clock, upstream, inlineMs },
    reports: { report, tracing, connections },
    configuration: { documents },
    graphs: { registry: graphs },
  }: Platform,
  onIntrospected: (introspection: TokenIntrospection) => void,
): UserTokenAuthenticator {
  const { upstreamTimeMs: timeoutMs, upstreamBytesMax: maxBytes } = settings
  const traced = tracedUpstream(upstream, tracing, 'issuer')
  const clientDeps: IssuerClientDeps = { upstream: traced, clock, timeoutMs, maxBytes, report }
  return new UserTokenAuthenticator({
    mayWrite: inlineMs === null,
    rules: new TokenRules(documents),
    issuers: new Issuers(clientDeps),
    userInfo: new UserInfoClient(clientDeps),
    clock,
    onIntrospected,
    onVerified: (id, failure) => connections.record('token-introspect', id, failure),
    graphOf(projectId) {
      const graph = () => graphs.graphsOf(projectId)?.default ?? null
      return graphs.ready(projectId)?.then(graph) ?? graph()
    },
  })
}
