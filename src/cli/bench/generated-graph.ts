// The generated graph of a bench, from a number of nodes and a seed: people own documents and are members of groups, groups may read
// documents, people and documents have a level. It answers its own questions from arrays, without an engine.
import type { CheckedQuestion } from '../ask/question-file.ts'

/** The questions that the graph can answer. */
export const GENERATED_ACTIONS = ['open', 'read', 'clear'] as const
export type GeneratedAction = (typeof GENERATED_ACTIONS)[number]

/** The condition of each action: one relationship, two relationships, a comparison of properties. */
export const generatedPolicies: Readonly<Record<GeneratedAction, string>> = {
  open: 'MATCH (subject:Person)-[:OWNS]->(resource:Document)',
  read: 'MATCH (subject:Person)-[:MEMBER]->(:Group)-[:MAY_READ]->(resource:Document)',
  clear: 'MATCH (subject:Person), (resource:Document) WHERE subject.level >= resource.level',
}

/** Each person owns so many documents and is a member of so many groups; each group may read twice as many documents. */
const EACH = 5
const LEVELS = 8

export interface GeneratedGraph {
  readonly seed: number
  readonly people: number
  readonly groups: number
  readonly documents: number
  /** `EACH` documents of each person. */
  readonly owned: Uint32Array
  /** `EACH` groups of each person. */
  readonly memberships: Uint32Array
  /** Twice `EACH` documents of each group. */
  readonly readable: Uint32Array
  readonly personLevels: Uint8Array
  readonly documentLevels: Uint8Array
}

export const personId = (at: number): string => `person-${at}`
export const groupId = (at: number): string => `group-${at}`
export const documentId = (at: number): string => `document-${at}`

/** The same seed gives the same numbers (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** 40 % people, 10 % groups, 50 % documents; five relationships for each node. */
export function generateGraph(nodes: number, seed: number): GeneratedGraph {
  const random = randomFrom(seed)
  const people = Math.floor(nodes * 0.4)
  const groups = Math.floor(nodes * 0.1)
  const documents = nodes - people - groups
  const distinct = (count: number, each: number, below: number): Uint32Array => {
    const ends = new Uint32Array(count * each)
    for (let from = 0; from < ends.length; from += each) {
      for (let at = from; at < from + each; at++) {
        do ends[at] = random(below)
        while (ends.subarray(from, at).includes(ends[at]!))
      }
    }
    return ends
  }
  return {
    seed,
    people,
    groups,
    documents,
    owned: distinct(people, EACH, documents),
    memberships: distinct(people, EACH, groups),
    readable: distinct(groups, 2 * EACH, documents),
    personLevels: Uint8Array.from({ length: people }, () => random(LEVELS)),
    documentLevels: Uint8Array.from({ length: documents }, () => random(LEVELS)),
  }
}

export const ownedBy = ({ owned }: GeneratedGraph, person: number): Uint32Array =>
  owned.subarray(person * EACH, (person + 1) * EACH)

export const groupsOf = ({ memberships }: GeneratedGraph, person: number): Uint32Array =>
  memberships.subarray(person * EACH, (person + 1) * EACH)

export const readableBy = ({ readable }: GeneratedGraph, group: number): Uint32Array =>
  readable.subarray(group * 2 * EACH, (group + 1) * 2 * EACH)

/** A question about a generated graph, with the numbers of both ends. */
export interface GeneratedQuestion extends CheckedQuestion {
  readonly action: GeneratedAction
  readonly person: number
  readonly document: number
  readonly expected: boolean
}

/** Questions about the actions in turn; half of them granted, people drawn evenly. */
export function generateQuestions(
  graph: GeneratedGraph,
  count: number,
  actions: readonly GeneratedAction[],
): readonly GeneratedQuestion[] {
  const random = randomFrom(graph.seed + 1)
  return Array.from({ length: count }, (_, at) => {
    const action = actions[at % actions.length]!
    const isGranted = Math.floor(at / actions.length) % 2 === 0
    let [person, document] = [0, 0]
    do {
      person = random(graph.people)
      document = isGranted ? candidateOf(graph, action, person, random) : random(graph.documents)
    } while (mayPerform(graph, action, person, document) !== isGranted)
    return {
      action,
      person,
      document,
      request: {
        subject: { type: 'Person', id: personId(person) },
        action: { name: action },
        resource: { type: 'Document', id: documentId(document) },
      },
      expected: isGranted,
    }
  })
}

function candidateOf(
  graph: GeneratedGraph,
  action: GeneratedAction,
  person: number,
  random: (below: number) => number,
): number {
  switch (action) {
    case 'open':
      return ownedBy(graph, person)[random(EACH)]!
    case 'read':
      return readableBy(graph, groupsOf(graph, person)[random(EACH)]!)[random(2 * EACH)]!
    case 'clear':
      return random(graph.documents)
  }
}

/** The right decision. */
function mayPerform(graph: GeneratedGraph, action: GeneratedAction, person: number, document: number): boolean {
  switch (action) {
    case 'open':
      return ownedBy(graph, person).includes(document)
    case 'read':
      return groupsOf(graph, person).some((group) => readableBy(graph, group).includes(document))
    case 'clear':
      return graph.personLevels[person]! >= graph.documentLevels[document]!
  }
}

/** The lines of an import. */
export function* importLines(graph: GeneratedGraph): Generator<string> {
  const node = (type: string, external_id: string, level?: number): string =>
    JSON.stringify({
      node: { type, external_id, ...(level !== undefined && { properties: [{ type: 'level', value: level }] }) },
    })
  const relationship = (from: readonly [string, string], type: string, to: readonly [string, string]): string =>
    JSON.stringify({
      relationship: {
        source: { type: from[0], external_id: from[1] },
        type,
        target: { type: to[0], external_id: to[1] },
      },
    })
  for (let at = 0; at < graph.people; at++) yield node('Person', personId(at), graph.personLevels[at])
  for (let at = 0; at < graph.groups; at++) yield node('Group', groupId(at))
  for (let at = 0; at < graph.documents; at++) yield node('Document', documentId(at), graph.documentLevels[at])
  for (let at = 0; at < graph.people; at++) {
    const person = ['Person', personId(at)] as const
    for (const document of ownedBy(graph, at)) yield relationship(person, 'OWNS', ['Document', documentId(document)])
    for (const group of groupsOf(graph, at)) yield relationship(person, 'MEMBER', ['Group', groupId(group)])
  }
  for (let at = 0; at < graph.groups; at++) {
    for (const document of readableBy(graph, at))
      yield relationship(['Group', groupId(at)], 'MAY_READ', ['Document', documentId(document)])
  }
}
