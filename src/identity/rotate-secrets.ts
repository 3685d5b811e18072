// Goes through a stored document and brings every sealed text in it under the present master key.
import { secretPath } from '../config/kind.ts'
import { isSealedText, type SecretBox } from './secret-box.ts'

export interface RotatedDocument {
  /** The same value where nothing had to be done. */
  readonly value: unknown
  /** Places that were sealed with another key before. */
  readonly resealed: readonly string[]
  /** Places that are sealed as they should be. */
  readonly upToDate: readonly string[]
  /** Places that hold what looks sealed and does not open: damaged, or the words of somebody who wrote it so. */
  readonly unopened: readonly string[]
}

interface SecretPosition {
  readonly kind: string
  readonly id: string
  readonly path: readonly string[]
}

/** Documents lie in documents: what is still to be done of a change holds the one that was changed. */
export function rotateSecrets(document: unknown, box: SecretBox): RotatedDocument {
  const resealed: string[] = []
  const kept: string[] = []
  const unopened: string[] = []

  function textIn(text: string, { kind, id, path }: SecretPosition): string {
    if (!isSealedText(text)) return text
    const place = secretPath(kind, id, path.join('.'))
    try {
      const anew = box.rewrap(text, place)
      ;(anew === null ? kept : resealed).push(place)
      return anew ?? text
    } catch {
      unopened.push(place)
      return text
    }
  }

  function valueIn(value: unknown, place: SecretPosition): unknown {
    if (typeof value === 'string') return textIn(value, place)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      return value.map((item, i) => valueIn(item, { ...place, path: [...place.path, String(i)] }))
    }
    const { kind, id, fields } = value as Record<string, unknown>
    if (typeof kind === 'string' && typeof id === 'string' && typeof fields === 'object') {
      return { ...value, fields: valueIn(fields, { kind, id, path: [] }) }
    }
    const members = Object.entries(value).map(([name, member]) => [
      name,
      valueIn(member, { ...place, path: [...place.path, name] }),
    ])
    return Object.fromEntries(members)
  }

  const value = valueIn(document, { kind: '', id: '', path: [] })
  return { value: resealed.length === 0 ? document : value, resealed, upToDate: kept, unopened }
}
