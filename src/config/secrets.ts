// Secret fields, named by dotted path: sealed on their way in, kept when an update leaves them out, never read back. A
// secret is a string, or a list of strings, each of which is sealed at the path `<path>.<index>`.
import { type ConfigKind, type DocumentFields, type Sealer, type StoredDocument, secretPath } from './kind.ts'

type FieldPath = readonly string[]

/** The body with every secret in it sealed for the document `id`; one that is stored already stays as it is. */
export function sealSecrets(
  body: DocumentFields,
  kind: Pick<ConfigKind, 'path' | 'secrets'>,
  id: string,
  sealer: Sealer,
  stored: DocumentFields = {},
): DocumentFields {
  const sealedText = (plain: unknown, kept: unknown, path: FieldPath): unknown => {
    if (typeof plain !== 'string' || plain === '') return plain
    const place = secretPath(kind.path, id, path.join('.'))
    const same = typeof kept === 'string' && kept !== '' && decryptsTo(plain, kept, place, sealer)
    return same ? kept : sealer.seal(plain, place)
  }
  return secretPaths(kind, body).reduce((sealed, path) => {
    const plain = memberAt(body, path)
    const kept = memberAt(stored, path)
    const next = Array.isArray(plain)
      ? plain.map((item, i) => sealedText(item, Array.isArray(kept) ? kept[i] : undefined, [...path, String(i)]))
      : sealedText(plain, kept, path)
    return withMember(sealed, path, next)
  }, body)
}

/** A stored secret in the clear; null where the fields have none at `path`. Throws as `Sealer.open` does. */
export function openSecret(
  { kind, id, fields }: Pick<StoredDocument, 'kind' | 'id' | 'fields'>,
  path: FieldPath,
  sealer: Pick<Sealer, 'open'>,
): string | readonly string[] | null {
  const sealed = memberAt(fields, path)
  const open = (text: string, at: FieldPath): string => sealer.open(text, secretPath(kind, id, at.join('.')))
  if (Array.isArray(sealed)) return sealed.map((text: string, i) => open(text, [...path, String(i)]))
  return typeof sealed === 'string' ? open(sealed, path) : null
}

/** What does not open any more, because its key is lost, is there to be replaced. */
function decryptsTo(plain: string, sealed: string, place: string, sealer: Sealer): boolean {
  try {
    return sealer.open(sealed, place) === plain
  } catch {
    return false
  }
}

/** An object that an update replaced keeps the secrets of its predecessor that the update did not give. */
export function keepStoredSecrets(fields: DocumentFields, current: DocumentFields, kind: ConfigKind): DocumentFields {
  return secretPaths(kind, current).reduce((kept, path) => {
    const container = path.length === 1 ? undefined : memberAt(kept, path.slice(0, -1))
    if (!isObject(container)) return kept
    const given = memberAt(kept, path)
    // A masked member reads back as an empty string, and so it comes back; one that is left out is to go.
    const keeps = isMasked(kind, path) ? isMaskValue(given) : given === undefined
    return keeps ? withMember(kept, path, memberAt(current, path)) : kept
  }, fields)
}

/**
 * Why an update is refused that leaves a stored secret out and sends it elsewhere. `fields` is what would be stored,
 * `given` what the caller sent.
 */
export function redirectedSecretErrors(
  fields: DocumentFields,
  current: DocumentFields,
  given: DocumentFields,
  kind: ConfigKind,
): string[] {
  return kind.secrets.flatMap((pattern) => {
    const destinations = kind.secretDestinations?.[pattern] ?? []
    return pathsIn(fields, pattern.split('.'))
      .filter((path) => memberAt(current, path) !== undefined && isMaskValue(memberAt(given, path) ?? ''))
      .flatMap((path) =>
        destinations
          .map((destination) => resolveDestination(path, pattern.split('.'), destination.split('.')))
          .filter((destination) => isDestinationChanged(memberAt(fields, destination), memberAt(current, destination)))
          .map((destination) => `${path.join('.')}: required again with another \`${destination.join('.')}\``),
      )
  })
}

/** The destination with its stars filled in as they are in the secret's own path. */
function resolveDestination(path: FieldPath, pattern: FieldPath, destination: FieldPath): FieldPath {
  const stars = path.filter((_, at) => pattern[at] === '*')
  return destination.map((step) => (step === '*' ? (stars.shift() ?? step) : step))
}

/** What goes, an address of several for one or a switch that opens the way, shows nothing to anybody new. */
function isDestinationChanged(after: unknown, before: unknown): boolean {
  if (!Array.isArray(after)) return after !== before && after !== undefined && after !== false
  return !Array.isArray(before) || after.some((address) => !before.includes(address))
}

/** An optional secret inside of an object is removed by an empty string, as any field is (facts 1.7.2). */
export function dropEmptySecrets(fields: DocumentFields, kind: ConfigKind): DocumentFields {
  return secretPaths(kind, fields).reduce(
    (left, path) => (memberAt(left, path) === '' && !isMasked(kind, path) ? withMember(left, path, undefined) : left),
    fields,
  )
}

export function publicFields(fields: DocumentFields, kind: ConfigKind): DocumentFields {
  return secretPaths(kind, fields).reduce(
    (open, path) => withMember(open, path, isMasked(kind, path) ? maskOf(memberAt(fields, path)) : undefined),
    fields,
  )
}

/** What a masked secret reads back as: a list keeps its length, so that typed clients find a list again. */
function maskOf(secret: unknown): unknown {
  return Array.isArray(secret) ? secret.map(() => '') : ''
}

/** A mask, of a text or of a list, stands for the stored secret. */
function isMaskValue(given: unknown): boolean {
  return given === '' || (Array.isArray(given) && given.length > 0 && given.every((item) => item === ''))
}

/** The paths of the kind's secrets that lead somewhere in these fields. */
function secretPaths(kind: Pick<ConfigKind, 'secrets'>, fields: DocumentFields): FieldPath[] {
  return kind.secrets.flatMap((pattern) => pathsIn(fields, pattern.split('.')))
}

function pathsIn(value: unknown, [step, ...rest]: FieldPath): FieldPath[] {
  if (step === undefined) return [[]]
  if (!isObject(value)) return []
  const members = step === '*' ? Object.keys(value) : Object.hasOwn(value, step) ? [step] : []
  return members.flatMap((member) => pathsIn(value[member], rest).map((path) => [member, ...path]))
}

function isMasked(kind: ConfigKind, path: FieldPath): boolean {
  return kind.secrets.some((pattern) => {
    const steps = pattern.split('.')
    return (
      steps.at(-1) === '*' && steps.length === path.length && steps.every((step, i) => step === '*' || step === path[i])
    )
  })
}

function memberAt(fields: DocumentFields, path: FieldPath): unknown {
  let value: unknown = fields
  for (const step of path) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined
    value = value[step]
  }
  return value
}

/** Undefined takes the member out; a path that leads nowhere changes nothing. */
function withMember(fields: DocumentFields, [step = '', ...rest]: FieldPath, value: unknown): DocumentFields {
  if (rest.length > 0) {
    const inner = fields[step]
    return isObject(inner) ? { ...fields, [step]: withMember(inner, rest, value) } : fields
  }
  const { [step]: _, ...others } = fields
  return value === undefined ? others : { ...others, [step]: value }
}

function isObject(value: unknown): value is DocumentFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
