// Takes out of a text what looks like a secret: whoever reads a log must not be able to call in somebody's place.

const MASK = '********'

/** Bounded in every repetition that could begin anew within itself: a caller may have written the text. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/vgk_[\w-]+/g, `vgk_${MASK}`],
  // A JWT, or its beginning: the base64 of `{"`
  [/\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, `eyJ${MASK}`],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, `PRIVATE KEY ${MASK}`],
  // `bearer …`, `ApiKey …` of a header
  [/\b(bearer|basic|apikey) +[\w.~+/=-]{12,}/gi, `$1 ${MASK}`],
  // `scheme://user:password@host`
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/"\\]*):[^\s@/"\\]+@/gi, `$1:${MASK}@`],
  // `Endpoint=…;SharedAccessKey=…`
  [/\b(sharedaccesskey|sharedaccesssignature|accountkey|password|pwd)=[^;\s"\\]+/gi, `$1=${MASK}`],
  // A member of JSON, in JSON within JSON too; its value is a string.
  [
    /(\\{0,7}")([\w-]{0,40}(?:password|passphrase|secret|token|api_?key|clientkey|authorization|private_?key|connection_?string|auth_params)[\w-]{0,40})\1(\s{0,4}:\s{0,4})\1(?:[\s\S]{0,8192}?(?<!\\)\1|[\s\S]{8192})/gi,
    `$1$2$1$3$1${MASK}$1`,
  ],
  // The private members of a key
  [/(\\{0,7}")(d|p|q|dp|dq|qi|k)\1(\s{0,4}:\s{0,4})\1[\w-]{16,}\1/g, `$1$2$1$3$1${MASK}$1`],
]

export function maskSecrets(text: string, exact: readonly string[]): string {
  let masked = text
  for (const secret of exact) if (secret !== '') masked = masked.replaceAll(secret, MASK)
  for (const [pattern, replacement] of patterns) masked = masked.replace(pattern, replacement)
  return masked
}
