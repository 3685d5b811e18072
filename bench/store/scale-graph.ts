// A graph of any size that needs no memory: every end of a relationship is computed from its index. It has the shape of
// ownership-graph.ts: 40 % people with 5 documents and 5 groups each, 10 % groups with 10 documents each, 50 % documents.
import type { NodeKey } from '../../src/engine/store.ts'
import { documentId, groupId, personId } from '../ownership-graph.ts'

export interface ScaleGraph {
  readonly nodes: number
  readonly people: number
  readonly groups: number
  readonly documents: number
  readonly relationships: number
}

const PER_NODE = 10

/** `relationships` is rounded to a multiple of 50. */
export function scaleGraph(relationships: number): ScaleGraph {
  const nodes = Math.max(100, Math.round(relationships / 50) * 10)
  const people = nodes * 0.4
  const groups = nodes * 0.1
  return { nodes, people, groups, documents: nodes - people - groups, relationships: (people + groups) * PER_NODE }
}

/** A mixed number below `below` (the finalizer of MurmurHash3). */
function mixed(value: number, seed: number, below: number): number {
  let hash = (value ^ Math.imul(seed, 0x9e3779b1)) >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return Math.floor((((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32) * below)
}

/** The `at`-th of `count` distinct numbers below `below`, spread over the whole range. */
function spread(owner: number, seed: number, at: number, count: number, below: number): number {
  return (mixed(owner, seed, below) + at * Math.floor(below / count)) % below
}

export const ownedDocument = ({ documents }: ScaleGraph, person: number, at: number): number =>
  spread(person, 1, at, 5, documents)
export const groupOf = ({ groups }: ScaleGraph, person: number, at: number): number => spread(person, 2, at, 5, groups)
export const readableDocument = ({ documents }: ScaleGraph, group: number, at: number): number =>
  spread(group, 3, at, 10, documents)

export const isOwned = (graph: ScaleGraph, person: number, document: number): boolean =>
  [0, 1, 2, 3, 4].some((at) => ownedDocument(graph, person, at) === document)

export function isReadable(graph: ScaleGraph, person: number, document: number): boolean {
  for (let group = 0; group < 5; group++)
    for (let at = 0; at < 10; at++)
      if (readableDocument(graph, groupOf(graph, person, group), at) === document) return true
  return false
}

export function scaleNode({ people, groups }: ScaleGraph, at: number): NodeKey {
  if (at < people) return { type: 'Person', externalId: personId(at) }
  if (at < people + groups) return { type: 'Group', externalId: groupId(at - people) }
  return { type: 'Document', externalId: documentId(at - people - groups) }
}

export function scaleRelationship(graph: ScaleGraph, at: number): { source: NodeKey; type: string; target: NodeKey } {
  const owner = Math.floor(at / PER_NODE)
  const i = at % PER_NODE
  if (owner >= graph.people) {
    const group = owner - graph.people
    const document = documentId(readableDocument(graph, group, i))
    return {
      source: { type: 'Group', externalId: groupId(group) },
      type: 'MAY_READ',
      target: { type: 'Document', externalId: document },
    }
  }
  const source = { type: 'Person', externalId: personId(owner) }
  return i < 5
    ? { source, type: 'OWNS', target: { type: 'Document', externalId: documentId(ownedDocument(graph, owner, i)) } }
    : { source, type: 'MEMBER', target: { type: 'Group', externalId: groupId(groupOf(graph, owner, i - 5)) } }
}
