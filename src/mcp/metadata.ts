// The metadata of the endpoint as a protected resource (RFC 9728): who gives tokens for it, and which scopes there are.
import { z } from 'zod'
import type { McpServer } from './servers.ts'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

export const resourceMetadata = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()).min(1),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.literal('header')),
  resource_name: z.string(),
})

/** `base`: without a slash at its end. Clients compare it with the address that they were given, character by character. */
export function endpointUrl(base: string, projectId: string): string {
  return `${base}/mcp/v1/${projectId}`
}

/** Between the host and the path. */
export function metadataUrl(base: string, projectId: string): string {
  const { origin, pathname } = new URL(endpointUrl(base, projectId))
  return `${origin}${WELL_KNOWN}${pathname}`
}

/** Of the route: what `base` has of a path stands in it too. */
export function metadataRoutePath(base: string): string {
  return `${WELL_KNOWN}${base === '' ? '' : new URL(base).pathname.replace(/\/$/, '')}/mcp/v1/{project}`
}

/** The interface has no member for authorization servers: whose tokens are taken tells. */
export function createMetadata(
  base: string,
  { projectId, issuer, scopes }: McpServer,
): z.infer<typeof resourceMetadata> {
  return {
    resource: endpointUrl(base, projectId),
    authorization_servers: [issuer],
    scopes_supported: [...scopes],
    bearer_methods_supported: ['header'],
    resource_name: 'Verdigraph',
  }
}
