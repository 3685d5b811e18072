// Secret fields, named by dotted path: encrypted on input, kept if an update omits them, never returned. A secret is a
// string or a list of strings; each item of a list is encrypted under `<path>.<index>`.
import { type ConfigKind, type DocumentFields, type Sealer, type StoredDocument, secretPath } from './kind.ts'

type FieldPath = readonly string[]

/**
 * Returns the body with every secret encrypted for the document `id`. A secret equal to the stored one keeps its
 * ciphertext.
 */
export function sealSecrets(
  body: DocumentFields,
  kind: Pick<ConfigKind, 'path' | 'secrets'>,
  id: string,
  sealer: Sealer,
  stored: DocumentFields = {},
): DocumentFields {
  const sealedText = (plain: unknown, kept: unknown, path: FieldPath): unknown => {
    if (typeof plain !== 'string' || plain === '') return plain
    const sealedPath = secretPath(kind.path, id, path.join('.'))
    const same = typeof kept === 'string' && kept !== '' && decryptsTo(plain, kept, sealedPath, sealer)
    return same ? kept : sealer.seal(plain, sealedPath)
  }
  return secretPaths(kind, body).reduce((sealed, path) => {
    const plain = memberAt(body, path)
    const storedSecret = memberAt(stored, path)
    const next = Array.isArray(plain)
      ? plain.map((item, i) =>
          sealedText(item, Array.isArray(storedSecret) ? storedSecret[i] : undefined, [...path, String(i)]),
        )
      : sealedText(plain, storedSecret, path)
    return withMember(sealed, path, next)
  }, body)
}

/** Decrypts a stored secret; null if the fields have none at `path`. Throws as `Sealer.open` does. */
export function openSecret(
  { kind, id, fields }: Pick<StoredDocument, 'kind' | 'id' | 'fields'>,
  path: FieldPath,
  sealer: Pick<Sealer, 'open'>,
): string | readonly string[] | null {
  const sealed = memberAt(fields, path)
  // An empty text is stored as it is: an update may send the mask of a member that has no secret yet.
  const open = (text: string, at: FieldPath): string =>
    text === '' ? '' : sealer.open(text, secretPath(kind, id, at.join('.')))
  if (Array.isArray(sealed)) return sealed.map((text: string, i) => open(text, [...path, String(i)]))
  return typeof sealed === 'string' ? open(sealed, path) : null
}

/** Whether `sealed` decrypts to `plain`. A secret whose key is lost counts as different, so it is replaced. */
function decryptsTo(plain: string, sealed: string, sealedPath: string, sealer: Sealer): boolean {
  try {
    return sealer.open(sealed, sealedPath) === plain
  } catch {
    return false
  }
}

/** Copies secrets from the current fields into objects that an update replaced without sending them. */
export function keepStoredSecrets(fields: DocumentFields, current: DocumentFields, kind: ConfigKind): DocumentFields {
  return secretPaths(kind, current).reduce((kept, path) => {
    const container = path.length === 1 ? undefined : memberAt(kept, path.slice(0, -1))
    if (!isObject(container)) return kept
    const given = memberAt(kept, path)
    // A masked member is returned as an empty string, and clients send it back so. An omitted member is removed.
    const keeps = isMasked(kind, path) ? isMaskValue(given) : given === undefined
    return keeps ? withMember(kept, path, memberAt(current, path)) : kept
  }, fields)
}

/**
 * Returns an error for each stored secret that the update does not send and whose destination it changes. `fields` is
 * what would be stored, `given` the request body.
 */
export function redirectedSecretErrors(
  fields: DocumentFields,
  current: DocumentFields,
  given: DocumentFields,
  kind: ConfigKind,
): string[] {
  return kind.secrets.flatMap((pattern) => {
    const destinations = kind.secretDestinations[pattern] ?? []
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

/** The path of the destination, with each `*` replaced by the step of the secret's own path. */
function resolveDestination(path: FieldPath, pattern: FieldPath, destination: FieldPath): FieldPath {
  const stars = path.filter((_, at) => pattern[at] === '*')
  return destination.map((step) => (step === '*' ? (stars.shift() ?? step) : step))
}

/** Removing an address from a list, or switching a flag off, sends the secret to no new destination. */
function isDestinationChanged(after: unknown, before: unknown): boolean {
  if (!Array.isArray(after)) return after !== before && after !== undefined && after !== false
  return !Array.isArray(before) || after.some((address) => !before.includes(address))
}

/** Removes optional secrets that are an empty string, as for any other member. */
export function dropEmptySecrets(fields: DocumentFields, kind: ConfigKind): DocumentFields {
  return secretPaths(kind, fields).reduce(
    (left, path) => (memberAt(left, path) === '' && !isMasked(kind, path) ? withMember(left, path, undefined) : left),
    fields,
  )
}

/** The fields without secrets; masked members become empty strings. */
export function publicFields(fields: DocumentFields, kind: ConfigKind): DocumentFields {
  return secretPaths(kind, fields).reduce(
    (open, path) => withMember(open, path, isMasked(kind, path) ? maskOf(memberAt(fields, path)) : undefined),
    fields,
  )
}

/** The paths of the secrets that these fields have. */
export function secretFieldPaths(fields: DocumentFields, kind: ConfigKind): readonly (readonly string[])[] {
  return secretPaths(kind, fields)
}

/** A masked secret is an empty string. A list keeps its length, so typed clients receive a list. */
function maskOf(secret: unknown): unknown {
  return Array.isArray(secret) ? secret.map(() => '') : ''
}

/** Whether the value is a mask, of a string or of a list, which stands for the stored secret. */
function isMaskValue(given: unknown): boolean {
  return given === '' || (Array.isArray(given) && given.length > 0 && given.every((item) => item === ''))
}

/** The paths of secrets that exist in these fields. */
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

/** Sets one member; undefined removes it. A path that does not exist changes nothing. */
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
