// Fills the secrets of a document in, for a request to the service.
import type { DocumentFields } from '../config/kind.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import type { FileDiagnostic } from './file-diagnostic.ts'
import type { FolderDocument } from './project-folder.ts'
import { resolveSecret, type SecretLookup } from './secret-references.ts'

/** The body of a document with its secrets. Adds an error for each secret without a value to `missing`. */
export function bodyWithSecrets(
  document: FolderDocument,
  lookup: SecretLookup,
  missing: FileDiagnostic[],
): DocumentFields {
  return document.secrets.reduce((body, { path, text }) => {
    const resolved = resolveSecret(text, lookup)
    const at = formatPath('', path)
    if (resolved.ok && resolved.value !== '') return withValue(body, path, resolved.value) as DocumentFields
    const reason = resolved.ok ? `the secret \`${text}\` is empty` : `the secret \`${resolved.error}\` is not set`
    missing.push({ ...document.locate(at), message: `${at}: ${reason}` })
    return body
  }, document.body)
}

function withValue(value: unknown, [step, ...rest]: readonly (string | number)[], text: string): unknown {
  if (step === undefined) return text
  if (Array.isArray(value))
    return value.map((item, i) => (i === step ? withValue(item, rest, text) : (item as unknown)))
  const fields = value as DocumentFields
  return { ...fields, [step]: withValue(fields[step], rest, text) }
}
