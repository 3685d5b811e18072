// Compares imported lines with the declared types of their project, as a capture does: closed types refuse a line, and open ones count it.
import type { NodeKey, WriteBatch } from '../../engine/store.ts'
import { DeclaredTypes } from '../../model/declared-types.ts'
import { definedNames, type StoredModel, typesOf } from '../../model/stored-model.ts'
import type { BulkNode, BulkRelationship } from '../../store/graph/bulk-batch.ts'
import { LineError } from '../lines/line-fields.ts'

/** Lines that are named for one fault. */
const EXAMPLES_MAX = 3
/** Different faults that are kept: more would not be read. */
const FAULTS_MAX = 100

/** Lines that open types do not allow. */
export class UnfitLines {
  count = 0
  private readonly byFault = new Map<string, { count: number; readonly lines: number[] }>()

  /** `line`: its number, from 1. */
  add(line: number, faults: readonly string[]): void {
    this.count += 1
    for (const fault of faults) {
      const known = this.byFault.get(fault)
      if (known === undefined && this.byFault.size >= FAULTS_MAX) continue
      const kept = known ?? { count: 0, lines: [] }
      kept.count += 1
      if (kept.lines.length < EXAMPLES_MAX) kept.lines.push(line)
      this.byFault.set(fault, kept)
    }
  }

  /** One warning for each fault, the most frequent first. */
  warnings(): readonly string[] {
    return [...this.byFault]
      .sort(([, a], [, b]) => b.count - a.count || a.lines[0]! - b.lines[0]!)
      .map(([fault, { count, lines }]) => {
        const subject = count === 1 ? '1 line does not fit the model' : `${count} lines do not fit the model`
        return `${subject}: ${fault}; such as line ${lines.join(', ')}`
      })
  }
}

/** The lines of one graph. */
export class LineTypes {
  private readonly types: DeclaredTypes | null
  private readonly defined: ReadonlySet<string>
  private readonly labelsOutside: (key: NodeKey) => readonly string[] | null

  /** `labelsOutside`: the labels of a node in a graph that the batch does not write, in a dry run; null: it is not there. */
  constructor(model: StoredModel, labelsOutside: (key: NodeKey) => readonly string[] | null) {
    const types = typesOf(model)
    this.types = types && new DeclaredTypes(types)
    this.defined = new Set(definedNames(model))
    this.labelsOutside = labelsOutside
  }

  /** A node with temporal values in place of their texts. */
  node(node: BulkNode): BulkNode {
    return this.types === null ? node : { ...node, ...this.types.node(node) }
  }

  /** As `node`. Throws LineError for the type of a definition, which cannot be stored. */
  relationship(relationship: BulkRelationship): BulkRelationship {
    const { type } = relationship
    if (this.defined.has(type))
      throw new LineError(
        'relationship.type',
        `\`${type}\` is a definition of the model of the project, and cannot be stored`,
      )
    return this.types === null ? relationship : { ...relationship, ...this.types.relationship(relationship) }
  }

  /** The faults of a node as its line leaves it. Throws LineError if the types are closed. */
  nodeFaults(batch: WriteBatch, node: BulkNode): readonly string[] {
    if (this.types === null) return []
    // The rest of a node that exists outside is not known.
    const isPart = this.labelsOutside(node) !== null
    return this.checked('node', isPart ? this.types.nodeRequest(node) : this.types.written(batch, node))
  }

  /** The faults of a relationship with the properties of its line. Throws LineError if the types are closed. */
  relationshipFaults(batch: WriteBatch, relationship: BulkRelationship): readonly string[] {
    if (this.types === null) return []
    const labelsOf = (key: NodeKey): readonly string[] => [
      ...new Set([...(batch.nodeImage(key)?.labels ?? []), ...(this.labelsOutside(key) ?? [])]),
    ]
    return this.checked('relationship', this.types.loaded(relationship, labelsOf))
  }

  private checked(member: string, faults: readonly string[]): readonly string[] {
    if (faults.length > 0 && this.types?.isClosed === true) throw new LineError(member, faults.join('; '))
    return faults
  }
}
