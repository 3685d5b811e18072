// Starts the HTTP server of an app, and renews its certificate when the certificate files change.
import type { RequestHandler } from '../http/dispatch.ts'
import type { ListenAddress } from '../http/port.ts'
import type { Route } from '../http/route.ts'
import { type HttpServer, startHttpServer } from '../http/server.ts'
import { assert } from '../kernel/assert.ts'
import {
  type CertificateFiles,
  type CertificatePair,
  type CertificateWatcher,
  readCertificate,
  watchCertificate,
} from '../ops/certificate.ts'
import type { Log } from '../ops/log.ts'
import type { Settings } from '../settings.ts'

/** Interval of checks for a changed certificate, milliseconds. */
const CERTIFICATE_CHECK_INTERVAL_MS = 5000

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
    const {
      host,
      port,
      bodyBytesMax,
      bodyTotalBytesMax,
      bodyCallerBytesMax,
      bodyTimeMs,
      drainMs,
      idleTimeS,
      clientAddressHeader,
    } = this.settings
    const files = certificateFiles(this.settings)
    const tls = loadCertificate(this.settings)
    const { isPortShared, log } = this
    const server = startHttpServer(handle, {
      host,
      port,
      bodyBytesMax,
      bodyTotalBytesMax,
      bodyCallerBytesMax,
      bodyTimeMs,
      drainMs,
      idleTimeS,
      clientAddressHeader,
      tls,
      shared: isPortShared,
      routes,
    })
    this.server = server
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

  /** Stops the server; see `HttpServer.stop`. */
  async close(): Promise<void> {
    this.isClosing = true
    this.certificate?.stop()
    await this.server?.stop()
  }
}
