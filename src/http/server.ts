// The HTTP server: Bun's built-in server as an adapter of the dispatcher (docs/decisions/0001-bun-runtime-and-http-port.md).
import { BodyBudget } from './body-budget.ts'
import { BodyTimeout } from './body-timeout.ts'
import { type BodyLimits, BunRequest, type ExactPath } from './bun-request.ts'
import type { ClientAddressSource } from './client-address.ts'
import type { RequestHandler } from './dispatch.ts'
import { findFreePort, type ListenAddress, listenAddress } from './port.ts'
import { segmentPatterns } from './request-target.ts'
import { DefaultHeaders, defaultHeaders, type HttpResponse, type Route } from './route.ts'
import { toReadableStream } from './streaming-body.ts'

/** The runtime checks idle connections at this interval and may close them this much too early, seconds. */
const IDLE_CHECK_S = 4
/** The largest idle timeout that the runtime accepts, seconds. */
const IDLE_MAX_S = 255

/** A stop closes idle keep-alive connections as soon as no request has arrived for this time. */
const QUIET_PERIOD_MS = 100
/** A stop closes them after this time at the latest. Until then, each response has the header `connection: close`. */
const STOP_GRACE_MS = 1000

/** Options of `startHttpServer`. */
export interface HttpServerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** True: other processes listen on the same port, and the system distributes connections. */
  readonly shared?: boolean
  /** Maximum length of a body, bytes. */
  readonly bodyBytesMax: number
  /** Maximum bytes of all bodies in memory. */
  readonly bodyTotalBytesMax: number
  /** Maximum bytes of the bodies of one caller in memory. */
  readonly bodyCallerBytesMax: number
  /** Time limit for receiving a body, milliseconds. */
  readonly bodyTimeMs: number
  /** Paths without parameters are matched by the runtime itself. */
  readonly routes: readonly Route[]
  /** How long a stop waits for running requests, milliseconds. */
  readonly drainMs: number
  /** Header in which a proxy passes the address of the client, in lower case; absent or empty: there is no proxy. */
  readonly clientAddressHeader?: string
  /** Idle timeout of a connection, seconds. The connection is closed up to two check intervals later. */
  readonly idleTimeS: number
  /** Null: plain HTTP. */
  readonly tls: TlsCertificate | null
}

/** A certificate chain and its private key, both in PEM. */
export interface TlsCertificate {
  readonly cert: string
  readonly key: string
}

/** A running server. */
export interface HttpServer extends ListenAddress {
  /** Uses another certificate for new connections. Open connections end after their current request. */
  renewCertificate(tls: TlsCertificate): void
  /** From now on each response has the header `connection: close`, and its connection is closed. New connections are accepted. */
  announceClose(): void
  /**
   * Answers with `connection: close` until requests stop arriving (at most `STOP_GRACE_MS`), then refuses new connections,
   * waits at most `drainMs` until running requests are answered and written, and closes the remaining connections.
   */
  stop(): Promise<void>
}

/** A server that accepts connections on the port. */
interface PortListener {
  /** Another listener has replaced this one. */
  isRetired: boolean
  readonly server: Bun.Server<unknown>
  readonly addresses: ClientAddressSource
}

/**
 * Starts the server. Throws the error of the system if the address cannot be used.
 * @param handle Handles each request.
 */
export function startHttpServer(handle: RequestHandler, options: HttpServerOptions): HttpServer {
  let arrived = 0
  let isStopping = false
  const timeout = new BodyTimeout(options.bodyTimeMs)
  const budget = new BodyBudget({
    totalBytesMax: options.bodyTotalBytesMax,
    callerBytesMax: options.bodyCallerBytesMax,
  })
  const bodyLimits: BodyLimits = { bytesMax: options.bodyBytesMax, timeout, budget }
  const isPortShared = options.shared === true
  const paths = exactPaths(options.routes)
  // The runtime reads a Headers object twice as fast as a record, and copies it into the response.
  const reusedHeaders = new Headers(defaultHeaders)
  const reusedInit = { headers: reusedHeaders }

  function answer(
    bunRequest: Request,
    exactPath: ExactPath | null,
    listener: PortListener,
  ): Response | Promise<Response> {
    arrived += 1
    const request = new BunRequest(bunRequest, exactPath, bodyLimits, listener.addresses)
    const response = handle(request)
    return response instanceof Promise
      ? response.then((settled) => toResponse(request, settled, listener))
      : toResponse(request, response, listener)
  }

  function toResponse(request: BunRequest, response: HttpResponse, listener: PortListener): Response {
    request.release()
    const { status, headers, body, bytes, stream } = response
    const closes = isStopping || listener.isRetired
    if (headers instanceof DefaultHeaders && stream === undefined && bytes === undefined && !closes) {
      reusedHeaders.set('x-request-id', headers['x-request-id'])
      const init = status === 200 ? reusedInit : { status, headers: reusedHeaders }
      return new Response(body === '' ? null : body, init)
    }
    return new Response(stream === undefined ? (bytes ?? (body === '' ? null : body)) : toReadableStream(stream), {
      status,
      headers: closes ? { ...headers, connection: 'close' } : { ...headers },
    })
  }

  function listen(port: number, tls: TlsCertificate | null, reusePort: boolean): PortListener {
    const listener: PortListener = {
      isRetired: false,
      addresses: {
        header: options.clientAddressHeader ?? '',
        peerOf: (request) => listener.server.requestIP(request)?.address ?? null,
      },
      server: Bun.serve({
        hostname: options.host,
        port,
        // Only if requested: otherwise a second server on the same port would start and take half of the connections.
        reusePort,
        idleTimeout: Math.min(options.idleTimeS + IDLE_CHECK_S, IDLE_MAX_S),
        development: false,
        // The limit of BunRequest is lower and answers in JSON.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        ...(tls === null ? {} : { tls: { ...tls } }),
        routes: Object.fromEntries([
          ...segmentPatterns().map((pattern) => [pattern, (request: Request) => answer(request, null, listener)]),
          ...paths.map((path) => [path.path, (request: Request) => answer(request, path, listener)]),
        ]),
        fetch: (request) => answer(request, null, listener),
      }),
    }
    return listener
  }

  // The runtime cannot change the certificate of a running server. A second server replaces it on the same port, which both
  // must open as shared. The port is reserved exclusively first, so that no other process can share it.
  const port = options.tls === null || isPortShared ? options.port : findFreePort(options.host, options.port)
  let listener = listen(port, options.tls, isPortShared || options.tls !== null)
  const address = listenAddress(options.host, listener.server.port ?? port, options.tls !== null)
  const retired = new Set<PortListener>()
  const retiredStops: Promise<void>[] = []
  return {
    ...address,
    renewCertificate(tls) {
      const previous = listener
      listener = listen(address.port, tls, true)
      previous.isRetired = true
      retiredStops.push(previous.server.stop(false))
      retired.add(previous)
    },
    announceClose() {
      isStopping = true
    },
    async stop() {
      isStopping = true
      timeout.stop()
      const listeners = [...retired, listener]
      // Closing a keep-alive connection while its next request is in flight would reset it, so wait until requests stop.
      const graceMs = Math.min(STOP_GRACE_MS, options.drainMs)
      for (let waitedMs = 0, seen = 0; arrived !== seen && waitedMs < graceMs; waitedMs += QUIET_PERIOD_MS) {
        seen = arrived
        await Bun.sleep(QUIET_PERIOD_MS)
      }
      const closed = Promise.all([listener.server.stop(false), ...retiredStops])
      await waitAtMost(closed, options.drainMs)
      for (const one of listeners) await one.server.stop(true)
      await closed
    },
  }
}

/** Resolves once `work` has settled, or after `timeMs` milliseconds. */
function waitAtMost(work: Promise<unknown>, timeMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeMs)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function exactPaths(routes: readonly Route[]): ExactPath[] {
  const paths = new Map<string, Map<string, Route>>()
  for (const route of routes) {
    if (route.path.includes('{')) continue
    paths.getOrInsertComputed(route.path, () => new Map<string, Route>()).set(route.method, route)
  }
  return Array.from(paths, ([path, byMethod]) => ({ path, routes: byMethod }))
}
