// The TLS certificate of the server: read from two files, and again when they change. A pair that does not match is
// ignored, so a renewal in progress does not interrupt the service.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { OperationalError } from '../kernel/errors.ts'

/** A certificate and its private key, as PEM. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

/** The paths of both files. */
export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

/** Reads both files. Throws OperationalError if one cannot be read or parsed, or if they do not match. */
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

/** A periodic check for a new certificate. */
export interface CertificateWatcher {
  /** Checks now; returns whether there was a new certificate. */
  check(): boolean
  stop(): void
}

/**
 * Checks the files every `everyMs` milliseconds and calls `onNew` with a new pair. Polls, because file events miss a
 * file that is replaced by a symbolic link. `onFault` receives each distinct error once.
 */
export function watchCertificate(
  files: CertificateFiles,
  known: CertificatePair,
  everyMs: number,
  onNew: (certificate: CertificatePair) => void,
  onFault: (message: string) => void,
): CertificateWatcher {
  let current = known
  let reported = ''
  const check = (): boolean => {
    try {
      const found = readCertificate(files)
      reported = ''
      if (found.cert === current.cert && found.key === current.key) return false
      current = found
      onNew(found)
      return true
    } catch (fault) {
      if (!(fault instanceof OperationalError)) throw fault
      // Reported once per error, not at each check.
      if (fault.message !== reported) onFault(fault.message)
      reported = fault.message
      return false
    }
  }
  const timer = setInterval(check, everyMs)
  timer.unref()
  return { check, stop: () => clearInterval(timer) }
}
