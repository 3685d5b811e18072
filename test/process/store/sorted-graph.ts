// The graph of the test that kills a sorted load: nodes with few and with very many relationships, and duplicates.
import type { BulkNode, BulkRelationship } from '../../../src/store/graph/bulk-batch.ts'

export const SORTED_NODES = 2000
export const RELATIONSHIPS = 20_000
/** Some hundred files and transactions. */
export const SORT_LIMITS = { entriesPerRun: 1024, listBytes: 2000 }

const timeMs = 1_750_000_000_000

const gidOf = (kind: string, at: number): string => `gid:${kind}${String(at).padStart(25, 'A')}`

export function loadedNode(at: number): BulkNode {
  return { type: 'Person', externalId: `n${at}`, gid: gidOf('N', at), createdMs: timeMs, updatedMs: timeMs }
}

/** Every third relationship ends at one of two nodes, and every fortieth exists already. */
export function loadedRelationship(at: number): BulkRelationship {
  const number = at % 40 === 39 ? at - 1 : at
  const node = (index: number) => ({ type: 'Person', externalId: `n${index % SORTED_NODES}` })
  const target = number % 3 === 0 ? number % 2 : number * 7919 + 13
  return {
    source: node(number * 31 + Math.floor(number / SORTED_NODES)),
    type: number % 5 === 0 ? 'LIKES' : 'KNOWS',
    target: node(target),
    gid: gidOf('R', at),
    createdMs: timeMs,
    updatedMs: timeMs + at,
  }
}
