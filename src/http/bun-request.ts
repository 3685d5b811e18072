// A request of Bun's HTTP server as the port of the dispatcher.
import { BodyError } from './body.ts'
import { type BodyBudget, type BodyReservation, SMALL_BODY_BYTES } from './body-budget.ts'
import type { BodyTimeout } from './body-timeout.ts'
import { type ClientAddressSource, clientAddressOf } from './client-address.ts'
import { decodePath, dotSegmentError, hasPlainTarget, pathStart } from './request-target.ts'
import type { HttpRequest, Route } from './route.ts'

/** A path without parameters, and its routes by method. */
export interface ExactPath {
  readonly path: string
  readonly routes: ReadonlyMap<string, Route>
}

/** Limits of the bodies of a server. */
export interface BodyLimits {
  readonly bytesMax: number
  readonly timeout: BodyTimeout
  readonly budget: BodyBudget
}

/** Reading `request.url` makes the runtime parse and serialize a URL, so it is read only if the path is not an exact one. */
export class BunRequest implements HttpRequest {
  readonly method: string
  readonly route: Route | undefined
  private readonly exactPath: ExactPath | null
  private readonly request: Request
  private readonly headerFields: Headers
  private readonly bodyLimits: BodyLimits
  private readonly addresses: ClientAddressSource
  private address: string | null = null
  /** Null until a body large enough to be counted is read. */
  private reservation: BodyReservation | null = null

  constructor(request: Request, exactPath: ExactPath | null, bodyLimits: BodyLimits, addresses: ClientAddressSource) {
    this.request = request
    this.exactPath = exactPath
    this.headerFields = request.headers
    this.bodyLimits = bodyLimits
    this.addresses = addresses
    this.method = request.method
    this.route = exactPath?.routes.get(this.method)
  }

  /** An exact path was matched as it was sent, so only its host is checked. */
  get targetError(): string | null {
    // The runtime joins repeated headers. RFC 9112, section 3.2: a request with several hosts must be answered with 400.
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

  get clientAddress(): string {
    this.address ??= clientAddressOf(this.request, this.addresses)
    return this.address
  }

  body(caller: string): Promise<Uint8Array> {
    const { timeout, bytesMax } = this.bodyLimits
    const declared = this.headerFields.get('content-length')
    if (declared === null) return timeout.wait(this.readCounting(caller))
    const length = Number(declared)
    if (length > bytesMax) return Promise.reject(this.tooLarge())
    if (length > SMALL_BODY_BYTES) {
      const refused = this.reserve(caller, length)
      // The runtime reads and drops the rest of the body.
      if (refused !== null) return Promise.reject(refused)
    }
    return timeout.wait(this.request.bytes())
  }

  /** Releases the memory reservation of the body. Call it when the request was answered. */
  release(): void {
    this.reservation?.release()
  }

  /** Without a declared length, bytes are counted as they arrive, so that an endless body takes no more than the limit. */
  private async readCounting(caller: string): Promise<Uint8Array> {
    const stream = this.request.body
    if (stream === null) return new Uint8Array()
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of stream) {
      length += chunk.length
      if (length > this.bodyLimits.bytesMax) throw this.tooLarge()
      const refused = length > SMALL_BODY_BYTES ? this.reserve(caller, length) : null
      if (refused !== null) throw refused
      chunks.push(chunk)
    }
    await this.checkTrailers()
    return Buffer.concat(chunks, length)
  }

  /**
   * The runtime delivers the last chunk before it has read what follows. It supports no trailers: it answers 400 and closes the
   * connection in the same turn of the event loop. Such a request must not be executed.
   */
  private async checkTrailers(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (!this.request.signal.aborted) return
    throw new BodyError({ kind: 'malformed', issues: ['body: expected nothing after its last chunk'] })
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
