// Encrypts every secret in a stored document under the current master key.
import { secretPath } from '../config/kind.ts'
import { isSealedText, type SecretBox } from './secret-box.ts'

/** The result for one document. */
export interface RotatedDocument {
  /** The same object if nothing changed. */
  readonly value: unknown
  /** Paths of secrets that were encrypted with another key before. */
  readonly resealed: readonly string[]
  /** Paths of secrets that already use the current key. */
  readonly upToDate: readonly string[]
  /** Paths of texts that look encrypted and cannot be decrypted: damaged, or written so by a caller. */
  readonly unopened: readonly string[]
}

interface SecretPosition {
  readonly kind: string
  readonly id: string
  readonly path: readonly string[]
}

/**
 * Re-encrypts the secrets of a document. Documents can contain documents: an intent contains the document that was
 * changed.
 */
export function rotateSecrets(document: unknown, box: SecretBox): RotatedDocument {
  const resealed: string[] = []
  const upToDate: string[] = []
  const unopened: string[] = []

  function rotateText(text: string, position: SecretPosition): string {
    if (!isSealedText(text)) return text
    const path = secretPath(position.kind, position.id, position.path.join('.'))
    try {
      const rotated = box.rewrap(text, path)
      ;(rotated === null ? upToDate : resealed).push(path)
      return rotated ?? text
    } catch {
      unopened.push(path)
      return text
    }
  }

  function rotateValue(value: unknown, position: SecretPosition): unknown {
    if (typeof value === 'string') return rotateText(value, position)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      return value.map((item, i) => rotateValue(item, { ...position, path: [...position.path, String(i)] }))
    }
    const { kind, id, fields } = value as Record<string, unknown>
    if (typeof kind === 'string' && typeof id === 'string' && typeof fields === 'object') {
      return { ...value, fields: rotateValue(fields, { kind, id, path: [] }) }
    }
    const members = Object.entries(value).map(([name, member]) => [
      name,
      rotateValue(member, { ...position, path: [...position.path, name] }),
    ])
    return Object.fromEntries(members)
  }

  const value = rotateValue(document, { kind: '', id: '', path: [] })
  return { value: resealed.length === 0 ? document : value, resealed, upToDate, unopened }
}
