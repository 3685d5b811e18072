// Reads relationships in the notation of SpiceDB, such as `document:1#viewer@group:eng#member[only_on_weekdays:{"tz":"utc"}]`.
import { MigrationError, type RelationTuple } from '../relation-model.ts'

const RELATIONSHIP =
  /^([^\s:#@[\]]+):([^#@[\s]+)#([^@\s]+)@([^\s:#@[\]]+):([^#[\s]+)(?:#([^\s[]+))?\s*(?:\[([\w/]+)(?::(\{[\s\S]*?\}))?\])?\s*(?:\[expiration:([^\]]+)\])?$/

/** Reads a relationship. Throws a MigrationError if the text has another form. */
export function readSpiceDbRelationship(text: string): RelationTuple {
  const found = RELATIONSHIP.exec(text.trim())
  if (found === null) throw new MigrationError(`\`${text}\` is not a relationship`)
  const [, type, id, relation, subjectType, subjectId, subjectRelation, caveat, context, expiration] = found
  return {
    subject: {
      type: subjectType!,
      id: subjectId!,
      relation: subjectRelation === undefined || subjectRelation === '...' ? null : subjectRelation,
    },
    relation: relation!,
    object: { type: type!, id: id! },
    condition:
      caveat === undefined
        ? null
        : { name: caveat, context: (context === undefined ? {} : JSON.parse(context)) as Record<string, unknown> },
    expiration: expiration ?? null,
  }
}
