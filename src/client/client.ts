// The HTTP client: decisions, searches, explanations, knowledge queries and writes. It needs only `fetch`, so it runs in Node, Bun,
// Deno, browsers and edge runtimes. Requests and answers have the members of the HTTP interface.
import type {
  ActionSearchInput,
  ActionSearchOutput,
  ComparisonInput,
  ComparisonOutput,
  DecisionOutput,
  EntitySearchOutput,
  EvaluationInput,
  EvaluationsInput,
  ExplanationOutput,
  QueryInput,
  QueryOutput,
  ResourceSearchInput,
  SubjectSearchInput,
  WriteInput,
  WriteOutput,
} from '../authorizer/authorizer.ts'
import type { QuestionArguments, SearchArguments } from '../authorizer/declared-questions.ts'
import { type EntityReference, entityOf } from './entity-reference.ts'
import { unexpectedAnswer } from './errors.ts'
import { type ClientOptions, type RequestOptions, Transport } from './transport.ts'
import { type WatchEvent, type WatchOptions, watchEvents } from './watch.ts'

/** Default of the setting `evaluations_max`, at most so many in one request of `mayAll`. */
const EVALUATIONS_MAX = 1000
/** Default of the setting `capture_items_max`. */
const ITEMS_MAX = 250
const RECORDS_PER_PAGE = 100

/** Input parameters of the policies, by name without `$`. */
export type InputParameters = Readonly<Record<string, unknown>>

/** One question of `mayAll`. */
export interface Check {
  readonly subject: EntityReference
  readonly action: string
  readonly resource: EntityReference
  readonly params?: InputParameters | undefined
}

type ClientQuestion = [
  subject: EntityReference,
  action: string,
  resource: EntityReference,
  params?: InputParameters,
  options?: RequestOptions,
]
type ClientSearch = [
  subject: EntityReference,
  action: string,
  type: string,
  params?: InputParameters,
  options?: RequestOptions,
]

/** How a knowledge query is called. */
export interface QueryOptions extends RequestOptions {
  /** Records in one request. Default: 100. */
  readonly pageSize?: number | undefined
}

/**
 * Creates a client of one service with the key of one agent. It keeps no connection and needs no end.
 *
 * @example
 * const client = createClient({ url: 'http://127.0.0.1:8080', key: process.env.AGENT_KEY })
 * await client.may({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 4 }) // true
 *
 * @throws TypeError if the address or the key is not one.
 */
export function createClient(options: ClientOptions): VerdigraphClient {
  return new VerdigraphClient(options)
}

/** A client. Every method rejects with a `ClientError`. */
export class VerdigraphClient {
  private readonly transport: Transport

  constructor(options: ClientOptions) {
    this.transport = new Transport(options)
  }

  /**
   * Whether the subject may perform the action. Rejects if there is no decision: treat that as a denial. With the file of
   * `verdigraph model types`, a misspelt type, action or parameter does not compile.
   */
  async may(...question: [...QuestionArguments, options?: RequestOptions]): Promise<boolean> {
    const [subject, action, resource, params, options] = question as ClientQuestion
    const { decision } = await this.evaluate(evaluationOf({ subject, action, resource, params }), options)
    return decision === true
  }

  /** As `may`, for any number of questions, in the order of the questions. An error in one of them is a denial. */
  async mayAll(checks: readonly Check[], options?: RequestOptions): Promise<readonly boolean[]> {
    const decisions: boolean[] = []
    for (let at = 0; at < checks.length; at += EVALUATIONS_MAX) {
      const part = checks.slice(at, at + EVALUATIONS_MAX)
      const { evaluations } = await this.evaluations({ evaluations: part.map(evaluationOf) }, options)
      if (evaluations.length !== part.length)
        throw unexpectedAnswer(`expected ${part.length} decisions, found ${evaluations.length}`)
      for (const { decision } of evaluations) decisions.push(decision === true)
    }
    return decisions
  }

  /** Why the subject may perform the action or not: the outcome of each policy. The agent needs `ReadAuthZConfigs` too. */
  why(...question: [...QuestionArguments, options?: RequestOptions]): Promise<ExplanationOutput> {
    const [subject, action, resource, params, options] = question as ClientQuestion
    return this.explain(evaluationOf({ subject, action, resource, params }), options)
  }

  /** The ids of all resources of the type on which the subject may perform the action. One request for each page. */
  async *resources(...search: [...SearchArguments, options?: RequestOptions]): AsyncGenerator<string, void, undefined> {
    const [subject, action, type, params, options] = search as ClientSearch
    const request = { ...evaluationOf({ subject, action, resource: { [type]: '' }, params }), resource: { type } }
    yield* pages((page) => this.searchResources({ ...request, ...page }, options), idOf)
  }

  /** The ids of all subjects of the type that may perform the action on the resource. One request for each page. */
  async *subjects(
    type: string,
    action: string,
    resource: EntityReference,
    params?: InputParameters,
    options?: RequestOptions,
  ): AsyncGenerator<string, void, undefined> {
    const request = { ...evaluationOf({ subject: { [type]: '' }, action, resource, params }), subject: { type } }
    yield* pages((page) => this.searchSubjects({ ...request, ...page }, options), idOf)
  }

  /** The names of all actions that the subject may perform on the resource. */
  async *actions(
    subject: EntityReference,
    resource: EntityReference,
    params?: InputParameters,
    options?: RequestOptions,
  ): AsyncGenerator<string, void, undefined> {
    const { action: _, ...request } = evaluationOf({ subject, action: '', resource, params })
    yield* pages(
      (page) => this.searchActions({ ...request, ...page }, options),
      ({ name }) => name,
    )
  }

  /** All records of a knowledge query, by its id or name. One request for each page. A query that writes is executed by `execute`. */
  async *records(
    id: string,
    params?: InputParameters,
    { pageSize = RECORDS_PER_PAGE, ...options }: QueryOptions = {},
  ): AsyncGenerator<QueryOutput['data'][number], void, undefined> {
    if (!Number.isInteger(pageSize) || pageSize < 1)
      throw new TypeError(`pageSize: expected an integer from 1, found ${pageSize}`)
    for (let page = 1; ; page++) {
      const request = { id, page, page_size: pageSize, ...(params !== undefined && { input_params: params }) }
      const { data } = await this.execute(request, options)
      yield* data
      if (data.length < pageSize) return
    }
  }

  /**
   * Which decisions may have changed, as it happens; without end, also when the connection breaks or the service is restarted. A
   * decision that is asked for after an event reflects all changes up to its revision.
   *
   * @example
   * for await (const event of client.watch({ action: 'drive' })) cache.clear()
   */
  watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent, void, undefined> {
    return watchEvents(this.transport, options)
  }

  /**
   * Writes nodes, relationships, deletions of relationships and deletions of nodes, in this order and in requests of at most 250 items,
   * each of which is one transaction. A request that fails ends the call; those before it are stored, and the call can be repeated.
   */
  async write(input: WriteInput, options?: RequestOptions): Promise<WriteOutput> {
    const { use_global_db } = input
    const joins = use_global_db === undefined ? {} : { use_global_db }
    const send = async (path: string, member: string, items: readonly object[] = [], more: object = {}) => {
      const results: { readonly id: string }[] = []
      for (let at = 0; at < items.length; at += ITEMS_MAX) {
        const body = { [member]: items.slice(at, at + ITEMS_MAX), ...more }
        // The same request again leads to the same graph.
        const answer = await this.transport.send<{ results: readonly { id: string }[] }>(path, body, 'always', options)
        results.push(...answer.results)
      }
      return results
    }
    const { nodes, relationships, delete_relationships, delete_nodes } = input
    return {
      nodes: await send('/capture/v1/nodes', 'nodes', nodes),
      relationships: await send('/capture/v1/relationships', 'relationships', relationships, joins),
      delete_relationships: await send(
        '/capture/v1/relationships/delete',
        'relationships',
        delete_relationships,
        joins,
      ),
      delete_nodes: await send('/capture/v1/nodes/delete', 'nodes', delete_nodes),
    }
  }

  /** `POST /access/v1/evaluation` */
  evaluate(request: EvaluationInput, options?: RequestOptions): Promise<DecisionOutput> {
    return this.transport.send('/access/v1/evaluation', request, 'always', options)
  }

  /** `POST /access/v1/evaluations` */
  evaluations(
    request: EvaluationsInput,
    options?: RequestOptions,
  ): Promise<{ readonly evaluations: readonly DecisionOutput[] }> {
    return this.transport.send('/access/v1/evaluations', request, 'always', options)
  }

  /**
   * `POST /access/v1/compare`: which decisions a change of the policies would change. The agent needs `ReadAuthZConfigs` too; only a service account may
   * give `policies`.
   */
  compare(request: ComparisonInput, options?: RequestOptions): Promise<ComparisonOutput> {
    return this.transport.send('/access/v1/compare', request, 'always', options)
  }

  /** `POST /access/v1/explain` */
  explain(request: EvaluationInput, options?: RequestOptions): Promise<ExplanationOutput> {
    return this.transport.send('/access/v1/explain', request, 'always', options)
  }

  /** `POST /access/v1/search/resource` */
  searchResources(request: ResourceSearchInput, options?: RequestOptions): Promise<EntitySearchOutput> {
    return this.transport.send('/access/v1/search/resource', request, 'always', options)
  }

  /** `POST /access/v1/search/subject` */
  searchSubjects(request: SubjectSearchInput, options?: RequestOptions): Promise<EntitySearchOutput> {
    return this.transport.send('/access/v1/search/subject', request, 'always', options)
  }

  /** `POST /access/v1/search/action` */
  searchActions(request: ActionSearchInput, options?: RequestOptions): Promise<ActionSearchOutput> {
    return this.transport.send('/access/v1/search/action', request, 'always', options)
  }

  /** `POST /contx-iq/v1/execute`. Not repeated if it is unknown whether it was executed, because a query may write. */
  execute(request: QueryInput, options?: RequestOptions): Promise<QueryOutput> {
    return this.transport.send('/contx-iq/v1/execute', request, 'if-not-executed', options)
  }
}

function evaluationOf({ subject, action, resource, params }: Check): EvaluationInput {
  return {
    subject: entityOf(subject, 'subject'),
    action: { name: action },
    resource: entityOf(resource, 'resource'),
    ...(params !== undefined && { context: { input_params: params } }),
  }
}

interface ResultPage<T> {
  readonly page?: { readonly next_token: string } | undefined
  readonly results: readonly T[]
}

async function* pages<T>(
  read: (page: { readonly page?: { readonly token: string } }) => Promise<ResultPage<T>>,
  nameOf: (result: T) => string,
): AsyncGenerator<string, void, undefined> {
  let next: string | undefined
  do {
    const { page, results } = await read(next === undefined ? {} : { page: { token: next } })
    for (const result of results) yield nameOf(result)
    next = page?.next_token
  } while (next !== undefined && next !== '')
}

function idOf({ id }: { readonly id: string }): string {
  return id
}
