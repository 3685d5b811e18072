// An authorization model of relations: the form into which the models of OpenFGA and SpiceDB are read, and from which the text of a
// model of this product is written.

/** The type of a parameter of a condition. Lists and maps have the type of their values. */
export type ConditionType = string | { readonly list: ConditionType } | { readonly map: ConditionType }

/** A condition of a relationship: an expression in the Common Expression Language (CEL). */
export interface RelationCondition {
  readonly name: string
  readonly parameters: ReadonlyMap<string, ConditionType>
  readonly expression: string
}

/** Which subjects a relation accepts directly. */
export interface SubjectForm {
  readonly type: string
  /** The relation of a userset, such as `member` in `group#member`; null for an object. */
  readonly relation: string | null
  /** All objects of the type, as in `user:*`. */
  readonly wildcard: boolean
  /** The name of a condition; null: none. */
  readonly condition: string | null
  /** Whether the relationship may have a time at which it ends. */
  readonly expires: boolean
}

/** How a relation or a permission follows from relationships. */
export type RelationExpression =
  | { readonly kind: 'direct'; readonly subjects: readonly SubjectForm[] }
  /** Another relation of the same object. */
  | { readonly kind: 'relation'; readonly name: string }
  /** A relation of the objects to which `through` leads; `every`: of each of them, and at least one. */
  | { readonly kind: 'arrow'; readonly through: string; readonly name: string; readonly every: boolean }
  | { readonly kind: 'any' | 'all'; readonly of: readonly RelationExpression[] }
  | { readonly kind: 'except'; readonly base: RelationExpression; readonly minus: RelationExpression }
  /** No subject. */
  | { readonly kind: 'none' }
  /** The object itself. */
  | { readonly kind: 'self' }

/** The relations of one type, by name, in the order of the text. */
export type TypeRelations = ReadonlyMap<string, RelationExpression>

/** A whole model. */
export interface RelationModel {
  readonly types: ReadonlyMap<string, TypeRelations>
  readonly conditions: ReadonlyMap<string, RelationCondition>
}

/** A relationship of such a model, as in `group:eng#member viewer doc:1`. */
export interface RelationTuple {
  readonly subject: { readonly type: string; readonly id: string; readonly relation: string | null }
  readonly relation: string
  readonly object: { readonly type: string; readonly id: string }
  readonly condition: { readonly name: string; readonly context: Readonly<Record<string, unknown>> } | null
  /** The time at which it ends, as RFC 3339; null: it has none. */
  readonly expiration: string | null
}

/** A fault in a text of a peer, with its place. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** The subjects that an expression accepts directly. */
export function directSubjects(expression: RelationExpression | undefined): readonly SubjectForm[] {
  if (expression === undefined) return []
  switch (expression.kind) {
    case 'direct':
      return expression.subjects
    case 'any':
    case 'all':
      return expression.of.flatMap(directSubjects)
    case 'except':
      return [...directSubjects(expression.base), ...directSubjects(expression.minus)]
    case 'relation':
    case 'arrow':
    case 'none':
    case 'self':
      return []
  }
}

/** Whether the model accepts the relationship. */
export function isAccepted(model: RelationModel, { subject, relation, object, condition }: RelationTuple): boolean {
  return directSubjects(model.types.get(object.type)?.get(relation)).some(
    (form) =>
      form.type === subject.type &&
      form.wildcard === (subject.id === '*') &&
      form.relation === subject.relation &&
      form.condition === (condition?.name ?? null),
  )
}
