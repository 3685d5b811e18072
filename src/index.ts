// The library's door: decide in process, with no HTTP and no schema library on the way.
export { CompileFault, RunFault } from './engine/errors.ts'
export { Graph, type Key, type Parameters, type PreparedCondition } from './engine/graph.ts'
export type { Cell, Rows } from './engine/rows.ts'
export type { GraphStore, NodeInput, RelationshipInput, Snapshot, WriteBatch } from './engine/store.ts'
export { Float } from './kernel/float.ts'
export { openStore } from './store/open-store.ts'
