// In which form subjects are stored: a userset such as `group#member` as the node of its object, where no other subject of that type
// is possible, else as a node of its own.

import type { RelationGraph } from './relation-graph.ts'
import type { SubjectForm } from './relation-model.ts'

/** A userset that a question has as subject, and the relation that it asks for. */
export interface AskedUserset {
  readonly subject: { readonly type: string; readonly relation: string }
  readonly type: string
  readonly relation: string
}

/** Decides the form of the usersets of a model. */
export class StoredSubjects {
  private readonly withNode = new Set<string>()
  private readonly onlyAsked = new Set<string>()
  private readonly graph: RelationGraph
  private readonly forms = new Map<string, ReadonlySet<string>>()

  /** `asked`: the usersets that questions have as subjects. */
  constructor(graph: RelationGraph, asked: readonly AskedUserset[]) {
    this.graph = graph
    const stored = new Set<string>()
    for (const [type, relations] of graph.model.types) {
      for (const relation of relations.keys()) {
        const subjects = graph.subjects(type, relation)
        for (const form of subjects) stored.add(formText(form))
        this.separate(subjects)
      }
    }
    for (const { subject, type, relation } of asked) {
      const form = formText(subject)
      if (stored.has(form) && this.isDistinct(subject, type, relation)) continue
      if (!graph.model.types.get(subject.type)?.has(subject.relation)) continue
      this.withNode.add(form)
      if (!stored.has(form)) this.onlyAsked.add(form)
    }
  }

  /** Whether the userset is the subject of questions, and of no relationship. */
  isOnlyAsked(type: string, relation: string): boolean {
    return this.onlyAsked.has(`${type}#${relation}`)
  }

  /** Whether the userset has nodes of its own, each with a relationship to the node of its object. */
  hasNode(type: string, relation: string): boolean {
    return this.withNode.has(`${type}#${relation}`)
  }

  /**
   * Whether the node of an object that is a subject of the relation stands for one userset only, so that the userset can be asked. Not
   * if `group#member` and `group#admin`, or `group` itself, both belong to the relation by different ways.
   */
  isDistinct(
    subject: { readonly type: string; readonly relation: string | null },
    type: string,
    relation: string,
  ): boolean {
    if (subject.relation !== null && this.hasNode(subject.type, subject.relation)) return true
    const other = [...this.formsOf(type, relation)].filter((form) => form.split('#')[0] === subject.type)
    const own = formText(subject)
    return other.every((form) => form === own || this.withNode.has(form))
  }

  /** Whether any subject of this form can belong to the relation. */
  mayBelong(
    subject: { readonly type: string; readonly relation: string | null },
    type: string,
    relation: string,
  ): boolean {
    return this.formsOf(type, relation).has(formText(subject))
  }

  /** The forms of subjects that can belong to the relation. */
  private formsOf(type: string, relation: string): ReadonlySet<string> {
    const key = `${type}#${relation}`
    const known = this.forms.get(key)
    if (known !== undefined) return known
    const found = new Set<string>()
    const seen = new Set<string>([key])
    for (const one of seen) {
      const [of, name] = one.split('#') as [string, string]
      for (const form of this.graph.subjects(of, name)) found.add(formText(form))
      for (const use of this.graph.uses(of, name)) seen.add(`${use.type}#${use.relation}`)
    }
    // The usersets of which it is made up belong to it too.
    for (const one of seen) if (this.onlyAsked.has(one)) found.add(one)
    this.forms.set(key, found)
    return found
  }

  private separate(subjects: readonly SubjectForm[]): void {
    for (const { type } of subjects) {
      const forms = new Set(subjects.filter((form) => form.type === type && !form.wildcard).map(formText))
      if (forms.size > 1) for (const form of forms) if (form.includes('#')) this.withNode.add(form)
    }
  }
}

function formText({ type, relation }: { readonly type: string; readonly relation: string | null }): string {
  return relation === null ? type : `${type}#${relation}`
}
