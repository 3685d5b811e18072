// Secret fields, named by dotted path: sealed on their way in, kept when an update leaves them out, never read back.
import { type ConfigKind, type Fields, type Sealer, secretPlace } from './kind.ts'

/** The body with every secret in it sealed for the document `id`. */
export function sealSecrets(body: Fields, kind: ConfigKind, id: string, sealer: Sealer): Fields {
  return kind.secrets.reduce((sealed, path) => {
    const plain = memberAt(sealed, path)
    return typeof plain === 'string' && plain !== ''
      ? withMember(sealed, path, sealer.seal(plain, secretPlace(kind.path, id, path)))
      : sealed
  }, body)
}

/** An object that an update replaced keeps the secrets of its predecessor that the update did not give. */
export function keepSecrets(fields: Fields, current: Fields, kind: ConfigKind): Fields {
  return kind.secrets.reduce((kept, path) => {
    const stored = memberAt(current, path)
    const container = path.includes('.') ? memberAt(kept, path.slice(0, path.lastIndexOf('.'))) : undefined
    return stored !== undefined && isObject(container) && memberAt(kept, path) === undefined
      ? withMember(kept, path, stored)
      : kept
  }, fields)
}

export function withoutSecrets(fields: Fields, kind: ConfigKind): Fields {
  return kind.secrets.reduce((open, path) => withMember(open, path, undefined), fields)
}

function memberAt(fields: Fields, path: string): unknown {
  let value: unknown = fields
  for (const step of path.split('.')) {
    if (!isObject(value)) return undefined
    value = value[step]
  }
  return value
}

/** Undefined takes the member out; a path that leads nowhere changes nothing. */
function withMember(fields: Fields, path: string, value: unknown): Fields {
  const [step = '', ...rest] = path.split('.')
  if (rest.length > 0) {
    const inner = fields[step]
    return isObject(inner) ? { ...fields, [step]: withMember(inner, rest.join('.'), value) } : fields
  }
  const { [step]: _, ...others } = fields
  return value === undefined ? others : { ...others, [step]: value }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
