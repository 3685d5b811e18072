// The version of a policy document: accepts the spellings of older documents, and gives the version that is executed.
// The stored text keeps the author's spelling; everything that reads a document for execution goes through this file
// (docs/decisions/0008-policy-filters-and-parameters.md).
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** The older spelling of `2.0-kbac`. */
const legacyVersion = '1.0-svc'

/** Returns the version that a parsed policy document is executed as; empty if it has none. */
export function executedVersion(document: unknown): string {
  const meta = isJsonObject(document) ? document.meta : undefined
  if (!isJsonObject(meta)) return ''
  const version = meta.policy_version ?? meta.policyVersion
  return typeof version === 'string' ? executed(version) : ''
}

/**
 * Returns a parsed policy document with the member `meta.policy_version` alone, which holds the version that is
 * executed. Other documents are returned unchanged, for the validation to refuse. Error: the document gives two
 * different versions, or null in the older spelling.
 */
export function withExecutedVersion(document: unknown): Result<unknown, readonly string[]> {
  if (!isJsonObject(document) || !isJsonObject(document.meta)) return ok(document)
  const { policyVersion, ...meta } = document.meta
  if (policyVersion === null) return err(['policy.meta.policyVersion: expected string, found null'])
  if (policyVersion !== undefined) {
    if (!Object.hasOwn(meta, 'policy_version')) meta.policy_version = policyVersion
    // The validation refuses null.
    if (meta.policy_version !== null && meta.policy_version !== policyVersion) {
      return err([
        'policy.meta.policyVersion: differs from `policy_version`, of which it is another spelling; give one of them',
      ])
    }
  }
  if (typeof meta.policy_version === 'string') meta.policy_version = executed(meta.policy_version)
  return ok({ ...document, meta })
}

function executed(version: string): string {
  return version === legacyVersion ? '2.0-kbac' : version
}
