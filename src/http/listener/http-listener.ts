// Starts the HTTP server of an app, and renews its certificate when the certificate files change.

import { assert } from '../../kernel/assert.ts'
import {
  type CertificateFiles,
  type CertificatePair,
  type CertificateWatcher,
  readCertificate,
  watchCertificate,
} from '../../ops/certificate.ts'
import type { Log } from '../../ops/log.ts'
import type { Settings } from '../../settings.ts'
import type { RequestHandler } from '../dispatch.ts'
import type { ListenAddress } from '../port.ts'
import type { Route } from '../route.ts'
import { type HttpServer, startHttpServer } from '../server.ts'
import { SharedPort } from './shared-port.ts'

/** Interval of checks for a changed certificate, milliseconds. */
const CERTIFICATE_CHECK_INTERVAL_MS = 5000

/**
 * A process that is replaced accepts connections for this time after its successor takes the new ones: their handshakes have begun.
 * Milliseconds.
 */
const HANDSHAKE_MS = 500
/** Interval of checks whether the connections of a replaced process have ended, milliseconds. */
const CONNECTION_CHECK_INTERVAL_MS = 100

/** Loads the certificate of the settings; null: plain HTTP. Throws OperationalError if it cannot be used. */
export function loadCertificate(settings: Settings): CertificatePair | null {
  return settings.tlsCertificate === '' ? null : readCertificate(certificateFiles(settings))
}

function certificateFiles({ tlsCertificate, tlsKey }: Settings): CertificateFiles {
  return { certificate: tlsCertificate, key: tlsKey }
}

/** The HTTP server of an app and its certificate. */
export class HttpListener {
  private readonly settings: Settings
  private readonly isPortShared: boolean
  private readonly log: Log
  private server: HttpServer | null = null
  private certificate: CertificateWatcher | null = null
  private isClosing = false
  private port: SharedPort | null = null

  /** `isPortShared`: other processes listen on the port too. */
  constructor(settings: Settings, isPortShared: boolean, log: Log) {
    this.settings = settings
    this.isPortShared = isPortShared
    this.log = log
  }

  /** The reason why this process should not receive requests; null: it is ready. */
  notReady(): string | null {
    if (this.isClosing) return 'stopping'
    return this.server === null ? 'not listening yet' : null
  }

  /** Starts the server. Throws OperationalError for an unusable certificate, and the error of the system for the address. */
  listen(handle: RequestHandler, routes: readonly Route[]): ListenAddress {
    assert(this.server === null && !this.isClosing, 'an app listens once')
    const { host, port, bodyBytesMax, bodyTotalBytesMax, bodyTimeMs, drainMs, idleTimeS, clientAddressHeader } =
      this.settings
    const files = certificateFiles(this.settings)
    const tls = loadCertificate(this.settings)
    const { isPortShared, log } = this
    const server = startHttpServer(handle, {
      host,
      port,
      bodyBytesMax,
      bodyTotalBytesMax,
      // A caller may always send one body.
      bodyCallerBytesMax: Math.max(bodyBytesMax, Math.floor(bodyTotalBytesMax / 4)),
      bodyTimeMs,
      drainMs,
      idleTimeS,
      clientAddressHeader,
      tls,
      shared: isPortShared,
      routes,
    })
    this.server = server
    if (isPortShared) {
      this.port = SharedPort.open(server.port)
      // A process that ended while it took all new connections would leave its filter to this one.
      this.port?.shareConnections()
    }
    if (tls !== null) {
      const renew = (certificate: CertificatePair): void => {
        server.renewCertificate(certificate)
        log({ level: 'info', message: 'the certificate was renewed' })
      }
      const report = (message: string): void => log({ level: 'error', message })
      this.certificate = watchCertificate(files, tls, CERTIFICATE_CHECK_INTERVAL_MS, renew, report)
    }
    return { host: server.host, port: server.port, url: server.url }
  }

  /** Checks the certificate files now. */
  reloadCertificate(): void {
    this.certificate?.check()
  }

  /** Sends all new connections of the shared port to this process. Returns false if the system cannot do that. */
  takeConnections(): boolean {
    return this.port?.takeConnections() ?? false
  }

  /** Lets the system distribute new connections over all processes of the port again. */
  shareConnections(): void {
    this.port?.shareConnections()
  }

  /**
   * Stops listening without closing a connection. Each response announces that its connection is closed. The successor of this process
   * must have taken the new connections. Without a shared port the listening socket stays open.
   */
  async retire(): Promise<void> {
    this.certificate?.stop()
    this.server?.announceClose()
    if (this.port === null) return
    await Bun.sleep(Math.min(HANDSHAKE_MS, this.settings.drainMs))
    this.port.stopListening()
  }

  /** Resolves when all connections have ended, or after the drain time. */
  async emptied(): Promise<void> {
    const until = performance.now() + this.settings.drainMs
    while (this.port !== null && this.port.connectionCount() > 0 && performance.now() < until) {
      await Bun.sleep(CONNECTION_CHECK_INTERVAL_MS)
    }
  }

  /** Stops the server; see `HttpServer.stop`. */
  async close(): Promise<void> {
    this.isClosing = true
    this.certificate?.stop()
    await this.server?.stop()
  }
}
