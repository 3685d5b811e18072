// The public API of the library: a graph in this process, without HTTP and without a schema library.
//
//     const store = openStore('./graph')
//     const graph = new Graph(store)
//     await graph.write((batch) => batch.upsertNode({ type: 'Person', externalId: 'ann' }))
//     graph.query('MATCH (p:Person) RETURN p.external_id AS id').rows // [['ann']]
//     await store.close()
export { CompileError, ExecutionError } from './engine/errors.ts'
export { type EntityKey, Graph, type PreparedCondition, type QueryParameters } from './engine/graph.ts'
export type { QueryResult, ResultValue } from './engine/rows-query.ts'
export type { GraphStore, NodeInput, RelationshipInput, Snapshot, WriteBatch } from './engine/store.ts'
export type { TextWarning } from './engine/unknown-symbols.ts'
export { OperationalError } from './kernel/errors.ts'
export { Float } from './kernel/float.ts'
export { type OpenStore, openStore, type StoreOptions } from './store/graph/open-store.ts'
