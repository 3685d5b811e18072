// OAuth 2.0 protected resource metadata of the endpoint (RFC 9728): its authorization server and scopes.
import { z } from 'zod'
import type { McpServer } from './servers.ts'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** The schema of the metadata document. */
export const resourceMetadata = z
  .object({
    resource: z.string(),
    authorization_servers: z.array(z.string()).min(1),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.literal('header')),
    resource_name: z.string(),
  })
  .meta({ id: 'ProtectedResourceMetadata' })

/** The URL of the endpoint. `base` has no trailing slash. Clients compare the result with their URL character by character. */
function endpointUrl(base: string, projectId: string): string {
  return `${base}/mcp/v1/${projectId}`
}

/** The URL of the metadata: the well-known path is inserted between host and path (RFC 9728, section 3.1). */
export function metadataUrl(base: string, projectId: string): string {
  const { origin, pathname } = new URL(endpointUrl(base, projectId))
  return `${origin}${WELL_KNOWN}${pathname}`
}

/** The path of the metadata route, including the path of `base`. */
export function metadataRoutePath(base: string): string {
  return `${WELL_KNOWN}${base === '' ? '' : new URL(base).pathname.replace(/\/$/, '')}/mcp/v1/{project}`
}

/** The metadata of a server. Its authorization server is the issuer of the tokens that it accepts. */
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
