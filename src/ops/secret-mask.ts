// Masks what looks like a secret in a text, so that a reader of the log cannot use it to authenticate.

const MASK = '********'

/** Every repetition that could overlap itself is bounded, because a caller may have written the text. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/vgk_[\w-]+/g, `vgk_${MASK}`],
  // A JWT or its start: the base64url of `{"`.
  [/\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, `eyJ${MASK}`],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, `PRIVATE KEY ${MASK}`],
  // A header value: `bearer …`, `ApiKey …`.
  [/\b(bearer|basic|apikey) +[\w.~+/=-]{12,}/gi, `$1 ${MASK}`],
  // `scheme://user:password@host`
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/"\\]*):[^\s@/"\\]+@/gi, `$1:${MASK}@`],
  // `Endpoint=…;SharedAccessKey=…`
  [/\b(sharedaccesskey|sharedaccesssignature|accountkey|password|pwd)=[^;\s"\\]+/gi, `$1=${MASK}`],
  // A JSON member whose value is a string, also in JSON nested in a JSON string.
  [
    /(\\{0,7}")([\w-]{0,40}(?:password|passphrase|secret|token|api_?key|clientkey|authorization|private_?key|connection_?string|auth_params)[\w-]{0,40})\1(\s{0,4}:\s{0,4})\1(?:[\s\S]{0,8192}?(?<!\\)\1|[\s\S]{8192})/gi,
    `$1$2$1$3$1${MASK}$1`,
  ],
  // The private members of a JWK.
  [/(\\{0,7}")(d|p|q|dp|dq|qi|k)\1(\s{0,4}:\s{0,4})\1[\w-]{16,}\1/g, `$1$2$1$3$1${MASK}$1`],
]

/** Replaces secrets by `********`: the texts in `exact`, and everything that matches a pattern. */
export function maskSecrets(text: string, exact: readonly string[]): string {
  let masked = text
  for (const secret of exact) if (secret !== '') masked = masked.replaceAll(secret, MASK)
  for (const [pattern, replacement] of patterns) masked = masked.replace(pattern, replacement)
  return masked
}
