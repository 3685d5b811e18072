// Records the calls of the service to others as spans.
import type { Tracing } from '../kernel/request/tracing.ts'
import type { Upstream } from './client.ts'

/** A client whose calls are spans and continue the trace. `purpose`: what is called. */
export function tracedUpstream(upstream: Upstream, tracing: Tracing | null, purpose: 'resolver' | 'issuer'): Upstream {
  if (tracing === null) return upstream
  return {
    urlError: (url) => upstream.urlError(url),
    async send(request) {
      const url = URL.parse(request.url)
      const span = tracing.start(`${purpose} ${request.method}`, 'client', {
        'http.request.method': request.method,
        // Path and query may contain parameters of a caller.
        'server.address': url?.hostname,
        'server.port': url === null ? undefined : portOf(url),
        'verdigraph.upstream': purpose,
      })
      if (span === null) return upstream.send(request)
      const isOther = ([name]: readonly [string, string]): boolean =>
        !['traceparent', 'tracestate'].includes(name.toLowerCase())
      const headers = [...request.headers.filter(isOther), ...span.headers]
      const response = await upstream.send({ ...request, headers })
      if (response.ok) {
        const { status } = response.value
        span.end(status < 400 ? null : String(status), { 'http.response.status_code': status })
      } else span.end(response.error.kind)
      return response
    },
  }
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
