// Finds query parameters of a URL whose names say that their values are secrets. A configuration shows and stores URLs as they are.

/** Words of names whose values are secrets. */
const SECRET_WORDS = /^(?:apikey|token|secret|password|passwd|pwd|passphrase|credentials?|signature|jwt)$/
/** Names that are secrets as a whole: as a part of others, such as `sort_key`, they are not. */
const SECRET_NAMES = /^(?:key|auth|authorization|bearer|sig|sas)$/
/** A key that is one by the word before it. */
const SECRET_KEYS = /(?:^| )(?:api|access|secret|private|auth|client|subscription|license|account) ?key(?: |$)/
const PARAMETER = /([?&])([^=&#]*)=([^&#]*)/g
/** A placeholder of a template; with a default the value is in the template. */
const PLACEHOLDER = /\{\$[^{}|]*\}/g

/** The names of the query parameters with a secret as their value. A placeholder is not one. */
export function secretParametersOf(url: string): readonly string[] {
  return Array.from(url.matchAll(PARAMETER)).flatMap(([, , name = '', value = '']) =>
    isSecret(name, value) ? [decoded(name)] : [],
  )
}

/** The URL with `(secret)` for each such value. */
export function withoutSecretParameters(url: string): string {
  return url.replace(PARAMETER, (whole, before: string, name: string, value: string) =>
    isSecret(name, value) ? `${before}${name}=(secret)` : whole,
  )
}

function isSecret(encodedName: string, value: string): boolean {
  if (value.replace(PLACEHOLDER, '') === '') return false
  const words = decoded(encodedName)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
  const name = words.join(' ')
  return SECRET_NAMES.test(name) || SECRET_KEYS.test(name) || words.some((word) => SECRET_WORDS.test(word))
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
