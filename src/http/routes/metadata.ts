// The metadata of the policy decision point (AuthZEN, section 9), which lets clients discover its endpoints. Public.
import { err, ok } from '../../kernel/result.ts'
import { baseFromHost, metadataDocument, metadataOf, metadataPath } from '../../pdp/metadata.ts'
import { errorStatuses, type Route } from '../route.ts'

/** Builds the route. `publicUrl`: public URL of the service; empty: derived from the `Host` header. */
export function metadataRoutes(publicUrl: string): Route[] {
  // A document derived from the Host header must not be served to other callers by a shared cache.
  const cacheControl = publicUrl === '' ? 'private, max-age=60' : 'public, max-age=3600'
  return [
    {
      method: 'GET',
      path: metadataPath(publicUrl),
      operationId: 'readAuthzenConfiguration',
      tag: { name: 'Decisions', description: 'Authorization decisions and searches of AuthZEN.' },
      summary: 'Read the metadata of the policy decision point',
      auth: { kind: 'public' },
      request: null,
      responses: { 200: metadataDocument, ...errorStatuses(400) },
      responseHeaders: { 'Cache-Control': 'how long the document may be cached' },
      handle(context) {
        const base = publicUrl === '' ? baseFromHost(context.header('host')) : publicUrl
        if (base === null) return err({ kind: 'malformed', issues: ['host: expected a host and a port'] })
        return ok({ status: 200, headers: { 'cache-control': cacheControl }, body: metadataOf(base) })
      },
    },
  ]
}
