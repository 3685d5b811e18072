// The outgoing requests of resolvers. The client is loaded with the first one, because most authorizers send none.
import type { ConfigKind } from '../config/kind.ts'
import { OperationalError } from '../kernel/errors.ts'
import type { ResolverLimits } from '../pip/resolution.ts'
import type { Settings } from '../settings.ts'
import type { Upstream } from '../upstream/client.ts'

/** Returns a client that is loaded when it first sends. */
export function lazyUpstream(settings: Settings): Pick<Upstream, 'send'> {
  let loading: Promise<Upstream> | null = null
  return {
    async send(request) {
      loading ??= loadUpstream(settings)
      return (await loading).send(request)
    },
  }
}

/** Loads the client. Rejects with OperationalError if the setting `upstream_allow` is not valid. */
async function loadUpstream({ upstreamAllow }: Settings): Promise<Upstream> {
  const [{ parseAllowList }, { createUpstream }] = await Promise.all([
    import('../upstream/allow-list.ts'),
    import('../upstream/client.ts'),
  ])
  const allowed = parseAllowList(upstreamAllow)
  if (!allowed.ok) throw new OperationalError(`the setting upstream_allow: ${allowed.error}`)
  return createUpstream({ allowed: allowed.value })
}

/** Loads the configuration kind of resolvers. */
export async function loadResolverKind(settings: Settings): Promise<ConfigKind> {
  const { externalDataResolvers } = await import('../pip/external-data-resolver.ts')
  return externalDataResolvers(await loadUpstream(settings))
}

/** The limits of calls of resolvers. */
export function resolverLimits(settings: Settings): ResolverLimits {
  return {
    timeMs: settings.upstreamTimeMs,
    maxBytes: settings.upstreamBytesMax,
    maxCalls: settings.resolverCallsMax,
    maxConcurrent: settings.resolverParallel,
    cacheTtlMs: settings.resolverCacheMs,
  }
}
