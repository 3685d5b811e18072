// Encrypts the secrets of the audit logs with another master key: private platform keys, and the keys of hashes.
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import { hashKeyPath } from './log-sealer.ts'
import { platformKeyPath } from './platform-keys.ts'

/** The result of a rotation, by path of the secret. */
export interface RotatedAuditSecrets {
  readonly resealed: readonly string[]
  readonly upToDate: readonly string[]
  /** Damaged, or encrypted with an unknown key. */
  readonly unopened: readonly string[]
}

/**
 * Encrypts all secrets of the index again, in one transaction. `rewrap`: encrypts under the present master key; null: it is
 * already; throws if it cannot decrypt.
 */
export async function rotateAuditSecrets(
  index: AuditIndex,
  rewrap: (sealed: string, path: string) => string | null,
): Promise<RotatedAuditSecrets> {
  const resealed: string[] = []
  const upToDate: string[] = []
  const unopened: string[] = []
  const attempt = (sealed: string, path: string): string | null => {
    try {
      const rotated = rewrap(sealed, path)
      ;(rotated === null ? upToDate : resealed).push(path)
      return rotated
    } catch {
      unopened.push(path)
      return null
    }
  }
  const keys = index.keys().filter(({ sealedPrivate }) => sealedPrivate !== '')
  const logs = index.logs()
  await index.write((edits) => {
    for (const key of keys) {
      const sealedPrivate = attempt(key.sealedPrivate, platformKeyPath(key.kid))
      if (sealedPrivate !== null) edits.putKey({ ...key, sealedPrivate })
    }
    for (const log of logs) {
      const hashKey = attempt(log.hashKey, hashKeyPath(log.id))
      if (hashKey !== null) edits.putLog({ ...log, hashKey })
    }
  })
  return { resealed, upToDate, unopened }
}
