// The public API of the library: its exports, their types, and the examples of their docstrings. `expectTypeOf` is checked
// by tsc, which is part of `npm run check`.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import * as library from '../../src/index.ts'
import {
  CompileError,
  type EntityKey,
  ExecutionError,
  Float,
  Graph,
  type GraphStore,
  type NodeInput,
  OperationalError,
  openStore,
  type PreparedCondition,
  type QueryParameters,
  type QueryResult,
  type RelationshipInput,
  type ResultValue,
  type Snapshot,
  type TextWarning,
  type WriteBatch,
} from '../../src/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ann: NodeInput = { type: 'Person', externalId: 'ann' }
const car: NodeInput = { type: 'Car', externalId: 'c-1', properties: [{ name: 'wheels', value: 4 }] }
const owns: RelationshipInput = { source: ann, type: 'OWNS', target: car }

let store: ReturnType<typeof openStore>
let graph: Graph
beforeEach(async () => {
  store = openStore(join(temporaryFolder(), 'graph'))
  graph = new Graph(store)
  await graph.write((batch) => {
    for (const node of [ann, car]) batch.upsertNode(node)
    batch.upsertRelationship(owns)
  })
})
afterEach(() => store.close())

describe('the public API', () => {
  it('exports these values and no others', () => {
    expect(Object.keys(library).sort()).toEqual([
      'AuthorizerError',
      'CompileError',
      'ExecutionError',
      'Float',
      'Graph',
      'OperationalError',
      'ProjectFolderError',
      'openAuthorizer',
      'openStore',
    ])
  })

  it('types the store, its snapshot and its batches', () => {
    expectTypeOf(store).toExtend<GraphStore>()
    expectTypeOf<GraphStore['snapshot']>().toEqualTypeOf<() => Snapshot>()
    expectTypeOf<Parameters<GraphStore['write']>[0]>().parameters.toEqualTypeOf<[WriteBatch]>()
    expectTypeOf(graph.write((batch) => batch.upsertNode(ann).id)).toEqualTypeOf<Promise<number>>()
    const snapshot = store.snapshot()
    expect(snapshot.nodeCount(null)).toBe(2)
    snapshot.close()
  })

  it('warns of names that the graph has never seen, with their place, and of nothing while the graph is empty', async () => {
    const text = 'MATCH (subject:Persn)-[:OWN]->(resource:Car)\nWHERE resource.wheel = 4 AND resource.color = 1'
    const condition = graph.prepare(text)
    expectTypeOf(condition.warnings).toEqualTypeOf<readonly TextWarning[]>()
    expect(condition.warnings.map(({ code, line, column, message }) => [code, line, column, message])).toEqual([
      ['UnknownLabel', 1, 16, 'no node with the label `Persn` was ever captured; did you mean `(:Person)`?'],
      ['UnknownRelationshipType', 1, 25, 'no relationship of type `OWN` was ever captured; did you mean `[:OWNS]`?'],
      ['UnknownProperty', 2, 16, 'no property `wheel` was ever captured; did you mean `wheels`?'],
      ['UnknownProperty', 2, 39, 'no property `color` was ever captured'],
    ])
    expect(condition.warnings.map(({ span }) => text.slice(span.start, span.end))).toEqual([
      'Persn',
      'OWN',
      'wheel',
      'color',
    ])
    expect(condition.exists({ resource: ['Car', 'c-1'] })).toBe(false)
    // The graph is read at each call.
    const properties = [
      { name: 'color', value: 1 },
      { name: 'wheel', value: 4 },
    ]
    await graph.write((batch) => batch.upsertNode({ ...car, properties }))
    expect(condition.warnings.map(({ code }) => code)).toEqual(['UnknownLabel', 'UnknownRelationshipType'])
    expect(graph.prepare('MATCH (s:Person)-[:OWNS]->(c:Car {wheels: 4}) WHERE s.external_id = $id').warnings).toEqual(
      [],
    )
    const empty = openStore(join(temporaryFolder(), 'empty'))
    expect(new Graph(empty).prepare(text).warnings).toEqual([])
    await empty.close()
  })

  it('says what is wrong with the input of a program without a type checker, and writes nothing', async () => {
    const input = (value: unknown) => value as never
    const car = { type: 'Car', externalId: 'c-1' }
    const refused = async (change: (batch: WriteBatch) => unknown, message: string) =>
      expect(graph.write(change)).rejects.toThrow(message)
    await refused(
      (batch) => batch.upsertNode(input({ label: 'Bus', externalId: 'x' })),
      'the type of the node `x`: expected a string, found nothing',
    )
    await refused(
      (batch) => batch.upsertNode(input({ type: 'Bus', id: 'x' })),
      'the external id of a node `Bus`: expected a string, found nothing',
    )
    await refused(
      (batch) => batch.upsertNode(input({ type: 'Bus', externalId: 'x', properties: { wheels: 4 } })),
      'properties: expected an array of { name, value }',
    )
    await refused(
      (batch) => batch.upsertRelationship(input({ source: ann, target: car })),
      'the type of a relationship: expected a string, found nothing',
    )
    await refused(
      (batch) => batch.upsertRelationship(input({ source: ['Person', 'ann'], type: 'OWNS', target: car })),
      'source: expected { type, externalId } of the end node',
    )
    await refused(
      (batch) => batch.upsertRelationship(input({ source: ann, type: 'OWNS' })),
      'target: expected { type, externalId } of the end node',
    )
    expect(graph.query('MATCH (bus:Bus) RETURN count(bus) AS n').rows).toEqual([[0]])
    for (const path of ['', 5, undefined]) {
      expect(() => openStore(input(path))).toThrow(
        new TypeError('openStore: expected the path of a folder, or `:memory:`'),
      )
    }
  })

  it('types conditions: fixed variables are keys, a search returns keys', () => {
    const condition: PreparedCondition = graph.prepare('MATCH (subject:Person)-[:OWNS]->(resource:Car)')
    expectTypeOf<EntityKey>().toEqualTypeOf<readonly [type: string, externalId: string]>()
    expectTypeOf(condition.find).returns.toEqualTypeOf<EntityKey[]>()
    expectTypeOf(condition.exists).returns.toEqualTypeOf<boolean>()
    expectTypeOf(condition.exists).parameter(0).toEqualTypeOf<Readonly<Record<string, EntityKey>>>()
    expectTypeOf(condition.exists).parameter(1).toEqualTypeOf<QueryParameters | undefined>()
    expect(condition.exists({ subject: ['Person', 'ann'], resource: ['Car', 'c-1'] })).toBe(true)
    expect(condition.find('resource', { subject: ['Person', 'ann'] })).toEqual([['Car', 'c-1']])
    expectTypeOf<{ subject: string }>().not.toExtend<Parameters<PreparedCondition['exists']>[0]>()
  })

  it('types the rows of a query', () => {
    const result: QueryResult = graph.query('RETURN 1 AS one, 1.0 AS float, [2] AS list')
    expectTypeOf(result.rows).toEqualTypeOf<readonly (readonly ResultValue[])[]>()
    expectTypeOf<Float>().toExtend<ResultValue>()
    expect(result).toEqual({ columns: ['one', 'float', 'list'], rows: [[1, new Float(1), [2]]] })
    const count = graph.query('MATCH (p:Person)-[:OWNS]->(c) RETURN p.external_id AS owner, count(c) AS cars')
    expect(count.rows).toEqual([['ann', 1]])
  })

  it('shows the line, the column and a caret in the message of a CompileError', () => {
    const compile = catchError(() =>
      graph.prepare('MATCH (subject:Person)\n  -[:OWNS]->(resource:Car)\nWHERE resouce.wheels = 4'),
    )
    expect(compile).toMatchObject({ name: 'CompileError', line: 3, column: 7 })
    expect((compile as CompileError).message).toBe(
      'line 3, column 7: variable `resouce` is not defined; did you mean `resource`?\nWHERE resouce.wheels = 4\n      ^^^^^^^',
    )
    const query = catchError(() => graph.query('RETURN 1 +'))
    expect((query as CompileError).message).toMatch(/^line 1, column \d+: .*\nRETURN 1 \+\n +\^$/)
    const condition = graph.prepare('MATCH (subject:Person)')
    const find = catchError(() => condition.find('resource', { subject: ['Person', 'ann'] }))
    expect(find).toMatchObject({ name: 'CompileError', line: null, column: null })
    expect((find as CompileError).message).not.toContain('line')
  })

  it('throws OperationalError for a folder that cannot be opened', () => {
    const missing = catchError(() => openStore(join(temporaryFolder(), 'missing'), { readOnly: true }))
    expect(missing).toBeInstanceOf(OperationalError)
    expect((missing as OperationalError).message).toMatch(/^the folder .*missing contains no store$/)
  })

  it('throws CompileError with a span, and ExecutionError with a code', () => {
    const compile = catchError(() => graph.prepare('MATCH (subject'))
    expect(compile).toBeInstanceOf(CompileError)
    expectTypeOf<CompileError['diagnostics'][number]['span']>().toEqualTypeOf<{
      readonly start: number
      readonly end: number
    }>()
    const execution = catchError(() => graph.query('RETURN $missing AS value'))
    expect(execution).toBeInstanceOf(ExecutionError)
    expect(execution).toMatchObject({ code: 'missing-parameter', subject: 'missing' })
  })
})

function catchError(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return expect.fail('nothing was thrown')
}
