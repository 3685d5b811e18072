// The certificate of the server: read from its two files, and again when they have changed. A pair that does not belong
// together changes nothing, so that a renewal caught half-way does not end the service.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { OperationalError } from '../kernel/errors.ts'

export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

/** Throws OperatorFault. */
export function readCertificate(files: CertificateFiles): CertificatePair {
  const cert = readText(files.certificate)
  const key = readText(files.key)
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key }
  } catch {
    const both = `${files.certificate} and ${files.key}`
    throw new OperationalError(`${both} cannot be used: expected a certificate and its key, both in PEM`)
  }
  throw new OperationalError(`${files.key} is not the key of the certificate in ${files.certificate}`)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new OperationalError(`${path} cannot be read`)
  }
}

export interface CertificateWatcher {
  /** Looks now; answers whether there was a new one. */
  check(): boolean
  stop(): void
}

/** By looking: what replaces a file by a link to another one is not seen by those who wait for an event. */
export function watchCertificate(
  files: CertificateFiles,
  known: CertificatePair,
  everyMs: number,
  onNew: (certificate: CertificatePair) => void,
  onFault: (message: string) => void,
): CertificateWatcher {
  let now = known
  let told = ''
  const look = (): boolean => {
    try {
      const found = readCertificate(files)
      told = ''
      if (found.cert === now.cert && found.key === now.key) return false
      now = found
      onNew(found)
      return true
    } catch (fault) {
      if (!(fault instanceof OperationalError)) throw fault
      // Once for each fault, not with every look.
      if (fault.message !== told) onFault(fault.message)
      told = fault.message
      return false
    }
  }
  const timer = setInterval(look, everyMs)
  timer.unref()
  return { check: look, stop: () => clearInterval(timer) }
}
