// The certificate of the server: read from its two files, and again when they have changed. A pair that does not belong
// together changes nothing, so that a renewal caught half-way does not end the service.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { OperatorFault } from '../kernel/errors.ts'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

/** Throws OperatorFault. */
export function readCertificate(files: CertificateFiles): Certificate {
  const cert = readText(files.certificate)
  const key = readText(files.key)
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key }
  } catch {
    const both = `${files.certificate} and ${files.key}`
    throw new OperatorFault(`${both} cannot be used: expected a certificate and its key, both in PEM`)
  }
  throw new OperatorFault(`${files.key} is not the key of the certificate in ${files.certificate}`)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new OperatorFault(`${path} cannot be read`)
  }
}

export interface CertificateWatch {
  /** Looks now; answers whether there was a new one. */
  look(): boolean
  stop(): void
}

/** By looking: what replaces a file by a link to another one is not seen by those who wait for an event. */
export function watchCertificate(
  files: CertificateFiles,
  known: Certificate,
  everyMs: number,
  onNew: (certificate: Certificate) => void,
  onFault: (message: string) => void,
): CertificateWatch {
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
      if (!(fault instanceof OperatorFault)) throw fault
      // Once for each fault, not with every look.
      if (fault.message !== told) onFault(fault.message)
      told = fault.message
      return false
    }
  }
  const timer = setInterval(look, everyMs)
  timer.unref()
  return { look, stop: () => clearInterval(timer) }
}
