// The public types of the authorizer: decisions, searches, explanations, knowledge queries and writes in this process. Requests and
// answers have the members of the HTTP interface, whose types are generated. Types only, so that the declarations of the package need no
// other package.

import type { HttpSchemas } from '../openapi/types.ts'
import type { QuestionArguments, SearchArguments } from './declared-questions.ts'

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
  /** Absent: no user token. Null: it is absent on purpose; `inspect` and the matchers accept that. */
  readonly token?: AuthorizerToken | null | undefined
}

/** A subject or a resource of a request. */
export type RequestEntity = HttpSchemas['Subject']

/** The type that a search looks for. */
export type SoughtEntity = HttpSchemas['ResourceType']

/** The action of a request. */
export type RequestAction = HttpSchemas['Action']

/** Parameters of a request. */
export type RequestParameters = HttpSchemas['EvaluationContext']

/** The request of a decision. */
export type EvaluationInput = HttpSchemas['EvaluationRequest']

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

/** A name in a request that the project or the graph does not have, a parameter that is not read or not given, or an absent token. */
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
    | 'missing-token'
  /** Such as `Person:ann`, or the name of a parameter without `$`. */
  readonly name: string
  /** With the nearest known name, if one is near. */
  readonly message: string
}

/** Several requests with common members. A member of an item replaces the whole common member. */
export interface EvaluationsInput extends Omit<HttpSchemas['EvaluationsRequest'], 'evaluations'> {
  /** At least one. */
  readonly evaluations: readonly HttpSchemas['EvaluationItem'][]
}

/** The page of a search to return. */
export type PageInput = HttpSchemas['SearchPage']

/** Looks for resources. */
export type ResourceSearchInput = HttpSchemas['ResourceSearchRequest']

/** Looks for subjects. */
export type SubjectSearchInput = HttpSchemas['SubjectSearchRequest']

/** Looks for actions. */
export type ActionSearchInput = HttpSchemas['ActionSearchRequest']

/** A decision. */
export type DecisionOutput = HttpSchemas['Decision']

/** The position of a page; absent if the answer is complete and no page was requested. */
export type PageOutput = HttpSchemas['SearchAnswerPage']

/** The answer of a resource or subject search. */
export type EntitySearchOutput = HttpSchemas['SearchAnswer']

/** The answer of an action search. */
export type ActionSearchOutput = HttpSchemas['ActionSearchAnswer']

/** The key of an element in an explanation; null for an element without one. */
export type ExplainedKey = HttpSchemas['ElementKey']

/** Elements that a pattern matched. */
export type ExplainedElements = HttpSchemas['MatchedElements']

/** A comparison that is not true, with the values of its properties and parameters; null: the value is absent. */
export type ExplainedComparison = HttpSchemas['FailedComparison']

/** One operator of a plan, with rows, reads and time of this operator alone. */
export type ExplainedStep = HttpSchemas['PlanStep']

/** The outcome of one policy. */
export type ExplainedOutcome = HttpSchemas['PolicyExplanation']

/** A decision with the outcome of each policy. */
export type ExplanationOutput = HttpSchemas['Explanation']

/** A policy that is not stored. */
export interface PolicyProposal extends Omit<HttpSchemas['ProposedPolicy'], 'policy'> {
  /** The policy document. */
  readonly policy: object
}

/** A proposal to compare with the ACTIVE policies, and the decisions that are compared. */
export interface ComparisonInput extends Omit<HttpSchemas['ComparisonRequest'], 'policies'> {
  /** Policies to add or to replace. */
  readonly policies?: readonly PolicyProposal[] | undefined
}

/** Pairs whose decision changes. */
export type PairChanges = HttpSchemas['ChangedPairs']

/** A policy that was not compared, or not completely. */
export type ComparisonOmission = HttpSchemas['LeftOutPolicy']

/** Which decisions would change. */
export type ComparisonOutput = HttpSchemas['Comparison']

/** A call of a knowledge query. */
export type QueryInput = HttpSchemas['KnowledgeQueryCall']

/** The answer of a knowledge query. */
export type QueryOutput = HttpSchemas['KnowledgeQueryAnswer']

/** Cypher that reads the graph. */
export type GraphQueryInput = HttpSchemas['GraphQuery']

/** One operator of the plan of a query. The measures are in a profile only, and are those of this operator alone. */
export type GraphQueryStep = HttpSchemas['GraphQueryStep']

/** The answer of `query`. */
export interface GraphQueryOutput extends Omit<HttpSchemas['GraphQueryAnswer'], 'rows'> {
  /**
   * One value for each column. Elements are objects with `kind`: `node`, `relationship` or `path`; temporal values are ISO 8601
   * text; integers beyond 2^53 are bigints.
   */
  readonly rows: readonly (readonly unknown[])[]
}

/** The names that a graph has seen. */
export type GraphNamesOutput = HttpSchemas['GraphNames']

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
export type WrittenKey = HttpSchemas['NodeKey']

/** A node to create or update. */
export type WrittenNode = HttpSchemas['Node']

/** A relationship to delete. */
export type WrittenRelationshipKey = HttpSchemas['RelationshipKey']

/** A relationship to create or update. */
export type WrittenRelationship = HttpSchemas['Relationship']

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
> & {
  /** What the declared types of an `OPEN` model do not allow, each with the place in the request. Absent: all items fit. */
  readonly warnings?: readonly string[]
}

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
  /**
   * Whether the subject may perform the action on the resource. As `evaluate`, for programs that need no reason.
   *
   * @example
   * authorizer.may({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 4 }) // true
   */
  may(...question: [...QuestionArguments, options?: CallOptions]): boolean
  /**
   * The ids of all resources of a type on which the subject may perform the action. As `search.resource`, for all pages.
   *
   * @example
   * authorizer.resources({ Person: 'ann' }, 'drive', 'Car', { min: 4 }) // ['c1']
   */
  resources(...search: [...SearchArguments, options?: CallOptions]): readonly string[]
  /** Decides one request. */
  evaluate(request: EvaluationInput, options?: CallOptions): DecisionOutput
  /** Decides several requests on one snapshot. An error in an item is a denial with a reason. */
  evaluations(request: EvaluationsInput, options?: CallOptions): HttpSchemas['DecisionList']
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
