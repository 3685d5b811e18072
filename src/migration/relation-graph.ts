// How the relations of a model depend on each other, and which cannot be defined by one name for all types, or at all without levels.
import { directSubjects, type RelationExpression, type RelationModel, type SubjectForm } from './relation-model.ts'

/** A relation of one type that another one uses. */
interface RelationUse {
  readonly type: string
  readonly relation: string
  /** Whether more of it can mean less of the user: it is excluded, or all of its objects are asked. */
  readonly isNegative: boolean
}

/** The relations of a model. */
export class RelationGraph {
  readonly model: RelationModel
  /** Relations of which each type has a definition of its own, because one for all would exclude itself. */
  readonly split = new Set<string>()
  /** Keys of definitions that depend on what they exclude. */
  readonly unstratified = new Set<string>()
  private components = new Map<string, number>()

  constructor(model: RelationModel) {
    this.model = model
    for (;;) {
      const faults = this.excludedCycles()
      const before = this.split.size
      for (const { relation } of faults) this.split.add(relation)
      if (this.split.size > before) continue
      for (const { type, relation } of faults) this.unstratified.add(this.keyOf(type, relation))
      break
    }
  }

  /** Whether any relation excludes another one, or asks all objects. */
  get hasExclusions(): boolean {
    return [...this.model.types].some(([type, relations]) =>
      [...relations.keys()].some((relation) => this.uses(type, relation).some(({ isNegative }) => isNegative)),
    )
  }

  /** The types that have a relation. */
  typesWith(relation: string): readonly string[] {
    return [...this.model.types].filter(([, relations]) => relations.has(relation)).map(([type]) => type)
  }

  /** The definition to which a relation of a type belongs. */
  keyOf(type: string, relation: string): string {
    return this.split.has(relation) ? `${type}#${relation}` : relation
  }

  /** Whether both belong to one cycle of definitions. */
  isOneCycle(key: string, other: string): boolean {
    return this.components.get(key) === this.components.get(other)
  }

  /** The subjects that a relation of a type accepts directly. */
  subjects(type: string, relation: string): readonly SubjectForm[] {
    return directSubjects(this.model.types.get(type)?.get(relation))
  }

  /** The types of the objects to which a relation leads. */
  objectTypes(type: string, through: string): readonly string[] {
    const types = this.subjects(type, through).flatMap((form) => (form.wildcard ? [] : [form.type]))
    return [...new Set(types)]
  }

  /** The relations that a relation of a type uses. */
  uses(type: string, relation: string): readonly RelationUse[] {
    const expression = this.model.types.get(type)?.get(relation)
    return expression === undefined ? [] : [...this.usesIn(type, expression, false)]
  }

  private *usesIn(type: string, expression: RelationExpression, isNegative: boolean): Generator<RelationUse> {
    switch (expression.kind) {
      case 'direct':
        for (const form of expression.subjects) {
          if (form.relation !== null && this.has(form.type, form.relation)) {
            yield { type: form.type, relation: form.relation, isNegative }
          }
        }
        return
      case 'relation':
        if (this.has(type, expression.name)) yield { type, relation: expression.name, isNegative }
        return
      case 'arrow':
        for (const object of this.objectTypes(type, expression.through)) {
          if (!this.has(object, expression.name)) continue
          yield { type: object, relation: expression.name, isNegative: isNegative || expression.every }
        }
        return
      case 'any':
      case 'all':
        for (const part of expression.of) yield* this.usesIn(type, part, isNegative)
        return
      case 'except':
        yield* this.usesIn(type, expression.base, isNegative)
        yield* this.usesIn(type, expression.minus, true)
        return
      case 'none':
      case 'self':
        return
    }
  }

  private has(type: string, relation: string): boolean {
    return this.model.types.get(type)?.has(relation) ?? false
  }

  /** The relations of cycles in which one excludes another. */
  private excludedCycles(): readonly { readonly type: string; readonly relation: string }[] {
    const all = [...this.model.types].flatMap(([type, relations]) =>
      [...relations.keys()].map((relation) => ({ type, relation, key: this.keyOf(type, relation) })),
    )
    const uses = new Map<string, Set<string>>()
    const negative: (readonly [string, string])[] = []
    for (const { type, relation, key } of all) {
      const used = uses.get(key) ?? new Set()
      uses.set(key, used)
      for (const use of this.uses(type, relation)) {
        const other = this.keyOf(use.type, use.relation)
        used.add(other)
        if (use.isNegative) negative.push([key, other])
      }
    }
    this.components = componentsOf(uses)
    const faulty = new Set(
      negative.filter(([key, other]) => this.isOneCycle(key, other)).map(([key]) => this.components.get(key)),
    )
    return all.filter(({ key }) => faulty.has(this.components.get(key)))
  }
}

/** The strongly connected components, as a number for each key. */
function componentsOf(uses: ReadonlyMap<string, ReadonlySet<string>>): Map<string, number> {
  const reached = new Map([...uses.keys()].map((key) => [key, reachedFrom(key, uses)]))
  const components = new Map<string, number>()
  let count = 0
  for (const key of uses.keys()) {
    if (components.has(key)) continue
    count += 1
    components.set(key, count)
    for (const other of reached.get(key)!) if (reached.get(other)?.has(key)) components.set(other, count)
  }
  return components
}

function reachedFrom(key: string, uses: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set(uses.get(key))
  for (const one of reached) for (const next of uses.get(one) ?? []) reached.add(next)
  return reached
}
