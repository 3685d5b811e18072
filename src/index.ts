// The public API of the library: a graph in this process, without HTTP and without a schema library.
//
//     const store = openStore('./graph')
//     const graph = new Graph(store)
//     await graph.write((batch) => batch.upsertNode({ type: 'Person', externalId: 'ann' }))
//     graph.query('MATCH (p:Person) RETURN p.external_id AS id').rows // [['ann']]
//     await store.close()
//
// And an authorizer: decisions, searches and explanations by the policies of a project folder. Its parts are loaded when it is opened.
//
//     await using authorizer = await openAuthorizer({ memory: true, project: './authz' })
export type {
  ActionSearchInput,
  ActionSearchOutput,
  Authorizer,
  AuthorizerOptions,
  AuthorizerSearch,
  AuthorizerToken,
  CallOptions,
  ComparisonInput,
  ComparisonOutput,
  DecisionOutput,
  EntitySearchOutput,
  EvaluationInput,
  EvaluationsInput,
  ExplanationOutput,
  GraphNamesOutput,
  GraphQueryInput,
  GraphQueryOutput,
  GraphQueryStep,
  ListedPolicy,
  QueryInput,
  QueryOutput,
  ResourceSearchInput,
  SubjectSearchInput,
  WriteInput,
  WriteOutput,
} from './authorizer/authorizer.ts'
export { AuthorizerError } from './authorizer/authorizer-error.ts'
export { openAuthorizer } from './authorizer/open-authorizer.ts'
export { CompileError, ExecutionError } from './engine/errors.ts'
export { type EntityKey, Graph, type PreparedCondition, type QueryParameters } from './engine/graph.ts'
export type { QueryResult, ResultValue } from './engine/rows-query.ts'
export type { GraphStore, NodeInput, OpenSnapshot as Snapshot, RelationshipInput, WriteBatch } from './engine/store.ts'
export type { TextWarning } from './engine/unknown-symbols.ts'
export { OperationalError } from './kernel/errors.ts'
export { Float } from './kernel/float.ts'
export { type FileDiagnostic, ProjectFolderError } from './project/file-diagnostic.ts'
export { type OpenStore, openStore, type StoreOptions } from './store/graph/open-store.ts'
