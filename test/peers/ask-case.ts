// Asks the questions of a case, with definitions that the product's own readers wrote for the model of the peer.
import { fromJson } from '../../src/engine/value/json-conversion.ts'
import type { PropertyValue } from '../../src/engine/value/value.ts'
import { CompileError, ExecutionError, Graph, openStore } from '../../src/index.ts'
import { InvalidElementError } from '../../src/kernel/errors.ts'
import {
  capturedRelationships,
  type MigratedNode,
  type MigratedRelationship,
  ownMembership,
  requestParameters,
  subjectNode,
  usersetRelationships,
} from '../../src/migration/captured-relationships.ts'
import { isAccepted, MigrationError, type RelationTuple } from '../../src/migration/relation-model.ts'
import type { AskedUserset } from '../../src/migration/stored-subjects.ts'
import { ConvertedModel } from '../../src/migration/write-model.ts'
import type { ExpectedSubjects, PeerCase, PeerQuestion, PeerSubjectForm } from './peer-case.ts'

/** How a question went. `why`: null if the answer is the one of the peer. */
export interface PeerVerdict {
  readonly id: string
  readonly kind: PeerQuestion['kind'] | `${PeerQuestion['kind']} (error)` | `${PeerQuestion['kind']} (unknown)`
  readonly why: string | null
}

/** Asks every question of the case. */
export async function askCase(peer: PeerCase): Promise<readonly PeerVerdict[]> {
  const verdicts: PeerVerdict[] = []
  try {
    const world = new PeerWorld(peer)
    // Questions without relationships of their own share a graph.
    const shared = await world.open(peer.questions.filter(({ contextual }) => contextual.length === 0))
    for (const question of peer.questions) {
      const asked = question.contextual.length === 0 ? shared : await world.open([question])
      verdicts.push({ id: question.id, kind: kindOf(question), why: world.verdict(question, asked.graph) })
      if (asked !== shared) await asked.close()
    }
    await shared.close()
    return verdicts
  } catch (error) {
    // A model that cannot be read, or an element that cannot be stored.
    if (!(error instanceof MigrationError) && !(error instanceof InvalidElementError)) throw error
    return peer.questions.map((question) => ({ id: question.id, kind: kindOf(question), why: error.message }))
  }
}

function askedUserset(question: PeerQuestion): readonly AskedUserset[] {
  const { type, relation } = question.kind === 'subjects' ? question.form : question.subject
  if (relation === null) return []
  const of = question.kind === 'objects' ? question.type : question.object.type
  return [{ subject: { type, relation }, type: of, relation: question.relation }]
}

function kindOf({ kind, expected }: PeerQuestion): PeerVerdict['kind'] {
  return expected === 'error' || expected === 'unknown' ? `${kind} (${expected})` : kind
}

class PeerWorld {
  private readonly peer: PeerCase
  private readonly converted: ConvertedModel

  constructor(peer: PeerCase) {
    this.peer = peer
    this.converted = new ConvertedModel(peer.model, peer.questions.flatMap(askedUserset))
  }

  /** A graph with the relationships of the case and of the questions. The subjects and objects that are asked for are stored. */
  async open(questions: readonly PeerQuestion[]): Promise<{ readonly graph: Graph; close(): Promise<void> }> {
    const { peer, converted } = this
    const store = openStore(':memory:')
    const tuples = [...peer.tuples, ...questions.flatMap(({ contextual }) => contextual)]
    const relationships = tuples
      .filter((tuple) => isAccepted(peer.model, tuple))
      .flatMap((tuple) => capturedRelationships(tuple, peer.model, converted))
    const nodes: MigratedNode[] = []
    for (const question of questions) {
      if (question.kind !== 'subjects') {
        nodes.push(subjectNode(question, converted))
        relationships.push(...usersetRelationships(question, converted), ...ownMembership(question, converted))
      }
      if (question.kind !== 'objects') {
        nodes.push({ type: converted.names.label(question.object.type), externalId: question.object.id })
      }
      if (question.kind === 'subjects') relationships.push(...this.ownUsersets(question.form, question.object))
    }
    const model = converted.text
    const graph = new Graph(store, undefined, { model })
    await graph.write((batch) => {
      for (const { source, target } of relationships) nodes.push(source, target)
      for (const node of nodes) batch.upsertNode(node)
      for (const { properties, ...ends } of relationships) {
        const values = properties.map(({ type, value }) => ({ name: type, value: fromJson(value) as PropertyValue }))
        batch.upsertRelationship({ ...ends, properties: values })
      }
    })
    return { graph, close: () => store.close() }
  }

  /** Each object is a member of its own userset. */
  private ownUsersets(form: PeerSubjectForm, object: RelationTuple['object']): readonly MigratedRelationship[] {
    if (form.relation === null) return []
    const objects = [object, ...this.peer.tuples.flatMap((tuple) => [tuple.object, tuple.subject])]
    const ids = new Set(objects.flatMap(({ type, id }) => (type === form.type ? [id] : [])))
    return [...ids].flatMap((id) => {
      const one = { subject: { ...form, id } }
      return [...usersetRelationships(one, this.converted), ...ownMembership(one, this.converted)]
    })
  }

  /** The difference from the answer of the peer; null: both are equal. */
  verdict(question: PeerQuestion, graph: Graph): string | null {
    try {
      const refusal = this.refusal(question)
      if (refusal !== null) {
        if (question.expected === 'error') return null
        const isNothing =
          question.expected === false || (Array.isArray(question.expected) && question.expected.length === 0)
        return isNothing || isEmpty(question.expected) ? null : refusal
      }
      return this.difference(question, graph)
    } catch (error) {
      if (!(error instanceof CompileError) && !(error instanceof ExecutionError)) throw error
      return question.expected === 'error' || question.expected === 'unknown' ? null : error.message
    }
  }

  /** Why the question cannot be asked; null if it can. */
  private refusal(question: PeerQuestion): string | null {
    const invalid = question.contextual.find((tuple) => !isAccepted(this.peer.model, tuple))
    if (invalid !== undefined) return 'the model does not accept a relationship of the question'
    return this.conditionOf(question) === null ? 'the model has no such relation for such subjects' : null
  }

  private conditionOf(question: PeerQuestion): string | null {
    const subject = question.kind === 'subjects' ? question.form : question.subject
    const type = question.kind === 'objects' ? question.type : question.object.type
    return this.converted.condition(subject, type, question.relation)
  }

  private difference(question: PeerQuestion, graph: Graph): string | null {
    const { converted } = this
    const condition = graph.prepare(this.conditionOf(question)!)
    const parameters = requestParameters(question.context, this.peer.model)
    const subject = (of: Pick<RelationTuple, 'subject'>): readonly [string, string] => {
      const { type, externalId } = subjectNode(of, converted)
      return [type, externalId]
    }
    const ids = (found: readonly (readonly [string, string])[]): readonly string[] => found.map(([, id]) => id).sort()
    switch (question.kind) {
      case 'check': {
        const { type, id } = question.object
        const resource = [converted.names.label(type), id] as const
        const got = condition.exists({ subject: subject(question), resource }, parameters)
        if (question.expected === 'error' || question.expected === 'unknown') return got ? 'granted' : null
        return got === question.expected ? null : `answered ${got}`
      }
      case 'objects': {
        const got = ids(condition.find('resource', { subject: subject(question) }, parameters))
        const wanted = question.expected === 'error' ? [] : question.expected.toSorted()
        return got.join() === wanted.join() ? null : `answered ${got.join(', ')}; expected ${wanted.join(', ')}`
      }
      case 'subjects': {
        const { type, id } = question.object
        const resource = [converted.names.label(type), id] as const
        const got = ids(condition.find('subject', { resource }, parameters))
        if (question.expected === 'error') return got.length === 0 ? null : `answered ${got.join(', ')}`
        return subjectsDifference(got, question.expected)
      }
    }
  }
}

function isEmpty(expected: PeerQuestion['expected']): boolean {
  return typeof expected === 'object' && 'ids' in expected && expected.ids.length === 0
}

/** A wildcard of the peer is all stored subjects of the type, and the node that stands for them. */
function subjectsDifference(got: readonly string[], { ids, exceptions, unknown }: ExpectedSubjects): string | null {
  const missing = ids.filter((id) => !got.includes(id))
  const more = got.filter((id) => !ids.includes(id) && !unknown.includes(id))
  const hasMore = ids.includes('*') ? more.some((id) => exceptions.includes(id)) : more.length > 0
  if (missing.length === 0 && !hasMore) return null
  return `answered ${got.join(', ')}; expected ${ids.join(', ')}${exceptions.length > 0 ? ` without ${exceptions.join(', ')}` : ''}`
}
