// Names in back-ticks, the empty name included: a query means the same under any name at any position.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CompileError } from '../../../src/engine/errors.ts'
import { Graph } from '../../../src/engine/graph.ts'
import type { QueryResult, ResultValue } from '../../../src/engine/rows-query.ts'
import { openStore } from '../../../src/store/graph/open-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let store: ReturnType<typeof openStore>
let graph: Graph
beforeAll(async () => {
  store = openStore(temporaryFolder())
  graph = new Graph(store)
  await graph.write((batch) => {
    const [ann, car] = [
      { type: 'P', externalId: 'ann', properties: [{ name: 'x', value: 1 }] },
      { type: 'C', externalId: 'c' },
    ]
    for (const node of [ann, car]) batch.upsertNode(node)
    batch.upsertRelationship({ source: ann, type: 'R', target: car })
  })
})
afterAll(() => store.close())

/** `@` stands for one quoted name. The results of all names are equal, up to that name. */
const queries = [
  'RETURN {@: 1} AS v',
  'RETURN {@: 1}.@ AS v',
  'RETURN {@: 1}[$key] AS v',
  'RETURN keys({@: 1}) AS v',
  'RETURN 1 AS @',
  'WITH 1 AS @ RETURN @ + 1 AS v',
  'UNWIND [1, 2] AS @ RETURN sum(@) AS v',
  'RETURN $@ AS v',
  'RETURN [@ IN [1, 2] WHERE @ > 1 | @ * 2] AS v',
  'RETURN all(@ IN [1] WHERE @ = 1) AS v',
  'RETURN reduce(@ = 0, each IN [1, 2] | @ + each) AS v',
  'MATCH (@:P) RETURN @.x AS v',
  'MATCH (@:P), (other:C) RETURN count(@) AS v',
  'MATCH (:P)-[@:R]->(:C) RETURN type(@) AS v',
  'MATCH @ = (:P)-[:R]->(:C) RETURN length(@) AS v',
  'MATCH (@:P) WHERE EXISTS { (@)-[:R]->(:C) } RETURN @.external_id AS v',
  'MATCH (p:P) RETURN p.@ AS v',
  'MATCH (p:P) WHERE p.@ IS NULL RETURN count(p) AS v',
  'MATCH (p:P {@: 1}) RETURN count(p) AS v',
  'MATCH (p:P) RETURN p {.@, @: 2} AS v',
  'MATCH (p:@) RETURN count(p) AS v',
  'MATCH (p:P|@) RETURN count(p) AS v',
  'MATCH (p:P) WHERE p:@ RETURN count(p) AS v',
  'MATCH (p:P)-[:@]->() RETURN count(p) AS v',
  'MATCH (p:P)-[:R|@]->() RETURN count(p) AS v',
  'MATCH (p:P)-[:!@]->() RETURN count(p) AS v',
  'CALL { UNWIND [2] AS @ RETURN @ } RETURN @ + 1 AS v',
] as const

const RENAMED = 'n1'

function quote(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

/** The result, in which the name is replaced where it is a column, a key of a map or an element of a list. */
function run(query: string, name: string): unknown {
  const result = graph.query(
    query.replaceAll('@', () => quote(name)),
    { [name]: 5, key: name },
  )
  const rename = (text: string): string => (text === name ? RENAMED : text)
  const shown = (value: ResultValue): unknown => {
    if (Array.isArray(value)) return value.map(shown)
    if (value instanceof Map) return [...value].map(([key, held]) => [rename(key), shown(held)])
    return typeof value === 'string' ? rename(value) : value
  }
  const { columns, rows }: QueryResult = result
  return { columns: columns.map(rename), rows: rows.map((row) => row.map(shown)) }
}

describe('a quoted name', () => {
  it.each(queries)('may be empty: %s', (query) => {
    expect(run(query, '')).toEqual(run(query, RENAMED))
  })

  it('may be any text, and means the same', () => {
    const name = fc.string({
      maxLength: 6,
      unit: fc.oneof(fc.constantFrom('`', ' ', '$', '.', ':', '{', "'"), fc.string({ minLength: 1, maxLength: 1 })),
    })
    const taken = new Set([
      'x',
      'p',
      'v',
      'each',
      'other',
      'key',
      'P',
      'C',
      'R',
      'ann',
      'c',
      'external_id',
      'type',
      'id',
    ])
    fc.assert(
      fc.property(
        fc.constantFrom(...queries),
        name.filter((text) => !taken.has(text)),
        (query, text) => {
          expect(run(query, text), `${query} with ${quote(text)}`).toEqual(run(query, RENAMED))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is a map key in back-ticks without a name between them', () => {
    expect(graph.query('RETURN {``: 1} AS v').rows).toEqual([[new Map([['', 1]])]])
  })

  it.each([
    ['RETURN ``', 'variable `` is not defined'],
    ['RETURN 1 AS ``, 2 AS ``', 'two columns are named ``'],
    ['MATCH ()-[``:R]->(``) RETURN 1 AS v', 'variable `` is a node and cannot be a relationship too'],
    [
      'MATCH (a)-[r]-(b) MATCH (b)-[r]-{1,1}(c) RETURN 1 AS v',
      'variable `r` is a relationship and cannot be a list of relationships too',
    ],
    ['WITH 1 AS n MATCH (n) RETURN 1 AS v', 'variable `n` is an integer and cannot be a node too'],
  ])('follows the rules of names if it is empty: %s', (query, message) => {
    expect(() => graph.query(query)).toThrow(CompileError)
    expect(() => graph.query(query)).toThrow(message)
  })
})
