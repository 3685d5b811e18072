import neo4j from 'neo4j-driver-lite'
import { expect, test } from 'vitest'
import { FetchedGraph } from '../../../src/bolt/fetched-graph.ts'
import { SharedSymbols } from '../../../src/bolt/shared-symbols.ts'

test('one request holds a limited number of nodes and relationships', () => {
  const fetched = new FetchedGraph(new SharedSymbols(), 3)
  const node = (id: bigint) => new neo4j.types.Node(id, ['Car'], { external_id: `c${id}` })
  const relationship = (id: bigint) => new neo4j.types.Relationship(id, 1n, 2n, 'NEAR', {})
  fetched.addNode(neo4j, node(1n))
  fetched.addNode(neo4j, node(2n))
  fetched.addRelationship(neo4j, relationship(1n))
  const error = {
    kind: 'budget',
    limit: 'fetchedElements',
    message: 'the request reads more than 3 nodes and relationships of a graph in a database server',
  }
  expect(() => fetched.addNode(neo4j, node(3n))).toThrow(expect.objectContaining({ error }))
  expect(() => fetched.addRelationship(neo4j, relationship(2n))).toThrow(expect.objectContaining({ error }))
})
