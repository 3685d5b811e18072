// The HTTP front: Bun's built-in server behind the front port (ruling R2). The only file that knows `Bun.serve`.
import { BodyError } from './body.ts'
import { BodyBudget, type BodyReservation, SMALL_BODY_BYTES } from './body-budget.ts'
import { BodyTimeout } from './body-timeout.ts'
import type { RequestHandler } from './dispatch.ts'
import { DefaultHeaders, defaultHeaders, type HttpRequest, type HttpResponse, type Route } from './route.ts'
import { toReadableStream } from './streaming-body.ts'

/** The runtime looks at silent connections so often, and ends one by up to so much sooner than it was told. */
const IDLE_CHECK_S = 4
/** It takes no more. */
const IDLE_MAX_S = 255

/**
 * The deepest path whose segments are looked at before the runtime resolves dot segments. No route is deeper, so a deeper
 * target that resolves to a route is refused.
 */
const SEGMENTS_MAX = 16

/** A stop closes the kept connections once no request has arrived for so long, */
const QUIET_PERIOD_MS = 100
/** or after this time at the latest. Until then, each answer says `connection: close`. */
const STOP_GRACE_MS = 1000

export interface HttpServerOptions {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** Other processes listen on the port too, and each takes a part of the connections. */
  readonly shared?: boolean
  readonly bodyBytesMax: number
  readonly bodyTotalBytesMax: number
  readonly bodyCallerBytesMax: number
  readonly bodyTimeMs: number
  /** Those whose path has no parameters are matched by the runtime itself. */
  readonly routes: readonly Route[]
  /** How long a stop waits for requests that are being answered. */
  readonly drainMs: number
  /** Seconds that a connection may be silent; one that is silent for longer ends within two looks of the runtime. */
  readonly idleTimeS: number
  /** Null: plain HTTP. */
  readonly tls: TlsCertificate | null
}

/** Both in PEM. */
export interface TlsCertificate {
  readonly cert: string
  readonly key: string
}

export interface HttpServer extends ListenAddress {
  /** New connections are shown this certificate; those that are open end after the request that they carry. */
  renewCertificate(tls: TlsCertificate): void
  /**
   * Answers with `connection: close` until requests stop arriving (at most LINGER_MAX_MS), then refuses new connections,
   * waits at most `drainMs` until running requests are answered and their answers written, and closes what is left.
   */
  stop(): Promise<void>
}

/** What the requests of one front share. */
interface BodyLimits {
  readonly bytesMax: number
  readonly timeout: BodyTimeout
  readonly budget: BodyBudget
}

/** Reading `request.url` makes the runtime parse and write a whole URL, so it is read only where the path is not known. */
class BunRequest implements HttpRequest {
  readonly method: string
  readonly route: Route | undefined
  private readonly exactPath: ExactPath | null
  private readonly request: Request
  private readonly headerFields: Headers
  private readonly bodyLimits: BodyLimits
  /** Null: no body that is counted has been asked for. */
  private reservation: BodyReservation | null = null

  constructor(request: Request, known: ExactPath | null, bodies: BodyLimits) {
    this.request = request
    this.exactPath = known
    this.headerFields = request.headers
    this.bodyLimits = bodies
    this.method = request.method
    this.route = known?.routes.get(this.method)
  }

  /** See FrontRequest. A known path was matched as it was sent, so only its host is checked. */
  get targetError(): string | null {
    // The runtime joins the values of repeated headers. RFC 9112, section 3.2: such a request must be answered with 400.
    if (this.headerFields.get('host')?.includes(',')) return 'host: expected one host, found several'
    return this.exactPath !== null || hasPlainTarget(this.request) ? null : dotSegmentError
  }

  get path(): string {
    if (this.exactPath !== null) return this.exactPath.path
    const { url } = this.request
    const start = pathStart(url)
    const mark = url.indexOf('?', start)
    const path = mark < 0 ? url.slice(start) : url.slice(start, mark)
    return path.includes('%') ? decodePath(path) : path
  }

  get query(): string {
    const { url } = this.request
    const mark = url.indexOf('?', pathStart(url))
    return mark < 0 ? '' : url.slice(mark + 1)
  }

  header(name: string): string | null {
    return this.headerFields.get(name)
  }

  headers(): Iterable<readonly [string, string]> {
    return this.headerFields
  }

  get signal(): AbortSignal {
    return this.request.signal
  }

  body(caller: string): Promise<Uint8Array> {
    const { timeout, bytesMax } = this.bodyLimits
    const declared = this.headerFields.get('content-length')
    if (declared === null) return timeout.wait(this.readCounting(caller))
    const length = Number(declared)
    if (length > bytesMax) return Promise.reject(this.tooLarge())
    if (length > SMALL_BODY_BYTES) {
      const refused = this.reserve(caller, length)
      // The runtime reads and drops what still comes of the body.
      if (refused !== null) return Promise.reject(refused)
    }
    return timeout.wait(this.request.bytes())
  }

  /** To be called when the request is answered, or never will be. */
  release(): void {
    this.reservation?.release()
  }

  /** Without a declared length the bytes are counted as they come, so that an endless body costs no more than the limit. */
  private async readCounting(caller: string): Promise<Uint8Array> {
    const stream = this.request.body
    if (stream === null) return new Uint8Array()
    const parts: Uint8Array[] = []
    let length = 0
    for await (const part of stream) {
      length += part.length
      if (length > this.bodyLimits.bytesMax) throw this.tooLarge()
      const refused = length > SMALL_BODY_BYTES ? this.reserve(caller, length) : null
      if (refused !== null) throw refused
      parts.push(part)
    }
    await this.checkTrailers()
    return Buffer.concat(parts, length)
  }

  /**
   * The runtime hands over the last chunk before it has read what follows. It takes no trailers there: it answers 400 and
   * closes the connection. A request that it has refused in this turn is not carried out.
   */
  private async checkTrailers(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (!this.request.signal.aborted) return
    throw new BodyError({ kind: 'malformed', issues: ['body: expected nothing behind its last chunk'] })
  }

  private reserve(caller: string, bytes: number): BodyError | null {
    this.reservation ??= this.bodyLimits.budget.open(caller)
    const refused = this.reservation.growTo(bytes)
    return refused === null ? null : new BodyError(refused)
  }

  private tooLarge(): BodyError {
    return new BodyError({ kind: 'too-large', limitBytes: this.bodyLimits.bytesMax })
  }
}

const dotSegmentError = 'path: expected no dot segment and no backslash, also none that is percent-encoded'

/** A backslash, or a segment of one or two dots, in what stands between two slashes once it is decoded. */
const DOT_SEGMENT = /\\|(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * The URL of a request has its dot segments resolved and its backslashes turned. The parameters of the segment routes
 * (see segmentRoutes) hold the segments as they were sent, decoded. What no segment route takes has an empty segment or
 * is deeper than any route: if its URL has neither, then the URL is not what was sent.
 */
function hasPlainTarget(request: SegmentRequest): boolean {
  if (request.params !== undefined) return !Object.values(request.params).some((segment) => DOT_SEGMENT.test(segment))
  const { url } = request
  const [path = ''] = url.slice(pathStart(url) + 1).split('?', 1)
  const segments = path.replace(/\/$/, '').split('/')
  return segments.includes('') || segments.length > SEGMENTS_MAX
}

type SegmentRequest = Request & { readonly params?: Readonly<Record<string, string>> }

/** Patterns that take every path of up to SEGMENTS_MAX segments, none of them empty, with a slash at its end or without. */
function segmentPatterns(): string[] {
  const patterns = ['/']
  let pattern = ''
  for (let depth = 1; depth <= SEGMENTS_MAX; depth++) {
    pattern += `/:s${depth}`
    patterns.push(pattern, `${pattern}/`)
  }
  return patterns
}

function pathStart(url: string): number {
  return url.indexOf('/', url.indexOf('://') + 3)
}

/**
 * A path that does not decode stays as it is; no route will match it. An encoded slash divides nothing (RFC 3986, 2.2):
 * else whoever stands before the service and guards its paths would see another path than the service.
 */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path.replace(/%2f/gi, '%252F'))
  } catch {
    return path
  }
}

export function startHttpServer(handle: RequestHandler, options: HttpServerOptions): HttpServer {
  let arrived = 0
  let stopping = false
  const slow = new BodyTimeout(options.bodyTimeMs)
  const budget = new BodyBudget({
    totalBytesMax: options.bodyTotalBytesMax,
    callerBytesMax: options.bodyCallerBytesMax,
  })
  const bodies: BodyLimits = { bytesMax: options.bodyBytesMax, timeout: slow, budget }
  const shared = options.shared === true
  const known = exactPaths(options.routes)
  // The runtime reads a Headers object in half of the time that it takes for a record, and copies it into the answer.
  const usualHeaders = new Headers(defaultHeaders)
  const usualAnswer = { headers: usualHeaders }

  function answer(request: Request, known: ExactPath | null, listener: PortListener): Response | Promise<Response> {
    arrived += 1
    const asked = new BunRequest(request, known, bodies)
    const coming = handle(asked)
    return coming instanceof Promise
      ? coming.then((answered) => written(asked, answered, listener))
      : written(asked, coming, listener)
  }

  function written(asked: BunRequest, response: HttpResponse, listener: PortListener): Response {
    asked.release()
    const { status, headers, body, bytes, live } = response
    const closes = stopping || listener.isRetired
    if (headers instanceof DefaultHeaders && live === undefined && bytes === undefined && !closes) {
      usualHeaders.set('x-request-id', headers['x-request-id'])
      const init = status === 200 ? usualAnswer : { status, headers: usualHeaders }
      return new Response(body === '' ? null : body, init)
    }
    return new Response(live === undefined ? (bytes ?? (body === '' ? null : body)) : toReadableStream(live), {
      status,
      headers: closes ? { ...headers, connection: 'close' } : { ...headers },
    })
  }

  function listen(at: number, tls: TlsCertificate | null, reusePort: boolean): PortListener {
    const listener: PortListener = {
      isRetired: false,
      server: Bun.serve({
        hostname: options.host,
        port: at,
        // Only where it is meant: else a second server on the same port would start and take half of the connections.
        reusePort,
        idleTimeout: Math.min(options.idleTimeS + IDLE_CHECK_S, IDLE_MAX_S),
        development: false,
        // Our own limit is lower and answers in JSON; this one only has to stay out of its way.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        ...(tls === null ? {} : { tls: { ...tls } }),
        routes: Object.fromEntries([
          ...segmentPatterns().map((pattern) => [pattern, (request: Request) => answer(request, null, listener)]),
          ...known.map((path) => [path.path, (request: Request) => answer(request, path, listener)]),
        ]),
        fetch: (request) => answer(request, null, listener),
      }),
    }
    return listener
  }

  // The runtime cannot change the certificate of a server, so another one takes its place on the same port, which both
  // must agree to share. That nobody else has it is known first, and nobody who would not share it gets it after.
  const port = options.tls === null || shared ? options.port : findFreePort(options.host, options.port)
  let listener = listen(port, options.tls, shared || options.tls !== null)
  const address = listenAddress(options.host, listener.server.port ?? port, options.tls !== null)
  const olds = new Set<PortListener>()
  const retired: Promise<void>[] = []
  return {
    ...address,
    renewCertificate(tls) {
      const before = listener
      listener = listen(address.port, tls, true)
      before.isRetired = true
      retired.push(before.server.stop(false))
      olds.add(before)
    },
    async stop() {
      stopping = true
      slow.stop()
      const listeners = [...olds, listener]
      // A connection that was kept for a next request would be reset if that request and the close crossed.
      const lingerMs = Math.min(STOP_GRACE_MS, options.drainMs)
      for (let waitedMs = 0, seen = 0; arrived !== seen && waitedMs < lingerMs; waitedMs += QUIET_PERIOD_MS) {
        seen = arrived
        await Bun.sleep(QUIET_PERIOD_MS)
      }
      const closed = Promise.all([listener.server.stop(false), ...retired])
      await waitAtMost(closed, options.drainMs)
      for (const one of listeners) await one.server.stop(true)
      await closed
    },
  }
}

/** Resolves once `work` has, or after `timeMs` milliseconds. */
function waitAtMost(work: Promise<unknown>, timeMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeMs)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** A path without parameters, and its routes by method. */
interface ExactPath {
  readonly path: string
  readonly routes: ReadonlyMap<string, Route>
}

function exactPaths(routes: readonly Route[]): ExactPath[] {
  const known = new Map<string, Map<string, Route>>()
  for (const route of routes) {
    if (route.path.includes('{')) continue
    known.getOrInsertComputed(route.path, () => new Map<string, Route>()).set(route.method, route)
  }
  return Array.from(known, ([path, byMethod]) => ({ path, routes: byMethod }))
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
  readonly url: string
}

function listenAddress(host: string, port: number, secure: boolean): ListenAddress {
  return { host, port, url: `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}` }
}

interface PortListener {
  /** Another one listens in its place. */
  isRetired: boolean
  readonly server: Bun.Server<unknown>
}

export interface ReservedPort extends ListenAddress {
  release(): void
}

/**
 * Takes a port for processes that will share it: throws as a server would where anybody has it, also one that would
 * share it. Until it is released nobody else gets it, and whoever asks is told to come again.
 */
export function reservePort(host: string, port: number, secure: boolean): ReservedPort {
  const server = Bun.serve({
    hostname: host,
    port,
    reusePort: false,
    development: false,
    fetch: () => new Response(null, { status: 503, headers: { connection: 'close' } }),
  })
  return {
    ...listenAddress(host, server.port ?? port, secure),
    release: () => void server.stop(true),
  }
}

/** The number of a port that nobody else has at this moment. */
function findFreePort(host: string, port: number): number {
  const reserved = reservePort(host, port, true)
  reserved.release()
  return reserved.port
}
