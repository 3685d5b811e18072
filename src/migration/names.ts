// The names of a converted model: types as labels, stored relationships in capitals, derived ones as the original has them.
import type { RelationModel } from './relation-model.ts'

/** A name that differs from the one of the original. */
interface Renaming {
  readonly what: 'type' | 'relation'
  readonly from: string
  readonly to: string
}

/** The names for one model. */
export class MigrationNames {
  readonly renamings: Renaming[] = []
  /** The type of the relationship from the node of a userset to the node of its object. */
  readonly ofObject: string
  private readonly labels: ReadonlyMap<string, string>
  private readonly stored: ReadonlyMap<string, string>
  private readonly derived: ReadonlyMap<string, string>
  private readonly taken = new Set<string>()

  constructor(model: RelationModel) {
    const relations = [...new Set([...model.types.values()].flatMap((type) => [...type.keys()]))]
    const labels = new Set<string>()
    this.labels = new Map([...model.types.keys()].map((type) => [type, unused(word(type), labels)]))
    this.derived = new Map(relations.map((relation) => [relation, unused(word(relation), this.taken)]))
    this.stored = new Map(relations.map((relation) => [relation, unused(word(relation).toUpperCase(), this.taken)]))
    this.ofObject = unused('OF', this.taken)
    for (const [from, to] of this.labels) if (from !== to) this.renamings.push({ what: 'type', from, to })
    for (const [from, to] of this.derived) if (from !== to) this.renamings.push({ what: 'relation', from, to })
  }

  /** The label of the nodes of a type. */
  label(type: string): string {
    return this.labels.get(type) ?? word(type)
  }

  /** The label of the nodes that stand for a userset, such as `group#member`. */
  usersetLabel(type: string, relation: string): string {
    return `${this.label(type)}_${word(relation)}`
  }

  /** The type of the stored relationships of a relation. */
  storedType(relation: string): string {
    return this.stored.get(relation) ?? word(relation).toUpperCase()
  }

  /** The name of the derived relationships of a relation. */
  derivedType(relation: string): string {
    return this.derived.get(relation) ?? word(relation)
  }

  /** A name for a further definition. */
  further(wanted: string): string {
    return unused(word(wanted), this.taken)
  }
}

/** Letters, digits and underscores, at least two, of which the first is no digit. */
function word(name: string): string {
  const text = name.replace(/\W/g, '_')
  const start = /^\d/.test(text) ? `_${text}` : text
  return start.length < 2 ? `${start}_` : start
}

function unused(wanted: string, taken: Set<string>): string {
  let name = wanted
  while (taken.has(name)) name += '_'
  taken.add(name)
  return name
}
