// Builds an authorizer over graphs and configuration, from the functions that also answer HTTP requests.
import type { CaptureDeps } from '../capture/apply-items.ts'
import { captureNodes, deleteNodes } from '../capture/nodes.ts'
import { captureRelationships, deleteRelationships } from '../capture/relationships.ts'
import {
  type BatchResult,
  deleteNodesRequest,
  deleteRelationshipsRequest,
  nodesRequest,
  relationshipsRequest,
} from '../capture/schema.ts'
import { graphsOfProject } from '../config/db-connection.ts'
import { type ConfigSource, projectsKind } from '../config/kind.ts'
import { validate } from '../config/validate.ts'
import { readGraphNames } from '../graph-query/graph-names.ts'
import { graphQueryLimits, runGraphQuery } from '../graph-query/run-graph-query.ts'
import { graphQuery } from '../graph-query/schema.ts'
import { DerivedSigner } from '../identity/derived-signer.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { type AgentCaller, apiPermissions, type UserToken } from '../kernel/request/caller.ts'
import { noOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { modelOf, usedModelOf } from '../model/stored-model.ts'
import { compareProposal, proposedModelWarningsNow, withWarnings } from '../pdp/compare.ts'
import { comparisonRequest } from '../pdp/comparison-schema.ts'
import type { DecisionDeps, PolicyError } from '../pdp/decision-deps.ts'
import { evaluate } from '../pdp/evaluate.ts'
import { evaluateBatch } from '../pdp/evaluate-batch.ts'
import { explainDecision } from '../pdp/explain.ts'
import { PageTokens } from '../pdp/page-token.ts'
import { ParameterMask } from '../pdp/parameter-mask.ts'
import { readEvaluations } from '../pdp/read-batch.ts'
import { readActionSearch, readEvaluation, readResourceSearch, readSubjectSearch } from '../pdp/read-request.ts'
import { searchResources, searchSubjects } from '../pdp/search.ts'
import { searchActions } from '../pdp/search-action.ts'
import { SearchCache } from '../pdp/search-cache.ts'
import type { ExternalDataResolvers } from '../pip/resolution.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { DraftPolicies } from '../policy/draft-policies.ts'
import { PolicyIndex } from '../policy/policy-index.ts'
import type { Settings } from '../settings.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { Authorizer, AuthorizerToken, CallOptions, WriteInput, WriteOutput } from './authorizer.ts'
import { authorizerError } from './authorizer-error.ts'
import { entityOf, type TestedEntity, type TestedParameters } from './declared-questions.ts'
import { findForeignValue } from './plain-data.ts'
import { type KnownToProject, queryIssues, requestIssues } from './request-issues.ts'
import type { KnowledgeQueryRunner } from './run-knowledge-query.ts'

/** The parts that an authorizer works on. */
export interface AuthorizerDeps {
  readonly settings: Settings
  readonly clock: Clock
  readonly documents: ConfigSource
  /** The caller that policies and queries see. */
  readonly projectId: string
  readonly applicationId: string
  readonly agentId: string
  /** Called for each request. Throws ThrownServiceError if the graphs cannot be read. */
  graphs(): ProjectGraphs
  readonly resolvers: ExternalDataResolvers
  /** Why this authorizer must not write; null: it may. */
  readonly readOnlyReason: string | null
  /** Called before each request, to see what other processes have written. */
  catchUp(): void
  /** Receives what a service would log. */
  report(message: string): void
  /** Closes what the authorizer works on. */
  close(): Promise<void>
}

/** The items of one call are one request, so nothing limits their number. */
const WRITTEN_ITEMS_MAX = Number.MAX_SAFE_INTEGER
const KEY_BYTES = 32
const everything = new Set(apiPermissions)

/** Builds an authorizer. It owns `deps`, and closes them. */
export function createAuthorizer(deps: AuthorizerDeps): Authorizer {
  const { documents, projectId, report } = deps
  const policies = new PolicyIndex(documents, report)
  const decisions = decisionDeps(deps, policies, new DraftPolicies(documents, policies))
  // The caller is this process, which knows the parameters.
  const mask = new ParameterMask('none')
  const capture: CaptureDeps = { graphsOf: () => deps.graphs(), modelOf: (id) => modelOf(documents, id) }
  const caller = callerOf(deps, null)
  let closing: Promise<void> | null = null
  let running: Promise<KnowledgeQueryRunner> | null = null

  /** Runs a call: reads the request, and returns what it returns or throws. */
  const call = <Request, Answer>(
    request: unknown,
    options: CallOptions | undefined,
    read: (body: unknown) => Result<Request, ServiceError>,
    answer: (caller: AgentCaller, request: Request) => Result<Answer, ServiceError>,
  ): Answer => {
    begin()
    const parsed = readData(request, read)
    if (!parsed.ok) throw authorizerError(parsed.error)
    const token = options?.token
    const as = token == null ? caller : callerOf(deps, userOf(token))
    try {
      return unwrap(answer(as, parsed.value))
    } catch (error) {
      throw error instanceof ThrownServiceError ? authorizerError(error.error) : error
    }
  }
  /** Loaded with the first call, because most programs ask no knowledge queries. */
  const queryRunner = (): Promise<KnowledgeQueryRunner> => {
    running ??= import('./run-knowledge-query.ts').then(({ knowledgeQueryRunner }) => knowledgeQueryRunner(deps))
    return running
  }
  const known: KnownToProject = { decisions, documents, projectId, graphs: () => deps.graphs() }
  const begin = (): void => {
    if (closing !== null) throw new Error('the authorizer is closed')
    deps.catchUp()
  }

  return {
    may(...question) {
      const [subject, action, resource, parameters, options] = question as AnyQuestionArguments
      const request = { ...asked(subject, action, parameters), resource: entityOf(resource) }
      return call(request, options, readEvaluation, (as, read) => evaluate(decisions, as, noOrigin, read)).decision
    },
    resources(...search) {
      const [subject, action, type, parameters, options] = search as AnySearchArguments
      const request = { ...asked(subject, action, parameters), resource: { type } }
      const ids: string[] = []
      for (let token = ''; ; ) {
        const paged = token === '' ? request : { ...request, page: { token } }
        const { results, page } = call(paged, options, readResourceSearch, (as, read) =>
          searchResources(decisions, as, noOrigin, read),
        )
        ids.push(...results.map(({ id }) => id))
        token = page?.next_token ?? ''
        if (token === '') return ids
      }
    },
    evaluate: (request, options) =>
      // A copy: the decision without a context is one object for all requests.
      call(request, options, readEvaluation, (as, read) => copied(evaluate(decisions, as, noOrigin, read))),
    evaluations: (request, options) => {
      const found = call(request, options, readBatch, (as, read) => evaluateBatch(decisions, as, noOrigin, read))
      return { evaluations: found.map((decision) => ({ ...decision })) }
    },
    search: {
      subject: (request, options) =>
        call(request, options, readSubjectSearch, (as, read) => searchSubjects(decisions, as, noOrigin, read)),
      resource: (request, options) =>
        call(request, options, readResourceSearch, (as, read) => searchResources(decisions, as, noOrigin, read)),
      action: (request, options) =>
        call(request, options, readActionSearch, (as, read) => searchActions(decisions, as, noOrigin, read)),
    },
    explain: (request, options) =>
      call(request, options, readEvaluation, (as, read) => explainDecision(decisions, as, mask, read)),
    inspect(request, options) {
      begin()
      return onGraphs(() => requestIssues(known, request, options?.token))
    },
    async inspectQuery({ id, input_params = {} }, options) {
      begin()
      const { parametersOf } = await queryRunner()
      return onGraphs(() => queryIssues(known, id, input_params, parametersOf(id), options?.token))
    },
    compare: (request) =>
      call(request, undefined, readComparison, (as, read) => {
        const compared = compareProposal(decisions, as, mask, read)
        return compared.ok
          ? ok(withWarnings(compared.value, proposedModelWarningsNow(decisions, projectId, read)))
          : compared
      }),
    async execute(request, options) {
      begin()
      const { read, run } = await queryRunner()
      return unwrap(await call(request, options, read, (as, query) => ok(run(as, query))).catch(thrownAsResult))
    },
    query(request) {
      begin()
      const read = readData(request, (body) => {
        const checked = validate(graphQuery, body)
        return checked.ok ? checked : err<ServiceError>({ kind: 'malformed', issues: checked.error })
      })
      const model = modelOf(documents, projectId)
      return onGraphs(() => unwrap(runGraphQuery(deps.graphs(), unwrap(read), graphQueryLimits(deps.settings), model)))
    },
    names() {
      begin()
      return onGraphs(() => readGraphNames(deps.graphs().default))
    },
    policies() {
      begin()
      return documents.inScope(policiesKind, projectId).map(({ id, name, fields: { status, tags, policy } }) => ({
        id,
        name,
        status: String(status),
        tags: (tags ?? []) as readonly string[],
        policy: String(policy),
      }))
    },
    async write(request) {
      begin()
      if (deps.readOnlyReason !== null) {
        throw authorizerError({ kind: 'forbidden', message: deps.readOnlyReason })
      }
      return writeItems(request, caller, capture)
    },
    close() {
      closing ??= deps.close()
      return closing
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
}

type AnyQuestionArguments = [
  subject: TestedEntity,
  action: string,
  resource: TestedEntity,
  parameters?: TestedParameters,
  options?: CallOptions,
]
type AnySearchArguments = [
  subject: TestedEntity,
  action: string,
  type: string,
  parameters?: TestedParameters,
  options?: CallOptions,
]

/** The members that the request of a decision and of a search share. */
function asked(subject: TestedEntity, action: string, parameters: TestedParameters = {}) {
  return { subject: entityOf(subject), action: { name: action }, context: { input_params: parameters } }
}

function onGraphs<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof ThrownServiceError ? authorizerError(error.error) : error
  }
}

function unwrap<T>(result: Result<T, ServiceError>): T {
  if (!result.ok) throw authorizerError(result.error)
  return result.value
}

function thrownAsResult(error: unknown): Result<never, ServiceError> {
  if (error instanceof ThrownServiceError) return err(error.error)
  throw error
}

function copied<T extends object>(result: Result<T, ServiceError>): Result<T, ServiceError> {
  return result.ok ? ok({ ...result.value }) : result
}

function callerOf({ projectId, applicationId, agentId }: AuthorizerDeps, user: UserToken | null): AgentCaller {
  return { kind: 'agent', agentId, applicationId, projectId, permissions: everything, user }
}

/** As a token with these claims, which has the subject in `sub`. */
function userOf({ type, id, claims = {}, delegation }: AuthorizerToken): UserToken {
  const foreign = findForeignValue({ claims, delegation })
  if (foreign !== null) throw authorizerError({ kind: 'malformed', issues: [`token.${foreign}`] })
  return { nodeType: type, subjectId: id, claims: { sub: id, ...claims }, delegation: delegation ?? null }
}

function readData<T>(request: unknown, read: (body: unknown) => Result<T, ServiceError>): Result<T, ServiceError> {
  const foreign = findForeignValue(request)
  return foreign === null ? read(request) : err({ kind: 'malformed', issues: [foreign] })
}

function readBatch(body: unknown) {
  if (isJsonObject(body) && !(Array.isArray(body.evaluations) && body.evaluations.length > 0)) {
    const issues = ['evaluations: expected at least 1 item; `evaluate` decides a single request']
    return err<ServiceError>({ kind: 'malformed', issues })
  }
  const read = readEvaluations(body)
  if (!read.ok) return read
  if (read.value.kind === 'single') throw new Error('a request with items is a batch')
  return ok(read.value)
}

function readComparison(body: unknown) {
  const read = validate(comparisonRequest, body)
  return read.ok ? read : err<ServiceError>({ kind: 'malformed', issues: read.error })
}

function decisionDeps(deps: AuthorizerDeps, policies: PolicyIndex, drafts: DraftPolicies): DecisionDeps {
  const { settings, clock } = deps
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return {
    policies,
    drafts,
    modelOf: (projectId) => modelOf(deps.documents, projectId),
    modelUsed: (projectId) => usedModelOf(deps.documents, projectId),
    graphsOf: () => deps.graphs(),
    storesOf: (projectId) => {
      const project = deps.documents.get(projectsKind, projectId)
      return project === null ? [] : graphsOfProject(deps.graphs(), project)
    },
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.decisionTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
      bytesHeldMax: settings.questionBytesMax,
    },
    inputStringMax: settings.inputStringMax,
    evaluationsMax: settings.evaluationsMax,
    batchTimeMs: settings.batchTimeMs,
    searchPageMax: settings.searchPageMax,
    searchCache: new SearchCache(),
    pageTokens: new PageTokens(new DerivedSigner(key, 'page tokens'), clock, settings.pageTokenTimeS * 1000),
    onDecided: null,
    decisionId: null,
    onServiceError: (error) => deps.report(error.message),
    onPolicyError: (error) => deps.report(policyErrorText(error)),
  }
}

function policyErrorText({ policyId, requestKind, code, message }: PolicyError): string {
  return `policy ${policyId} failed in a request of kind ${requestKind} and does not grant: ${code}: ${message}`
}

/** Writes each list of a request, after all of them were read. */
async function writeItems(request: WriteInput, caller: AgentCaller, capture: CaptureDeps): Promise<WriteOutput> {
  const call = { caller, origin: noOrigin }
  const { use_global_db } = request
  const joins = use_global_db === undefined ? {} : { use_global_db }
  const { nodes, relationships, delete_relationships, delete_nodes } = request
  const issues: string[] = [...unknownLists(request)]
  const foreign = findForeignValue(request)
  if (foreign !== null) issues.push(foreign)
  const toNodes = read(nodes, () => validate(nodesRequest(WRITTEN_ITEMS_MAX), { nodes }), issues)
  const toRelationships = read(
    relationships,
    () => validate(relationshipsRequest(WRITTEN_ITEMS_MAX), { relationships, ...joins }),
    issues,
  )
  const goneRelationships = read(
    delete_relationships,
    () =>
      renamed(
        validate(deleteRelationshipsRequest(WRITTEN_ITEMS_MAX), { relationships: delete_relationships, ...joins }),
      ),
    issues,
  )
  const goneNodes = read(
    delete_nodes,
    () => renamed(validate(deleteNodesRequest(WRITTEN_ITEMS_MAX), { nodes: delete_nodes })),
    issues,
  )
  if (issues.length > 0) throw authorizerError({ kind: 'malformed', issues })
  const warnings: string[] = []
  const written = async <T>(
    body: T | null,
    write: (body: T) => Promise<Result<BatchResult, ServiceError>>,
  ): Promise<WriteOutput['nodes']> => {
    if (body === null) return []
    const { results, warnings: ofList = [] } = unwrap(await write(body).catch(thrownAsResult))
    warnings.push(...ofList)
    return results
  }
  const lists = {
    nodes: await written(toNodes, (body) => captureNodes(capture, call, body)),
    relationships: await written(toRelationships, (body) => captureRelationships(capture, call, body)),
    delete_relationships: await written(goneRelationships, (body) => deleteRelationships(capture, call, body)),
    delete_nodes: await written(goneNodes, (body) => deleteNodes(capture, call, body)),
  }
  return warnings.length === 0 ? lists : { ...lists, warnings }
}

const memberNames = new Set(['nodes', 'relationships', 'delete_relationships', 'delete_nodes', 'use_global_db'])

function unknownLists(request: object): readonly string[] {
  return Object.keys(request).flatMap((name) => (memberNames.has(name) ? [] : [`unknown member \`${name}\``]))
}

function read<T>(
  list: readonly unknown[] | undefined,
  validated: () => Result<T, readonly string[]>,
  issues: string[],
): T | null {
  if (list === undefined || list.length === 0) return null
  const body = validated()
  if (body.ok) return body.value
  issues.push(...body.error)
  return null
}

/** The issues of a deletion name the member of the request. */
function renamed<T>(result: Result<T, readonly string[]>): Result<T, readonly string[]> {
  return result.ok ? result : err(result.error.map((issue) => `delete_${issue}`))
}
