// The graph of the benches, from a size and a seed: people own documents, are members of groups, groups may read
// documents. Five relationships per node. It answers its own questions, from arrays and without any engine.
import { randomFrom } from './harness.ts'

export interface OwnershipQuestion {
  readonly subject: string
  readonly resource: string
  readonly granted: boolean
}

export interface OwnershipGraph {
  readonly people: number
  readonly groups: number
  readonly documents: number
  readonly relationships: number
  /** Ten ends per person: documents 0 to 4, groups 5 to 9. */
  readonly ofPerson: Uint32Array
  /** Ten documents per group. */
  readonly ofGroup: Uint32Array
}

export const owns = 'MATCH (subject:Person)-[:OWNS]->(resource:Document)'
export const mayRead = 'MATCH (subject:Person)-[:MEMBER]->(:Group)-[:MAY_READ]->(resource:Document)'

export const personId = (at: number): string => `person-${at}`
export const groupId = (at: number): string => `group-${at}`
export const documentId = (at: number): string => `document-${at}`

/** 40 % people with 5 documents and 5 groups each, 10 % groups with 10 documents each, 50 % documents. */
export function ownershipGraph(nodes: number, seed: number): OwnershipGraph {
  const random = randomFrom(seed)
  const people = Math.floor(nodes * 0.4)
  const groups = Math.floor(nodes * 0.1)
  const documents = nodes - people - groups
  const ofPerson = new Uint32Array(people * 10)
  const ofGroup = new Uint32Array(groups * 10)
  for (let person = 0; person < people; person++) {
    fillDistinct(ofPerson, person * 10, 5, documents, random)
    fillDistinct(ofPerson, person * 10 + 5, 5, groups, random)
  }
  for (let group = 0; group < groups; group++) fillDistinct(ofGroup, group * 10, 10, documents, random)
  return { people, groups, documents, relationships: people * 10 + groups * 10, ofPerson, ofGroup }
}

function fillDistinct(
  into: Uint32Array,
  from: number,
  count: number,
  below: number,
  random: (n: number) => number,
): void {
  for (let at = 0; at < count; at++) {
    let drawn = random(below)
    while (into.subarray(from, from + at).includes(drawn)) drawn = random(below)
    into[from + at] = drawn
  }
}

export function ownedBy(graph: OwnershipGraph, person: number): Uint32Array {
  return graph.ofPerson.subarray(person * 10, person * 10 + 5)
}

export function readableBy(graph: OwnershipGraph, person: number): Uint32Array {
  const found = new Set<number>()
  for (const group of graph.ofPerson.subarray(person * 10 + 5, person * 10 + 10)) {
    for (const document of graph.ofGroup.subarray(group * 10, group * 10 + 10)) found.add(document)
  }
  return Uint32Array.from(found)
}

/** Half of them granted, in mixed order, people drawn evenly. */
export function questions(
  graph: OwnershipGraph,
  count: number,
  seed: number,
  reach: (graph: OwnershipGraph, person: number) => Uint32Array,
): OwnershipQuestion[] {
  const random = randomFrom(seed)
  return Array.from({ length: count }, (_, at) => {
    const person = random(graph.people)
    const reached = reach(graph, person)
    const granted = at % 2 === 0
    let document = granted ? (reached[random(reached.length)] as number) : random(graph.documents)
    while (!granted && reached.includes(document)) document = random(graph.documents)
    return { subject: personId(person), resource: documentId(document), granted }
  })
}
