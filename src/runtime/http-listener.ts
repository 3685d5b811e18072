// The one time that an app listens: the front on its address, with the certificate that its files hold from moment to moment.
import type { RequestHandler } from '../http/dispatch.ts'
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

/** How soon a renewed certificate is shown when nobody tells of it. */
const CERTIFICATE_CHECK_INTERVAL_MS = 5000

export interface Listening {
  readonly host: string
  readonly port: number
  readonly url: string
}

/** Null: plain HTTP. Throws OperatorFault for one that cannot be used. */
export function loadCertificate(settings: Settings): CertificatePair | null {
  return settings.tlsCertificate === '' ? null : readCertificate(certificateFiles(settings))
}

function certificateFiles({ tlsCertificate, tlsKey }: Settings): CertificateFiles {
  return { certificate: tlsCertificate, key: tlsKey }
}

export class HttpListener {
  private readonly settings: Settings
  private readonly isPortShared: boolean
  private readonly log: Log
  private server: HttpServer | null = null
  private certificate: CertificateWatcher | null = null
  private isClosing = false

  /** `shared`: other processes listen on the port too. */
  constructor(settings: Settings, shared: boolean, log: Log) {
    this.settings = settings
    this.isPortShared = shared
    this.log = log
  }

  /** Null: requests are welcome. */
  notReady(): string | null {
    if (this.isClosing) return 'stopping'
    return this.server === null ? 'not listening yet' : null
  }

  /** Throws OperatorFault for a certificate that cannot be used, and what the system says of the address. */
  listen(handle: RequestHandler, routes: readonly Route[]): Listening {
    assert(this.server === null && !this.isClosing, 'an app listens once')
    const { host, port, bodyBytesMax, bodyTotalBytesMax, bodyCallerBytesMax, bodyTimeMs, drainMs, idleTimeS } =
      this.settings
    const files = certificateFiles(this.settings)
    const tls = loadCertificate(this.settings)
    const { isPortShared, log } = this
    const front = startHttpServer(handle, {
      host,
      port,
      bodyBytesMax,
      bodyTotalBytesMax,
      bodyCallerBytesMax,
      bodyTimeMs,
      drainMs,
      idleTimeS,
      tls,
      shared: isPortShared,
      routes,
    })
    this.server = front
    if (tls !== null) {
      const renew = (found: CertificatePair): void => {
        front.renewCertificate(found)
        log({ level: 'info', message: 'the certificate was renewed' })
      }
      const report = (message: string): void => log({ level: 'error', message })
      this.certificate = watchCertificate(files, tls, CERTIFICATE_CHECK_INTERVAL_MS, renew, report)
    }
    return { host: front.host, port: front.port, url: front.url }
  }

  reloadCertificate(): void {
    this.certificate?.check()
  }

  async close(): Promise<void> {
    this.isClosing = true
    this.certificate?.stop()
    await this.server?.stop()
  }
}
