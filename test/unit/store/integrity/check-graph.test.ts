import { describe, expect, test } from 'vitest'
import { edgeListId, scalarKey } from '../../../../src/store/format/keys.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import type { Databases } from '../../../../src/store/lmdb/databases.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const A = { type: 'A', externalId: 'a' }
const B = { type: 'B', externalId: 'b' }

/** Two nodes, one relationship, one long list of six; then the corruption. */
async function findingsAfter(damage: (databases: Databases) => void): Promise<string> {
  const options = { clock: new ManualClock(1_750_000_000_000), sync: false, entriesPerChunk: 4 }
  const folder = temporaryFolder()
  const environment = openEnvironment(folder, options)
  await environment.write((batch) => {
    const a = batch.upsertNode({ ...A, properties: [{ name: 'p', value: 1 }] }).id
    const b = batch.upsertNode(B).id
    batch.upsertRelationship({ source: A, type: 'R', target: B })
    for (let i = 0; i < 6; i++) batch.createRelationship(a, 'S', b, [])
  })
  expect(checkGraph(environment)).toEqual([])
  // Code in a batch shares its transaction, and the batch itself adds nothing here.
  await environment.write(() => {
    damage(environment.databases)
  })
  const findings = checkGraph(environment)
  await environment.close()
  // The check of the pages must notice each damage, because only then are the references looked up.
  expect(await verifyFolder(folder, () => {})).toEqual(findings)
  return findings.join('\n')
}

const bytes = (...words: number[]): Uint8Array => new Uint8Array(Uint32Array.from(words).buffer)

describe('the checker finds', () => {
  const damages: [string, (databases: Databases) => void, string][] = [
    [
      'a lost upsert key',
      (d) => d.upsertKeys.remove({ type: 1, externalId: 'a' }),
      'the upsert key of node 1 does not refer to it',
    ],
    [
      'an upsert key too many',
      (d) => d.upsertKeys.put({ type: 1, externalId: 'z' }, bytes(1)),
      'upsert keys: 1 too many',
    ],
    ['a lost node', (d) => d.nodes.remove(2), 'an end node of relationship 1 is missing'],
    [
      'a lost relationship',
      (d) => d.relationships.remove(1),
      'relationship 1 does not match its entry in the list at node 1',
    ],
    [
      'a lost list',
      (d) => d.adjacency.remove({ node: 2, edgeList: edgeListId('in', 1) }),
      'incoming entries: 1 too few',
    ],
    [
      'a list with a wrong neighbour',
      (d) => d.adjacency.put({ node: 1, edgeList: edgeListId('out', 1) }, bytes(1, 1)),
      'relationship 1 does not match its entry in the list at node 1',
    ],
    [
      'types that a node does not have',
      (d) => d.adjacency.put({ node: 1, edgeList: edgeListId('in', 0) }, bytes(1)),
      'the list of types at node 1 does not match its edge lists',
    ],
    ['a lost chunk', (d) => d.chunks.remove(1), 'refers to chunk 1, which is missing'],
    ['a chunk left over', (d) => d.chunks.put(9, bytes(0, 2, 2)), 'chunks: 1 too many'],
    [
      'a wrong count of a long list',
      (d) => d.adjacency.put({ node: 1, edgeList: edgeListId('out', 2) }, bytes(7, 1, 0)),
      'has 6 entries and a recorded count of 7',
    ],
    [
      'a lost block of bits',
      (d) => d.labels.remove({ label: 1, block: 0 }),
      'node 1 is missing in the bits of its label 1',
    ],
    ['a bit too many', (d) => d.labels.put({ label: 2, block: 0 }, block(1, 2)), 'entries of label 2: 1 too many'],
    [
      'a lost index entry',
      (d) => d.index.remove({ label: 1, property: 1, scalar: scalarKey(1)!, node: 1 }),
      'property 1 of node 1 is missing in the index of label 1',
    ],
    [
      'an index entry too many',
      (d) => d.index.put({ label: 1, property: 1, scalar: scalarKey(2)!, node: 1 }, Uint8Array.of(0)),
      'index entries of label 1: 1 too many',
    ],
    ['a wrong count of nodes', (d) => d.meta.put({ kind: 2, symbol: 1 }, bytes(5)), 'count of label 1: 4 too many'],
    [
      'a wrong count of relationships',
      (d) => d.meta.put({ kind: 3, symbol: 2 }, bytes(5)),
      'count of relationship type 2: 1 too few',
    ],
    ['a lost name', (d) => d.symbols.remove({ kind: 0, symbol: 2 }), 'the count of label symbols is wrong'],
    [
      'a record that cannot be read',
      (d) =>
        d.nodes.put(
          1,
          Uint8Array.from({ length: 80 }, () => 9),
        ),
      'node 1 cannot be read',
    ],
  ]

  function block(...nodes: number[]): Uint8Array {
    const bits = new Uint8Array(128)
    for (const node of nodes) bits[node >>> 3]! |= 1 << (node & 7)
    return bits
  }

  test.each(damages)('%s', async (_, damage, finding) => {
    expect(await findingsAfter(damage)).toContain(finding)
  })
})
