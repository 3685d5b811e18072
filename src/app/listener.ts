// The one time that an app listens: the front on its address, with the certificate that its files hold from moment to moment.
import type { Handle } from '../http/dispatch.ts'
import type { Route } from '../http/route.ts'
import { type Front, startFront } from '../http/server.ts'
import { assert } from '../kernel/assert.ts'
import {
  type Certificate,
  type CertificateFiles,
  type CertificateWatch,
  readCertificate,
  watchCertificate,
} from '../ops/certificate.ts'
import type { Log } from '../ops/log.ts'
import type { Settings } from '../settings.ts'

/** How soon a renewed certificate is shown when nobody tells of it. */
const CERTIFICATE_LOOK_MS = 5000

export interface Listening {
  readonly host: string
  readonly port: number
  readonly url: string
}

/** Null: plain HTTP. Throws OperatorFault for one that cannot be used. */
export function certificateOf(settings: Settings): Certificate | null {
  return settings.tlsCertificate === '' ? null : readCertificate(filesOf(settings))
}

function filesOf({ tlsCertificate, tlsKey }: Settings): CertificateFiles {
  return { certificate: tlsCertificate, key: tlsKey }
}

export class Listener {
  private readonly settings: Settings
  private readonly shared: boolean
  private readonly log: Log
  private front: Front | null = null
  private certificate: CertificateWatch | null = null
  private closing = false

  /** `shared`: other processes listen on the port too. */
  constructor(settings: Settings, shared: boolean, log: Log) {
    this.settings = settings
    this.shared = shared
    this.log = log
  }

  /** Null: requests are welcome. */
  notReady(): string | null {
    if (this.closing) return 'stopping'
    return this.front === null ? 'not listening yet' : null
  }

  /** Throws OperatorFault for a certificate that cannot be used, and what the system says of the address. */
  listen(handle: Handle, routes: readonly Route[]): Listening {
    assert(this.front === null && !this.closing, 'an app listens once')
    const { host, port, bodyBytesMax, bodyTotalBytesMax, bodyCallerBytesMax, bodyTimeMs, drainMs, idleTimeS } =
      this.settings
    const files = filesOf(this.settings)
    const tls = certificateOf(this.settings)
    const { shared, log } = this
    const front = startFront(handle, {
      host,
      port,
      bodyBytesMax,
      bodyTotalBytesMax,
      bodyCallerBytesMax,
      bodyTimeMs,
      drainMs,
      idleTimeS,
      tls,
      shared,
      routes,
    })
    this.front = front
    if (tls !== null) {
      const renew = (found: Certificate): void => {
        front.renew(found)
        log({ level: 'info', message: 'the certificate was renewed' })
      }
      const report = (message: string): void => log({ level: 'error', message })
      this.certificate = watchCertificate(files, tls, CERTIFICATE_LOOK_MS, renew, report)
    }
    return { host: front.host, port: front.port, url: front.url }
  }

  lookAtCertificate(): void {
    this.certificate?.look()
  }

  async close(): Promise<void> {
    this.closing = true
    this.certificate?.stop()
    await this.front?.stop()
  }
}
