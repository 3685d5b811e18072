// What a record shows in the list: type, actor, subject, and the differences of a change.
import type { RecordEntry } from './audit-api.ts'

/** `config.update` for `svc.audit.config.update`. */
export function shortType({ type }: RecordEntry): string {
  return type.replace(/^svc\.audit\./, '')
}

/** The caller: its kind and id; empty: none. */
export function actorText({ data }: RecordEntry): string {
  const actor = data?.actor as { readonly type?: unknown; readonly id?: unknown; readonly name?: unknown } | undefined
  if (actor === undefined || actor === null) return ''
  return [actor.type, actor.name ?? actor.id].filter((part) => typeof part === 'string').join(' ')
}

/** A member that differs. `before`, `after`: undefined if the member is absent. */
interface ChangedMember {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

type DocumentMembers = Readonly<Record<string, unknown>>

/** The members of a document that a record has changed; null: the record is not about a change of a document. */
export function changesOf({ type, data }: RecordEntry): readonly ChangedMember[] | null {
  const detail = data?.detail as { readonly configuration?: DocumentMembers } | undefined
  if (type === 'svc.audit.config.create') return differences({}, detail?.configuration ?? {})
  if (type === 'svc.audit.config.update')
    return differences((data?.before ?? {}) as DocumentMembers, (data?.after ?? {}) as DocumentMembers)
  return null
}

function differences(before: DocumentMembers, after: DocumentMembers): readonly ChangedMember[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .map((name) => ({ name, before: before[name], after: after[name] }))
    .filter((one) => JSON.stringify(one.before) !== JSON.stringify(one.after))
}

/** A value for people: a text without quotes, JSON in a text with lines. */
export function valueText(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value !== 'string') return JSON.stringify(value, null, 2)
  try {
    const inner: unknown = JSON.parse(value)
    return typeof inner === 'object' && inner !== null ? JSON.stringify(inner, null, 2) : value
  } catch {
    return value
  }
}
