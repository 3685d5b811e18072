// The filter of records: which bundles the index has to look for, and which of their entries match.
import { eventTypeNames } from '../../events/event-types.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { AUDIT_DIMENSION, type AuditDimension, type AuditFilter } from '../../store/audit/audit-types.ts'
import type { EntryDescription } from '../entry-terms.ts'

/** A filter of records. */
export interface RecordFilter {
  readonly index: AuditFilter
  /** Texts that an entry contains if it matches: entries without them need not be parsed. */
  readonly texts: readonly Buffer[]
  /** The same for entries whose payload is not outside of them. */
  readonly actorText: Buffer | null
  /** The filter as it was given; null: every record matches. */
  readonly given: Readonly<Record<string, string>> | null
  matches(entry: EntryDescription): boolean
}

const NAMES = ['from', 'to', 'type', 'actor', 'resource'] as const
/** Characters that JSON writes as they are. */
const PLAIN = /^[ !#-[\]-~]+$/

/** Reads the filter of a query. Error: `malformed` if it can match nothing. */
export function readRecordFilter(query: URLSearchParams): Result<RecordFilter, ServiceError> {
  const [from, to, type, actor, resource] = NAMES.map((name) => query.get(name))
  const fromMs = from === null || from === undefined ? null : Date.parse(from)
  const toMs = to === null || to === undefined ? null : Date.parse(to)
  if (fromMs !== null && toMs !== null && fromMs >= toMs) return malformed('to: expected a time after `from`')
  const types = type === null || type === undefined ? null : typesMatching(type)
  if (types !== null && types.length === 0) return malformed(`type: no event type matches \`${type}\``)
  const given = NAMES.flatMap((name) => (query.has(name) ? [[name, query.get(name) as string] as const] : []))
  const isOf = ({ terms }: EntryDescription, dimension: AuditDimension, values: readonly string[] | null): boolean =>
    values === null || terms.some((term) => term.dimension === dimension && values.includes(term.value))
  const actors = actor === null || actor === undefined ? null : [actor]
  const resources = resource === null || resource === undefined ? null : [resource]
  const texts = [types?.length === 1 ? (types[0] ?? '') : '', resource ?? ''].filter((text) => PLAIN.test(text))
  return ok({
    index: {
      ...(types !== null && { types }),
      ...(actors !== null && { actors }),
      ...(resources !== null && { resources }),
      ...(fromMs !== null && { fromMs }),
      ...(toMs !== null && { toMs }),
    },
    texts: texts.map((text) => Buffer.from(text)),
    actorText: actor !== null && actor !== undefined && PLAIN.test(actor) ? Buffer.from(actor) : null,
    given: given.length === 0 ? null : Object.fromEntries(given),
    matches: (entry) =>
      (fromMs === null || entry.timeMs >= fromMs) &&
      (toMs === null || entry.timeMs < toMs) &&
      isOf(entry, AUDIT_DIMENSION.type, types) &&
      isOf(entry, AUDIT_DIMENSION.actor, actors) &&
      isOf(entry, AUDIT_DIMENSION.resource, resources),
  })
}

/** Entries have their exact type: only types of this version can be found by a wildcard. */
function typesMatching(type: string): readonly string[] {
  if (!type.endsWith('*')) return [type]
  return eventTypeNames.filter((name) => name.startsWith(type.slice(0, -1)))
}

function malformed(issue: string): Result<never, ServiceError> {
  return err({ kind: 'malformed', issues: [issue] })
}
