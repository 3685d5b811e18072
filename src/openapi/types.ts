// Generated from data/openapi.json by `npm run golden`: requests and answers of the HTTP interface, as the authorizer, the client and
// the console have them. Types only, so that the declarations of the package need no other package.

/** The schemas of the document, by name. */
export interface HttpSchemas {
  Action: {
    readonly name: string
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  ActionSearchAnswer: {
    readonly page?: HttpSchemas['SearchAnswerPage'] | undefined
    readonly context?: HttpSchemas['SearchAnswerContext'] | undefined
    readonly results: readonly HttpSchemas['FoundAction'][]
  }
  ActionSearchRequest: {
    readonly subject: HttpSchemas['Subject']
    readonly resource: HttpSchemas['Resource']
    readonly context?: HttpSchemas['EvaluationContext'] | undefined
    readonly page?: HttpSchemas['SearchPage'] | undefined
  }
  Advice: Readonly<Record<string, string>>
  AskedPolicyStatus: 'ACTIVE' | 'DRAFT'
  CaptureResult: {
    readonly results: readonly HttpSchemas['CapturedElement'][]
    /** What the declared types of the project do not allow of the written elements; absent: nothing. */
    readonly warnings?: readonly string[] | undefined
  }
  CapturedElement: {
    readonly id: string
  }
  ChangedPair: {
    readonly subject: HttpSchemas['FoundEntity']
    readonly resource: HttpSchemas['FoundEntity']
    /** The path with which the policy grants, or granted. */
    readonly matched?: HttpSchemas['MatchedElements'] | undefined
  }
  ChangedPairs: {
    /** The first policy that grants the pairs, or granted them. */
    readonly policy: HttpSchemas['ComparedPolicyName']
    readonly actions: readonly string[]
    readonly subject_type: string
    readonly resource_type: string
    /** Pairs of subject and resource whose decision changes, for each of the actions. */
    readonly pairs: number
    /** True: there may be more, because the policy was not read to its end. */
    readonly at_least: boolean
    readonly sample: readonly HttpSchemas['ChangedPair'][]
  }
  /** Which action is compared; default: all. */
  ComparedActions: {
    readonly name?: string | undefined
    /** What the policies read as parameters. */
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  ComparedEntities: {
    readonly type?: string | undefined
    readonly id?: string | undefined
    /** What the policies read as parameters. */
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  ComparedPolicyName: {
    /** Null: the policy is not stored. */
    readonly id: string | null
    readonly name: string
  }
  /** Each subject is compared as if it had a token with these claims and its own `sub`. */
  ComparedToken: {
    /** What the policies read as `$token`, with `sub` in addition. */
    readonly claims?: HttpSchemas['JsonObject'] | undefined
    /** What the policies read as `$svc_token`. */
    readonly delegation?: HttpSchemas['JsonObject'] | undefined
  }
  ComparedValue: {
    readonly of: string
    readonly value: unknown
  }
  Comparison: {
    /** False: `left_out` lists what is missing, and the numbers are lower bounds. */
    readonly complete: boolean
    /** Decisions that change to a permit: pairs, counted for each action. */
    readonly gained: number
    /** Decisions that change from a permit: pairs, counted for each action. */
    readonly lost: number
    readonly gains: readonly HttpSchemas['ChangedPairs'][]
    readonly losses: readonly HttpSchemas['ChangedPairs'][]
    readonly left_out: readonly HttpSchemas['LeftOutPolicy'][]
    /** About the proposed model: stored data that it would not fit, counted with examples. */
    readonly warnings?: readonly string[] | undefined
    /** The parameters of the request, masked as in an explanation. */
    readonly parameters: HttpSchemas['JsonObject']
    readonly steps: number
    readonly duration_ms: number
  }
  ComparisonBudget: {
    /** Milliseconds; at most 0.75 of the setting `batch_time_ms`; default: 0.2 of it. */
    readonly time_ms?: number | undefined
    /** Rows, relationships and list items that are read; default: no limit. */
    readonly steps?: number | undefined
    /** Rows that are in memory at the same time. */
    readonly rows?: number | undefined
  }
  ComparisonContext: {
    /** A value for each parameter of the policies, by its name without `$`. */
    readonly input_params?: HttpSchemas['JsonObject'] | undefined
    /** Only policies with one of these tags are compared. */
    readonly policy_tags?: readonly string[] | undefined
  }
  ComparisonRequest: {
    /** Policies to add or to replace. */
    readonly policies?: readonly HttpSchemas['ProposedPolicy'][] | undefined
    /** Names of ACTIVE policies to remove. */
    readonly removed_policies?: readonly string[] | undefined
    /** True: `policies` is the whole set, and all others are removed. */
    readonly replace_all?: boolean | undefined
    /** The text of a model that replaces that of the project; null: the project has none; default: the stored one. */
    readonly model?: string | null | undefined
    /** True: the stored DRAFT policies are added, as if they were ACTIVE. */
    readonly draft?: boolean | undefined
    /** Which subjects are compared; default: all. */
    readonly subject?: HttpSchemas['ComparedEntities'] | undefined
    readonly action?: HttpSchemas['ComparedActions'] | undefined
    /** Which resources are compared; default: all. */
    readonly resource?: HttpSchemas['ComparedEntities'] | undefined
    readonly context?: HttpSchemas['ComparisonContext'] | undefined
    readonly token?: HttpSchemas['ComparedToken'] | undefined
    readonly budget?: HttpSchemas['ComparisonBudget'] | undefined
    /** Examples of each list; default 3. */
    readonly sample?: number | undefined
  }
  Decision: {
    /** True: allowed. */
    readonly decision: boolean
    readonly context?: HttpSchemas['DecisionContext'] | undefined
  }
  DecisionContext: {
    /** The id of the decision in the decision log; present while the log is on. */
    readonly id?: string | undefined
    /** Why the decision is a denial, if there is more to say. */
    readonly reason?: string | undefined
    readonly advice?: readonly HttpSchemas['Advice'][] | undefined
    /** The revision of the model of the project, if the request has `context.model_revision`; 0: it has no model. */
    readonly model_revision?: number | undefined
  }
  DecisionList: {
    readonly evaluations: readonly HttpSchemas['Decision'][]
  }
  DecisionPolicyCondition: {
    readonly cypher: string
    readonly filter?: HttpSchemas['PolicyFilter'] | undefined
  }
  DecisionPolicyDocument: {
    readonly meta: HttpSchemas['DecisionPolicyMeta']
    /** `forbid` denies what other policies grant; default: `permit`. */
    readonly effect?: HttpSchemas['PolicyEffect'] | undefined
    readonly subject: HttpSchemas['PolicyEntity']
    readonly actions: readonly string[]
    readonly resource: HttpSchemas['PolicyEntity']
    readonly condition: HttpSchemas['DecisionPolicyCondition']
  }
  DecisionPolicyMeta: {
    readonly policy_version: HttpSchemas['DecisionPolicyVersion']
  }
  DecisionPolicyVersion: '2.0-kbac' | '3.0-kbac'
  DerivedRelationship: {
    readonly type: string
    readonly source: HttpSchemas['ElementKey']
    readonly target: HttpSchemas['ElementKey']
  }
  /** The key of an element; null for an element without one. */
  ElementKey: {
    readonly type: string | null
    readonly id: string | null
  }
  EvaluationContext: {
    /** A value for each parameter of the policies, by its name without `$`. */
    readonly input_params?: HttpSchemas['JsonObject'] | undefined
    /** Only policies with one of these tags are evaluated. */
    readonly policy_tags?: readonly string[] | undefined
    /** `DRAFT`: as if the DRAFT policies were ACTIVE too; needs the permission ReadAuthZConfigs. */
    readonly policy_status?: HttpSchemas['AskedPolicyStatus'] | undefined
    /** The revision of the model that the caller expects; another one is refused (422). 0: any. The answer has it in `context.model_revision`. */
    readonly model_revision?: number | undefined
  }
  EvaluationItem: {
    readonly subject?: HttpSchemas['Subject'] | undefined
    readonly action?: HttpSchemas['Action'] | undefined
    readonly resource?: HttpSchemas['Resource'] | undefined
    readonly context?: HttpSchemas['EvaluationContext'] | undefined
  }
  EvaluationRequest: {
    readonly subject: HttpSchemas['Subject']
    readonly action: HttpSchemas['Action']
    readonly resource: HttpSchemas['Resource']
    readonly context?: HttpSchemas['EvaluationContext'] | undefined
  }
  EvaluationsAnswer: HttpSchemas['DecisionList'] | HttpSchemas['Decision']
  EvaluationsOptions: {
    readonly evaluations_semantic?: HttpSchemas['EvaluationsSemantic'] | undefined
  }
  EvaluationsRequest: {
    readonly subject?: HttpSchemas['Subject'] | undefined
    readonly action?: HttpSchemas['Action'] | undefined
    readonly resource?: HttpSchemas['Resource'] | undefined
    readonly context?: HttpSchemas['EvaluationContext'] | undefined
    readonly evaluations?: readonly HttpSchemas['EvaluationItem'][] | undefined
    readonly options?: HttpSchemas['EvaluationsOptions'] | undefined
  }
  EvaluationsSemantic: 'execute_all' | 'deny_on_first_deny' | 'permit_on_first_permit'
  /** A relationship that a definition of the model derives, with the row from which it follows. */
  ExplainedDerivation: {
    readonly type: string
    readonly source: HttpSchemas['ElementKey']
    readonly target: HttpSchemas['ElementKey']
    /** The number of the alternative of the definition that has a row for it, from 1. */
    readonly alternative: number
    /** The stored relationships of that row. */
    readonly relationships: readonly HttpSchemas['MatchedRelationship'][]
    /** The derived relationships of that row; their entries are later in the list. */
    readonly derived: readonly HttpSchemas['DerivedRelationship'][]
  }
  ExplainedDimension: {
    readonly name: string
    readonly value: number
    /** In the profile of the node type; null: the profile does not have the dimension. */
    readonly weight: number | null
    /** How much higher the final score would be if the dimension were 1. */
    readonly loss: number | null
  }
  ExplainedScore: {
    readonly node: HttpSchemas['ElementKey']
    readonly final_score: number | null
    /** The dimension with the greatest loss; null: all are 1. */
    readonly lowered_by: string | null
    /** The greatest loss first. */
    readonly dimensions: readonly HttpSchemas['ExplainedDimension'][]
  }
  Explanation: {
    /** True: allowed. */
    readonly decision: boolean
    readonly context?: HttpSchemas['DecisionContext'] | undefined
    /** The model with which the policies were read; absent if the project has none. */
    readonly model?: HttpSchemas['UsedModel'] | undefined
    readonly parameters: HttpSchemas['JsonObject']
    readonly policies: readonly HttpSchemas['PolicyExplanation'][]
    readonly duration_ms: number
  }
  /** A comparison that is not true, with the values of its properties and parameters: `***` unless `parameter_mask` shows the name, null for an absent value. */
  FailedComparison: {
    readonly text: string
    readonly values: readonly HttpSchemas['ComparedValue'][]
  }
  FailingComparison: {
    readonly path: string
    readonly operator: string
    readonly attribute: string
    readonly unknown: boolean
  }
  FilterExplanation: {
    readonly failing: readonly HttpSchemas['FailingComparison'][]
    readonly advice: readonly HttpSchemas['Advice'][]
  }
  FilterOperator: 'AND' | 'OR' | 'NOT' | '=' | '<>' | '<' | '<=' | '>' | '>=' | 'IN' | '=~' | 'STARTS WITH' | 'ENDS WITH' | 'CONTAINS' | 'IS NULL' | 'IS NOT NULL'
  FoundAction: {
    /** The name of the action. */
    readonly name: string
  }
  FoundEntity: {
    /** The node type. */
    readonly type: string
    /** The external id. */
    readonly id: string
  }
  GraphNames: {
    /** Labels and node types. */
    readonly labels: readonly string[]
    readonly relationship_types: readonly string[]
    /** Of nodes and relationships. */
    readonly properties: readonly string[]
    /** There are more than 10000 names of a kind. */
    readonly truncated: boolean
  }
  GraphQuery: {
    /** Cypher that ends with RETURN; clauses that write are refused. */
    readonly query: string
    /** A value for each parameter of the query, by its name without `$`. */
    readonly parameters?: HttpSchemas['JsonObject'] | undefined
    /** Rows in the answer. Default: 1000. */
    readonly limit?: number | undefined
    /** `plan`: the plan, and no rows are read; `profile`: the rows, and the plan with rows, reads and time of each operator. Default: `rows`. */
    readonly mode?: 'rows' | 'plan' | 'profile' | undefined
  }
  GraphQueryAnswer: {
    readonly columns: readonly string[]
    /** One value for each column, in their order. A temporal value is ISO 8601 text. */
    readonly rows: readonly (readonly (HttpSchemas['GraphQueryNode'] | HttpSchemas['GraphQueryRelationship'] | HttpSchemas['GraphQueryPath'] | string | number | boolean | readonly unknown[] | HttpSchemas['JsonObject'] | null)[])[]
    /** The query has more rows than the answer. */
    readonly truncated: boolean
    /** `size`: the setting `execute_answer_max`; only if the answer is truncated. */
    readonly truncated_by?: 'limit' | 'size' | undefined
    /** The labels, relationship types and properties that the graph has never seen. */
    readonly warnings?: readonly HttpSchemas['GraphQueryWarning'][] | undefined
    /** Only if `mode` requests it. */
    readonly plan?: HttpSchemas['GraphQueryStep'] | undefined
    readonly duration_ms: number
  }
  GraphQueryNode: {
    readonly kind: 'node'
    /** The global id; empty for a node that was never captured. */
    readonly id: string
    readonly type: string | null
    readonly external_id: string | null
    /** Includes the type. */
    readonly labels: readonly string[]
    readonly is_identity: boolean
    /** Of a node in a composite project. */
    readonly location?: string | undefined
    /** Values by name. */
    readonly properties: HttpSchemas['JsonObject']
    /** The resolver of each property that an external data resolver supplies; its value is not read. */
    readonly external?: HttpSchemas['JsonObject'] | undefined
  }
  /** The key of a node; null for a node that was never captured. */
  GraphQueryNodeKey: {
    readonly type: string | null
    readonly external_id: string | null
  }
  GraphQueryPath: {
    readonly kind: 'path'
    readonly nodes: readonly HttpSchemas['GraphQueryNode'][]
    readonly relationships: readonly HttpSchemas['GraphQueryRelationship'][]
  }
  GraphQueryRelationship: {
    readonly kind: 'relationship'
    /** The global id. */
    readonly id: string
    readonly type: string
    readonly source: HttpSchemas['GraphQueryNodeKey']
    readonly target: HttpSchemas['GraphQueryNodeKey']
    /** Values by name. */
    readonly properties: HttpSchemas['JsonObject']
    /** The resolver of each property that an external data resolver supplies; its value is not read. */
    readonly external?: HttpSchemas['JsonObject'] | undefined
  }
  GraphQueryStep: {
    readonly operator: string
    readonly detail: string
    /** Only in a profile. */
    readonly rows?: number | undefined
    /** Only in a profile. */
    readonly reads?: number | undefined
    /** Only in a profile. */
    readonly time_ms?: number | undefined
    /** Of a child: `input`, `inner` or `branch`; absent for the root. */
    readonly role?: string | undefined
    readonly children: readonly HttpSchemas['GraphQueryStep'][]
  }
  GraphQueryWarning: {
    readonly code: string
    readonly message: string
    readonly line: number
    readonly column: number
  }
  /** An object with any members. */
  JsonObject: Readonly<Record<string, unknown>>
  KnowledgeQueryAnswer: {
    readonly data: readonly HttpSchemas['KnowledgeQueryRecord'][]
    /** Values that could not be resolved, each with its reason; the values are null. */
    readonly warnings?: readonly string[] | undefined
  }
  KnowledgeQueryCall: {
    /** The id or the name of the knowledge query. */
    readonly id: string
    /** A value for each parameter of the query, by its name without `$`. */
    readonly input_params?: HttpSchemas['JsonObject'] | undefined
    /** Number of records to skip: for the next page, the number received so far; below 1 is the first page. Counts pages, as `page` does, where `page_token_counts` of the project or the agent is `pages`. */
    readonly page_token?: number | undefined
    /** Number of the page, from 1: for the next page, one more. Not together with `page_token`. */
    readonly page?: number | undefined
    /** Records in an answer; 0 is the default, 100. */
    readonly page_size?: number | undefined
  }
  KnowledgeQueryRecord: {
    /** Values by requested path. */
    readonly nodes?: HttpSchemas['JsonObject'] | undefined
    /** Values by requested path. */
    readonly relationships?: HttpSchemas['JsonObject'] | undefined
    /** Values by requested path. */
    readonly aggregate_values?: HttpSchemas['JsonObject'] | undefined
  }
  LeftOutPolicy: {
    readonly policy: HttpSchemas['ComparedPolicyName']
    /** The set of policies that has it. */
    readonly in: 'old' | 'new' | 'both'
    readonly actions: readonly string[]
    readonly subject_type: string
    readonly resource_type: string
    /** `draft`: the stored draft does not compile; `tags`: they differ, and `context.policy_tags` is not given. */
    readonly reason: 'parameters' | 'budget' | 'fault' | 'draft' | 'tags'
    /** Parameters that the request does not give. */
    readonly missing?: readonly string[] | undefined
    readonly message: string
    /** Pairs that were found to change before the end of the budget. */
    readonly pairs?: number | undefined
    /** Subjects, or resources, whose pairs were compared. */
    readonly read?: number | undefined
    /** How many there are. */
    readonly of?: number | undefined
  }
  MatchedElements: {
    readonly nodes: readonly HttpSchemas['MatchedNode'][]
    readonly relationships: readonly HttpSchemas['MatchedRelationship'][]
    /** The derived relationships of the match and all that they follow from, each once, at most 100. */
    readonly derived?: readonly HttpSchemas['ExplainedDerivation'][] | undefined
  }
  MatchedNode: {
    readonly type: string | null
    readonly id: string | null
    readonly variable: string | null
  }
  MatchedRelationship: {
    readonly variable: string | null
    readonly type: string
    readonly source: HttpSchemas['ElementKey']
    readonly target: HttpSchemas['ElementKey']
  }
  MergedRelationship: {
    /** Index in `relationships`. */
    readonly index: number
    /** Index of the first item with the same source, type and target. */
    readonly into: number
  }
  /** How far one alternative of a definition came. */
  MissedAlternative: {
    /** The number of the alternative of the definition, from 1. */
    readonly alternative: number
    /** The last step that had rows, and one of these rows. */
    readonly reached: HttpSchemas['ReachedStep'] | null
    readonly stopped: HttpSchemas['StoppedAlternative']
  }
  NearestMiss: {
    /** The last step that had rows, and one of these rows. */
    readonly reached: HttpSchemas['ReachedStep'] | null
    /** The step that removed all rows; for a forbidden pattern, what was found of it; for predicates, the comparisons that are not true for the sample. */
    readonly stopped: HttpSchemas['StoppedStep']
  }
  Node: {
    readonly external_id: string
    readonly type: string
    readonly labels?: readonly string[] | undefined
    /** Further labels, in addition to `labels`. */
    readonly tags?: readonly string[] | undefined
    readonly is_identity?: boolean | undefined
    readonly location?: string | undefined
    readonly properties?: readonly HttpSchemas['NodeProperty'][] | undefined
  }
  NodeKey: {
    readonly external_id: string
    readonly type: string
    readonly location?: string | undefined
  }
  NodeProperty: {
    readonly type: string
    readonly value?: unknown
    readonly external_value?: string | undefined
    readonly metadata?: HttpSchemas['PropertyMetadata'] | undefined
  }
  NodesDeletionRequest: {
    readonly nodes: readonly HttpSchemas['NodeKey'][]
  }
  NodesRequest: {
    readonly nodes: readonly HttpSchemas['Node'][]
  }
  PlanStep: {
    readonly operator: string
    readonly detail: string
    readonly rows: number
    readonly reads: number
    readonly time_ms: number
    /** Of a child; absent for the root. */
    readonly role?: 'input' | 'inner' | 'branch' | undefined
    readonly children: readonly HttpSchemas['PlanStep'][]
  }
  PolicyEffect: 'permit' | 'forbid'
  PolicyEntity: {
    readonly type: string
  }
  PolicyExplanation: {
    readonly id: string
    readonly name: string
    readonly version: HttpSchemas['DecisionPolicyVersion']
    /** The revision of the policy. */
    readonly revision: number
    readonly tags: readonly string[]
    /** Of a policy that forbids; absent: it grants. */
    readonly effect?: 'forbid' | undefined
    /** Of a policy that forbids: `forbidden` or `faulted`, which deny what another policy grants, or `passed`, or `skipped`. */
    readonly outcome: 'granted' | 'denied' | 'forbidden' | 'passed' | 'faulted' | 'skipped'
    /** `time`: the explanation as a whole reached its time limit. */
    readonly because?: 'tags' | 'token' | 'parameters' | 'filter' | 'time' | undefined
    readonly missing?: readonly string[] | undefined
    readonly filter?: HttpSchemas['FilterExplanation'] | undefined
    /** Of a policy that failed; with `granted` or `denied`: why the explanation ended before it had its details. */
    readonly fault?: HttpSchemas['PolicyFault'] | undefined
    /** Entities of the request that are not in the graph. */
    readonly unknown?: readonly string[] | undefined
    readonly matched?: HttpSchemas['MatchedElements'] | undefined
    readonly nearest_miss?: HttpSchemas['NearestMiss'] | undefined
    /** Of a policy that reads trust scores: those of the subject, the resource and the matched nodes. */
    readonly trust_scores?: readonly HttpSchemas['ExplainedScore'][] | undefined
    readonly plan?: HttpSchemas['PlanStep'] | undefined
    readonly duration_ms: number
  }
  PolicyFault: {
    readonly code: string
    readonly message: string
  }
  PolicyFilter: {
    /** Absent only in an empty object, which is no filter. */
    readonly operator?: HttpSchemas['FilterOperator'] | undefined
    readonly operands?: readonly HttpSchemas['PolicyFilter'][] | undefined
    /** Such as `$token.sub`, `$region` or `subject.property.level`. */
    readonly attribute?: string | undefined
    /** A value, an array of values, or `{"type": "datetime", "value": …}`. */
    readonly value?: unknown
    readonly app?: string | undefined
    readonly advice?: HttpSchemas['Advice'] | null | undefined
  }
  Problem: {
    readonly message: string
    /** One entry per error: the path of the value, and what was expected. */
    readonly errors?: readonly string[] | undefined
  }
  PropertyMetadata: {
    readonly source?: string | undefined
    readonly assurance_level?: 1 | 2 | 3 | undefined
    readonly verified_time?: string | undefined
    readonly custom_metadata?: HttpSchemas['JsonObject'] | undefined
  }
  ProposedPolicy: {
    /** Replaces the ACTIVE policy with this name. */
    readonly name: string
    readonly policy: HttpSchemas['DecisionPolicyDocument']
    readonly tags?: readonly string[] | undefined
  }
  ReachedStep: {
    readonly step: string
    readonly rows: number
    readonly sample: HttpSchemas['MatchedElements']
  }
  Relationship: {
    readonly source: HttpSchemas['NodeKey']
    readonly target: HttpSchemas['NodeKey']
    readonly type: string
    readonly properties?: readonly HttpSchemas['RelationshipProperty'][] | undefined
  }
  RelationshipKey: {
    readonly source: HttpSchemas['NodeKey']
    readonly target: HttpSchemas['NodeKey']
    readonly type: string
    /** Ignored. */
    readonly properties?: unknown
  }
  RelationshipProperty: {
    readonly type: string
    readonly value?: unknown
    readonly external_value?: string | undefined
  }
  RelationshipsDeletionRequest: {
    readonly relationships: readonly HttpSchemas['RelationshipKey'][]
    readonly use_global_db?: boolean | undefined
  }
  RelationshipsRequest: {
    readonly relationships: readonly HttpSchemas['Relationship'][]
    readonly use_global_db?: boolean | undefined
    /** What happens if an end node does not exist. `refuse` (default): 422, and nothing of the batch is written. `skip`: the relationship is left out and listed in `skipped`. */
    readonly on_missing_end?: 'refuse' | 'skip' | undefined
  }
  RelationshipsResult: {
    readonly results: readonly HttpSchemas['CapturedElement'][]
    /** What the declared types of the project do not allow of the written elements; absent: nothing. */
    readonly warnings?: readonly string[] | undefined
    /** The relationships that were left out, with `on_missing_end: "skip"`; their id in `results` is empty. */
    readonly skipped?: readonly HttpSchemas['SkippedRelationship'][] | undefined
    /** The relationships that were merged with an earlier one of the batch, because a graph holds one of a type from one node to another; absent if no relationship was merged. */
    readonly merged?: readonly HttpSchemas['MergedRelationship'][] | undefined
  }
  Resource: {
    readonly type: string
    readonly id: string
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  ResourceSearchRequest: {
    readonly subject: HttpSchemas['Subject']
    readonly action: HttpSchemas['Action']
    readonly resource: HttpSchemas['ResourceType']
    readonly context?: HttpSchemas['EvaluationContext'] | undefined
    readonly page?: HttpSchemas['SearchPage'] | undefined
  }
  ResourceType: {
    readonly type: string
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  SearchAnswer: {
    readonly page?: HttpSchemas['SearchAnswerPage'] | undefined
    readonly context?: HttpSchemas['SearchAnswerContext'] | undefined
    readonly results: readonly HttpSchemas['FoundEntity'][]
  }
  SearchAnswerContext: {
    /** The id of the search in the decision log; present while the log is on. */
    readonly id?: string | undefined
    /** Why results may be absent, as for a denial: a policy failed, or no policy is for the request. */
    readonly reason?: string | undefined
    /** The revision of the model of the project, if the request has `context.model_revision`; 0: it has no model. */
    readonly model_revision?: number | undefined
  }
  SearchAnswerPage: {
    /** The token of the next page; empty on the last one. */
    readonly next_token: string
    /** Results on this page. */
    readonly count: number
    /** Results on all pages; absent while there are more than were counted. */
    readonly total?: number | undefined
  }
  SearchPage: {
    /** `next_token` of the previous page. */
    readonly token?: string | undefined
    /** Maximum results of one page; 0 only counts. */
    readonly limit?: number | undefined
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  SkippedRelationship: {
    /** Index in `relationships`. */
    readonly index: number
    /** The ends that do not exist. */
    readonly missing: readonly ('source' | 'target')[]
  }
  StoppedAlternative: {
    readonly step: string
    readonly says: string
    readonly comparisons?: readonly HttpSchemas['FailedComparison'][] | undefined
  }
  StoppedStep: {
    readonly step: string
    readonly says: string
    readonly comparisons?: readonly HttpSchemas['FailedComparison'][] | undefined
    readonly found?: HttpSchemas['MatchedElements'] | undefined
    /** For a step over a definition: how far each of its alternatives came. */
    readonly alternatives?: readonly HttpSchemas['MissedAlternative'][] | undefined
  }
  Subject: {
    readonly type: string
    readonly id: string
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  SubjectSearchRequest: {
    readonly subject: HttpSchemas['SubjectType']
    readonly action: HttpSchemas['Action']
    readonly resource: HttpSchemas['Resource']
    readonly context?: HttpSchemas['EvaluationContext'] | undefined
    readonly page?: HttpSchemas['SearchPage'] | undefined
  }
  SubjectType: {
    readonly type: string
    readonly properties?: HttpSchemas['JsonObject'] | undefined
  }
  UsedModel: {
    readonly id: string
    readonly name: string
    readonly revision: number
  }
}
