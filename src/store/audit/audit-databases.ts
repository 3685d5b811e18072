// The named databases of the audit index, their keys and values.
import type { ValueView } from '../format/bytes.ts'
import { type AuditKey, type AuditPostingKey, auditKeys, auditPostingKeys } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import { AUDIT_DESCRIPTION, openKeyed } from '../lmdb/databases.ts'
import type { EnvironmentFile } from '../lmdb/environment-file.ts'
import type { AuditPosition } from './audit-types.ts'

const WORD = 2 ** 32

/** The key of an entry. */
export function auditKey(kind: number, name: string, number = 0, part = ''): AuditKey {
  return { kind, name, part, number }
}

/** The number of a bundle in its key. */
export function bundleNumber({ generation, bundle }: AuditPosition): number {
  return generation * WORD + bundle
}

/** The named databases of the audit index. */
export interface AuditDatabases {
  readonly entries: Database<AuditKey>
  readonly postings: Database<AuditPostingKey>
}

/** Opens the databases of the audit index. */
export function openAuditDatabases(file: EnvironmentFile): AuditDatabases {
  return {
    entries: openKeyed(file, 'audit', auditKeys, AUDIT_DESCRIPTION),
    postings: openKeyed(file, 'audit-postings', auditPostingKeys, AUDIT_DESCRIPTION),
  }
}

/** Reads the value of an entry. */
export function readAuditValue<T>({ view, text }: ValueView): T {
  return JSON.parse(text.toString('utf8', 4, 4 + view.getUint32(0, true))) as T
}
