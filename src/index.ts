// The library's door: decide in process, with no HTTP and no schema library on the way.
export { CompileError, ExecutionError } from './engine/errors.ts'
export { type EntityKey, Graph, type PreparedCondition, type QueryParameters } from './engine/graph.ts'
export type { QueryResult, ResultValue } from './engine/rows-query.ts'
export type { GraphStore, NodeInput, RelationshipInput, Snapshot, WriteBatch } from './engine/store.ts'
export { Float } from './kernel/float.ts'
export { openStore } from './store/graph/open-store.ts'
