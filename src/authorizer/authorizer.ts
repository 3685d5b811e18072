// The public types of the authorizer: decisions, searches, explanations, knowledge queries and writes in this process. Requests and
// answers have the members of the HTTP interface. Types only of this file, so that the declarations of the package need no other
// package.

/** The user on whose behalf a call is made, as the service learns it from a verified token. */
export interface AuthorizerToken {
  /** The node type of the user. */
  readonly type: string
  /** The external id of the user, which is the subject claim. */
  readonly id: string
  /** The claims that policies read as `$token`. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /** The claims of a delegation token, which policies read as `$svc_token`. */
  readonly delegation?: Readonly<Record<string, unknown>> | undefined
}

/** What a call may have in addition to its request. */
export interface CallOptions {
  /** Absent: no user token. */
  readonly token?: AuthorizerToken | undefined
}

/** Properties of a subject, an action or a resource, which policies read as parameters. */
export type RequestProperties = Readonly<Record<string, unknown>>

/** A subject or a resource of a request. */
export interface RequestEntity {
  /** The node type. */
  readonly type: string
  /** The external id. */
  readonly id: string
  /** What the policies read as `$…_properties`. */
  readonly properties?: RequestProperties | undefined
}

/** The type that a search looks for. */
export interface SoughtEntity {
  /** The node type. */
  readonly type: string
  /** What the policies read as `$…_properties`. */
  readonly properties?: RequestProperties | undefined
}

/** The action of a request. */
export interface RequestAction {
  /** As policies name it. */
  readonly name: string
  /** What the policies read as `$…_properties`. */
  readonly properties?: RequestProperties | undefined
}

/** Parameters of a request. */
export interface RequestParameters {
  /** A value for each parameter of the policies, by its name without `$`. */
  readonly input_params?: Readonly<Record<string, unknown>> | undefined
  /** Only policies with one of these tags are evaluated. */
  readonly policy_tags?: readonly string[] | undefined
  /** `DRAFT`: as if the DRAFT policies were ACTIVE too. */
  readonly policy_status?: 'ACTIVE' | 'DRAFT' | undefined
}

/** The request of a decision. */
export interface EvaluationInput {
  /** Who acts. */
  readonly subject: RequestEntity
  /** What is done. */
  readonly action: RequestAction
  /** On what it is done. */
  readonly resource: RequestEntity
  /** Parameters of the policies. */
  readonly context?: RequestParameters | undefined
}

/** A decision or a search whose names are inspected. */
export interface InspectedRequest {
  /** Without `id`: a search looks for subjects. */
  readonly subject: SoughtEntity & { readonly id?: string | undefined }
  /** Absent: a search looks for actions. */
  readonly action?: RequestAction | undefined
  /** Without `id`: a search looks for resources. */
  readonly resource: SoughtEntity & { readonly id?: string | undefined }
  /** Parameters of the policies. */
  readonly context?: RequestParameters | undefined
}

/** A name in a request that the project or the graph does not have, or a parameter that is not read or not given. */
export interface RequestIssue {
  /** `unknown-action`: no policy for the two types names the action, or no policy is for the two types. */
  readonly kind:
    | 'unknown-type'
    | 'unknown-node'
    | 'unknown-action'
    | 'unknown-tag'
    | 'unread-parameter'
    | 'missing-parameter'
    | 'missing-member'
  /** Such as `Person:ann`, or the name of a parameter without `$`. */
  readonly name: string
  /** With the nearest known name, if one is near. */
  readonly message: string
}

/** Several requests with common members. A member of an item replaces the whole common member. */
export interface EvaluationsInput extends Partial<EvaluationInput> {
  /** At least one. */
  readonly evaluations: readonly Partial<EvaluationInput>[]
  /** `evaluations_semantic`: whether the first denial or the first permit ends the batch. Default: neither. */
  readonly options?:
    | { readonly evaluations_semantic?: 'execute_all' | 'deny_on_first_deny' | 'permit_on_first_permit' | undefined }
    | undefined
}

/** The page of a search to return. */
export interface PageInput {
  /** `page.next_token` of the page before. */
  readonly token?: string | undefined
  /** Maximum results of one page; 0 only counts. */
  readonly limit?: number | undefined
}

/** Looks for resources. */
export interface ResourceSearchInput extends Omit<EvaluationInput, 'resource'> {
  /** The type to look for. */
  readonly resource: SoughtEntity
  /** Absent: the first page, of the default length. */
  readonly page?: PageInput | undefined
}

/** Looks for subjects. */
export interface SubjectSearchInput extends Omit<EvaluationInput, 'subject'> {
  /** The type to look for. */
  readonly subject: SoughtEntity
  /** Absent: the first page, of the default length. */
  readonly page?: PageInput | undefined
}

/** Looks for actions. */
export interface ActionSearchInput extends Omit<EvaluationInput, 'action'> {
  /** Absent: all actions. */
  readonly page?: PageInput | undefined
}

/** A decision. */
export interface DecisionOutput {
  /** True: allowed. */
  readonly decision: boolean
  /** Only with a denial, or with an id. */
  readonly context?: {
    /** The id in the decision log of a service that writes one. */
    readonly id?: string | undefined
    /** Why the decision is a denial, if there is more to say. */
    readonly reason?: string | undefined
    readonly advice?: readonly Readonly<Record<string, string>>[] | undefined
  }
}

/** The position of a page; absent if the answer is complete and no page was requested. */
export interface PageOutput {
  /** The token of the next page; empty on the last one. */
  readonly next_token: string
  /** Results on this page. */
  readonly count: number
  /** Results on all pages, if they were counted. */
  readonly total?: number | undefined
}

/** The context of an answer to a search. */
export interface SearchContextOutput {
  /** The id in the decision log of a service that writes one. */
  readonly id?: string | undefined
  /** Why results may be absent: a policy failed, or no policy is for the request. */
  readonly reason?: string | undefined
}

/** The answer of a resource or subject search. */
export interface EntitySearchOutput {
  /** Absent: the results are complete. */
  readonly page?: PageOutput | undefined
  /** Absent without both members. */
  readonly context?: SearchContextOutput | undefined
  /** Node types and external ids. */
  readonly results: readonly { readonly type: string; readonly id: string }[]
}

/** The answer of an action search. */
export interface ActionSearchOutput {
  /** Absent: the results are complete. */
  readonly page?: PageOutput | undefined
  /** Absent without both members. */
  readonly context?: SearchContextOutput | undefined
  /** Names of actions. */
  readonly results: readonly { readonly name: string }[]
}

/** The key of an element in an explanation; null for an element without one. */
export interface ExplainedKey {
  /** The node type. */
  readonly type: string | null
  /** The external id. */
  readonly id: string | null
}

/** Elements that a pattern matched. */
export interface ExplainedElements {
  /** With the variables of the pattern; null: the pattern gives the node no name. */
  readonly nodes: readonly (ExplainedKey & { readonly variable: string | null })[]
  /** With their end nodes. */
  readonly relationships: readonly {
    readonly variable: string | null
    readonly type: string
    readonly source: ExplainedKey
    readonly target: ExplainedKey
  }[]
}

/** Where the pattern of a denying policy ended. */
export interface ExplainedMiss {
  /** The last step that had rows, and one of these rows; null: no step had rows. */
  readonly reached: { readonly step: string; readonly rows: number; readonly sample: ExplainedElements } | null
  /** The step that removed all rows. */
  readonly stopped: {
    readonly step: string
    readonly says: string
    /** What was found of a forbidden pattern. */
    readonly found?: ExplainedElements | undefined
    /** For predicates: the comparisons that are not true for the sample. */
    readonly comparisons?: readonly ExplainedComparison[] | undefined
  }
}

/** A comparison that is not true, with the values of its properties and parameters; null: the value is absent. */
export interface ExplainedComparison {
  readonly text: string
  readonly values: readonly { readonly of: string; readonly value: unknown }[]
}

/** One operator of a plan, with rows, reads and time of this operator alone. */
export interface ExplainedStep {
  /** Such as `Filter`. */
  readonly operator: string
  /** Its arguments, as text. */
  readonly detail: string
  /** Rows that it produced. */
  readonly rows: number
  /** Reads of the store. */
  readonly reads: number
  readonly time_ms: number
  /** Its place below its parent; absent for the root. */
  readonly role?: 'input' | 'inner' | 'branch'
  /** Its inputs. */
  readonly children: readonly ExplainedStep[]
}

/** The outcome of one policy. */
export interface ExplainedOutcome {
  /** Of the policy. */
  readonly id: string
  /** Of the policy. */
  readonly name: string
  /** The revision of the policy. */
  readonly revision: number
  /** Such as `3.0-kbac`. */
  readonly version: string
  readonly tags: readonly string[]
  /** What the policy contributed to the decision. */
  readonly outcome: 'granted' | 'denied' | 'faulted' | 'skipped'
  /** Why it was skipped. */
  readonly because?: 'tags' | 'token' | 'parameters' | 'filter' | 'time' | undefined
  /** Parameters that the caller did not send. */
  readonly missing?: readonly string[] | undefined
  /** The comparisons of the filter that failed. */
  readonly filter?:
    | {
        readonly failing: readonly {
          readonly path: string
          readonly operator: string
          readonly attribute: string
          readonly unknown: boolean
        }[]
        readonly advice: readonly Readonly<Record<string, string>>[]
      }
    | undefined
  /** The error inside the policy. */
  readonly fault?: { readonly code: string; readonly message: string } | undefined
  /** Entities of the request that are not in the graph. */
  readonly unknown?: readonly string[] | undefined
  /** The path that grants. */
  readonly matched?: ExplainedElements | undefined
  /** How far a denying pattern matched. */
  readonly nearest_miss?: ExplainedMiss | undefined
  /** The plan with rows, reads and time. */
  readonly plan?: ExplainedStep
  readonly duration_ms: number
}

/** A decision with the outcome of each policy. */
export interface ExplanationOutput extends DecisionOutput {
  /** The values of the parameters that the policies read. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** All policies for the types and the action, in the order of their creation. */
  readonly policies: readonly ExplainedOutcome[]
  readonly duration_ms: number
}

/** A policy that is not stored. */
export interface PolicyProposal {
  /** A stored policy with this name is replaced. */
  readonly name: string
  /** The policy document. */
  readonly policy: object
  readonly tags?: readonly string[] | undefined
}

/** A proposal to compare with the ACTIVE policies, and the decisions that are compared. */
export interface ComparisonInput {
  /** Policies to add or to replace. */
  readonly policies?: readonly PolicyProposal[] | undefined
  /** Names of ACTIVE policies to remove. */
  readonly removed_policies?: readonly string[] | undefined
  /** True: `policies` is the whole set. */
  readonly replace_all?: boolean | undefined
  /** True: the stored DRAFT policies are added. */
  readonly draft?: boolean | undefined
  /** Absent: all subjects. */
  readonly subject?:
    | {
        readonly type?: string | undefined
        readonly id?: string | undefined
        readonly properties?: RequestProperties | undefined
      }
    | undefined
  /** Absent: all actions. */
  readonly action?:
    | { readonly name?: string | undefined; readonly properties?: RequestProperties | undefined }
    | undefined
  /** Absent: all resources. */
  readonly resource?: ComparisonInput['subject']
  /** Parameters of the policies. */
  readonly context?: Omit<RequestParameters, 'policy_status'> | undefined
  /** Each subject is compared as if it had a token with these claims and its own `sub`. Absent: without a token. */
  readonly token?:
    | {
        readonly claims?: Readonly<Record<string, unknown>> | undefined
        readonly delegation?: Readonly<Record<string, unknown>> | undefined
      }
    | undefined
  /** Limits. */
  readonly budget?:
    | {
        readonly time_ms?: number | undefined
        readonly steps?: number | undefined
        readonly rows?: number | undefined
      }
    | undefined
  /** Examples of each list. Default: 3. */
  readonly sample?: number | undefined
}

/** The name of a policy in a comparison. */
export interface PolicyReference {
  /** Null: the policy is not stored. */
  readonly id: string | null
  readonly name: string
}

/** Pairs whose decision changes. */
export interface PairChanges {
  /** The first policy that grants the pairs, or granted them. */
  readonly policy: PolicyReference
  readonly actions: readonly string[]
  readonly subject_type: string
  readonly resource_type: string
  /** Number of pairs, for each of the actions. */
  readonly pairs: number
  /** True: there may be more. */
  readonly at_least: boolean
  /** Some of the pairs, with the path that grants or granted. */
  readonly sample: readonly {
    readonly subject: { readonly type: string; readonly id: string }
    readonly resource: { readonly type: string; readonly id: string }
    readonly matched?: ExplainedElements | undefined
  }[]
}

/** A policy that was not compared, or not completely. */
export interface ComparisonOmission {
  readonly policy: PolicyReference
  /** The set of policies that has it. */
  readonly in: 'old' | 'new' | 'both'
  readonly actions: readonly string[]
  readonly subject_type: string
  readonly resource_type: string
  readonly reason: 'parameters' | 'budget' | 'fault' | 'draft' | 'tags'
  /** Parameters that the request does not give. */
  readonly missing?: readonly string[] | undefined
  readonly message: string
  /** Pairs that were found before the end of the budget. */
  readonly pairs?: number | undefined
  /** Nodes whose pairs were compared. */
  readonly read?: number | undefined
  /** Number of these nodes. */
  readonly of?: number | undefined
}

/** Which decisions would change. */
export interface ComparisonOutput {
  /** False: `left_out` lists what is missing, and the numbers are lower bounds. */
  readonly complete: boolean
  /** Decisions that change to a permit: pairs, counted for each action. */
  readonly gained: number
  /** Decisions that change from a permit. */
  readonly lost: number
  readonly gains: readonly PairChanges[]
  readonly losses: readonly PairChanges[]
  readonly left_out: readonly ComparisonOmission[]
  /** The parameters of the request. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly steps: number
  readonly duration_ms: number
}

/** A call of a knowledge query. */
export interface QueryInput {
  /** The id or the name of the knowledge query. */
  readonly id: string
  /** A value for each parameter of the query, by its name without `$`. */
  readonly input_params?: Readonly<Record<string, unknown>> | undefined
  /** Number of records to skip. */
  readonly page_token?: number | undefined
  /** Number of the page, from 1. Not together with `page_token`. */
  readonly page?: number | undefined
  /** Records in an answer. Default: 100. */
  readonly page_size?: number | undefined
}

/** The answer of a knowledge query. */
export interface QueryOutput {
  /** One record for each row, with the values by requested path. */
  readonly data: readonly {
    readonly nodes?: Readonly<Record<string, unknown>> | undefined
    readonly relationships?: Readonly<Record<string, unknown>> | undefined
    readonly aggregate_values?: Readonly<Record<string, unknown>> | undefined
  }[]
  /** Values that could not be resolved; they are null. */
  readonly warnings?: readonly string[] | undefined
}

/** Cypher that reads the graph. */
export interface GraphQueryInput {
  /** Ends with RETURN. A clause that writes is refused. */
  readonly query: string
  /** A value for each parameter of the query, by its name without `$`. */
  readonly parameters?: Readonly<Record<string, unknown>> | undefined
  /** Rows in the answer, at most 10,000. Default: 1000. */
  readonly limit?: number | undefined
  /** `plan`: only the plan; `profile`: the rows, and the plan with rows, reads and time of each operator. Default: `rows`. */
  readonly mode?: 'rows' | 'plan' | 'profile' | undefined
}

/** One operator of the plan of a query. The measures are in a profile only, and are those of this operator alone. */
export interface GraphQueryStep {
  /** Such as `Filter`. */
  readonly operator: string
  /** Its arguments, as text. */
  readonly detail: string
  /** Rows that it produced. */
  readonly rows?: number | undefined
  /** Reads of the store. */
  readonly reads?: number | undefined
  readonly time_ms?: number | undefined
  /** Its place below its parent; absent for the root. */
  readonly role?: 'input' | 'inner' | 'branch' | undefined
  /** Its inputs. */
  readonly children: readonly GraphQueryStep[]
}

/** The answer of `query`. */
export interface GraphQueryOutput {
  readonly columns: readonly string[]
  /**
   * One value for each column. Elements are objects with `kind`: `node`, `relationship` or `path`; temporal values are ISO 8601
   * text; integers beyond 2^53 are bigints.
   */
  readonly rows: readonly (readonly unknown[])[]
  /** The query has more rows than the answer. */
  readonly truncated: boolean
  /** The limit of rows, or that of the characters of an answer. */
  readonly truncated_by?: 'limit' | 'size' | undefined
  /** The names in the query that the graph has never seen. */
  readonly warnings?:
    | readonly { readonly code: string; readonly message: string; readonly line: number; readonly column: number }[]
    | undefined
  /** Present if `mode` requests it. */
  readonly plan?: GraphQueryStep | undefined
  readonly duration_ms: number
}

/** The names that a graph has seen. */
export interface GraphNamesOutput {
  /** Labels and node types. */
  readonly labels: readonly string[]
  readonly relationship_types: readonly string[]
  /** Of nodes and relationships. */
  readonly properties: readonly string[]
  /** There are more names than these. */
  readonly truncated: boolean
}

/** A policy of the project. */
export interface ListedPolicy {
  readonly id: string
  readonly name: string
  /** `ACTIVE`, `INACTIVE` or `DRAFT`. */
  readonly status: string
  readonly tags: readonly string[]
  /** The document of the policy, as JSON text. */
  readonly policy: string
}

/** The key of a node to write. */
export interface WrittenKey {
  /** The node type. */
  readonly type: string
  readonly external_id: string
  /** The location in a composite project. */
  readonly location?: string | undefined
}

/** A property to write. A property of a node may also have `metadata`. */
export interface ItemProperty {
  /** The name of the property. */
  readonly type: string
  /** Exactly one of `value` and `external_value`. */
  readonly value?: unknown
  /** The external data resolver that supplies the value when it is read. */
  readonly external_value?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** A node to create or update. */
export interface WrittenNode extends WrittenKey {
  /** In addition to the type. */
  readonly labels?: readonly string[] | undefined
  /** Further labels. */
  readonly tags?: readonly string[] | undefined
  /** Whether the node can be a subject. */
  readonly is_identity?: boolean | undefined
  readonly properties?: readonly ItemProperty[] | undefined
}

/** A relationship to delete. */
export interface WrittenRelationshipKey {
  /** The node at which it begins. */
  readonly source: WrittenKey
  /** The node at which it ends. */
  readonly target: WrittenKey
  /** The relationship type. */
  readonly type: string
}

/** A relationship to create or update. */
export interface WrittenRelationship extends WrittenRelationshipKey {
  readonly properties?: readonly Omit<ItemProperty, 'metadata'>[] | undefined
}

/** Items to write. Each list is one transaction; they are written in the order of the members of this type. */
export interface WriteInput {
  /** To create or update. */
  readonly nodes?: readonly WrittenNode[] | undefined
  /** If an end does not exist, the list is refused. */
  readonly relationships?: readonly WrittenRelationship[] | undefined
  readonly delete_relationships?: readonly WrittenRelationshipKey[] | undefined
  /** With their relationships. */
  readonly delete_nodes?: readonly WrittenKey[] | undefined
  /** Of `relationships` and `delete_relationships` whose ends are in different constituents. */
  readonly use_global_db?: boolean | undefined
}

/** The ids of the written elements, by list, in the order of the items; empty for an element to delete that did not exist. */
export type WriteOutput = Readonly<
  Record<'nodes' | 'relationships' | 'delete_relationships' | 'delete_nodes', readonly { readonly id: string }[]>
>

/** The searches of an authorizer. */
export interface AuthorizerSearch {
  /** The subjects of a type that may perform the action on the resource. */
  subject(request: SubjectSearchInput, options?: CallOptions): EntitySearchOutput
  /** The resources of a type on which the subject may perform the action. */
  resource(request: ResourceSearchInput, options?: CallOptions): EntitySearchOutput
  /** The actions that the subject may perform on the resource. */
  action(request: ActionSearchInput, options?: CallOptions): ActionSearchOutput
}

/**
 * Decides, searches, explains, runs knowledge queries and writes in this process, with the answers of the HTTP interface. A call that
 * the service would answer with an error throws AuthorizerError.
 *
 * @example
 * await using authorizer = await openAuthorizer({ memory: true, project: './authz' })
 * await authorizer.write({ nodes: [{ type: 'Person', external_id: 'ann' }, { type: 'Car', external_id: 'c1' }] })
 * authorizer.evaluate({
 *   subject: { type: 'Person', id: 'ann' },
 *   action: { name: 'drive' },
 *   resource: { type: 'Car', id: 'c1' },
 * }).decision // false
 */
export interface Authorizer extends AsyncDisposable {
  /** Decides one request. */
  evaluate(request: EvaluationInput, options?: CallOptions): DecisionOutput
  /** Decides several requests on one snapshot. An error in an item is a denial with a reason. */
  evaluations(request: EvaluationsInput, options?: CallOptions): { readonly evaluations: readonly DecisionOutput[] }
  /** Searches for subjects, resources and actions. */
  readonly search: AuthorizerSearch
  /** Decides one request, and reports the outcome of each policy. */
  explain(request: EvaluationInput, options?: CallOptions): ExplanationOutput
  /**
   * Finds names in a request that are probably misspelt: a decision denies them like others. The matchers and scenario files
   * fail for each of them, unless the test expects it.
   *
   * @example
   * authorizer.inspect({ subject: ann, action: { name: 'drvie' }, resource: car })[0]?.message
   * // no policy for Person and Car names the action `drvie`; did you mean `drive`?
   */
  inspect(request: InspectedRequest, options?: CallOptions): readonly RequestIssue[]
  /** As `inspect`, for a call of a knowledge query. */
  inspectQuery(request: QueryInput, options?: CallOptions): Promise<readonly RequestIssue[]>
  /** Compares the ACTIVE policies with a proposal: which decisions would change. */
  compare(request: ComparisonInput): ComparisonOutput
  /** Runs a knowledge query. Asynchronous, because it may write and call external data resolvers. */
  execute(request: QueryInput, options?: CallOptions): Promise<QueryOutput>
  /** Reads the graph with Cypher. It sees every node and property, whatever the policies allow. */
  query(request: GraphQueryInput): GraphQueryOutput
  /** The names of labels, relationship types and properties. */
  names(): GraphNamesOutput
  /** The policies of the project, by name. */
  policies(): readonly ListedPolicy[]
  /** Writes to the graph. Resolves when the items are stored. */
  write(request: WriteInput): Promise<WriteOutput>
  /** Closes the graph; in memory it is gone. Idempotent. A later call of another method throws. */
  close(): Promise<void>
}

/** Where an authorizer finds its graph and its policies. */
export interface AuthorizerOptions {
  /** True: the graph is empty, in memory, and ends with the authorizer. */
  readonly memory?: true | undefined
  /** An existing data folder with the graph. Exactly one of `memory` and `folder`. */
  readonly folder?: string | undefined
  /**
   * A project folder with the policies, queries and resolvers. Required with `memory`. With `folder`, they replace those of
   * the data folder for this authorizer, and nothing of them is stored.
   */
  readonly project?: string | undefined
  /** The name or the id of the project in `folder`, if it has several. */
  readonly projectName?: string | undefined
  /** Looks up secrets that the project folder refers to. Default: environment variables, and files of `VERDIGRAPH_SECRETS`. */
  readonly secrets?: ((reference: string) => string | undefined) | undefined
  /** Receives the messages that a service would log. Default: they are dropped. */
  readonly log?: ((message: string) => void) | undefined
}
