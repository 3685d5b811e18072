// The metadata of the decision point (AuthZEN 9), for clients that find their way by it. It shows no secret and asks for none.
import { err, ok } from '../../kernel/result.ts'
import { baseFromHost, metadataDocument, metadataOf, metadataPath } from '../../pdp/metadata.ts'
import { errorStatuses, type Route } from '../route.ts'

/** `publicUrl`: how clients reach the service; empty: by the host that they name. */
export function metadataRoutes(publicUrl: string): Route[] {
  // What was made from a Host header is the caller's own affair: no cache may hand it to others.
  const cacheControl = publicUrl === '' ? 'private, max-age=60' : 'public, max-age=3600'
  return [
    {
      method: 'GET',
      path: metadataPath(publicUrl),
      operationId: 'readAuthzenConfiguration',
      tag: { name: 'Decisions', description: 'May this subject do this to that resource? After AuthZEN.' },
      summary: 'Where the calls of the decision point are',
      auth: { kind: 'public' },
      request: null,
      responses: { 200: metadataDocument, ...errorStatuses(400) },
      responseHeaders: { 'Cache-Control': 'how long the document holds' },
      handle(context) {
        const base = publicUrl === '' ? baseFromHost(context.header('host')) : publicUrl
        if (base === null) return err({ kind: 'malformed', issues: ['host: expected a host and a port'] })
        return ok({ status: 200, headers: { 'cache-control': cacheControl }, body: metadataOf(base) })
      },
    },
  ]
}
