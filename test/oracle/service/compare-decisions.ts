// Sends a decision request and describes how the response differs from the oracle: null if it agrees.
import {
  type DecisionSetup,
  type EntityPair,
  type NaiveDecision,
  naiveDecision,
  type RequestContents,
} from './decision.ts'
import { hasRelationship, nodeAt } from './decision-graph.ts'
import {
  ACTIONS,
  type BatchQuestion,
  bodyOf,
  type EvaluationQuestion,
  type NaiveQuestion,
  pathOf,
  resourcesOf,
  type SearchQuestion,
  subjectsOf,
} from './decision-question.ts'
import { UnmodelledError } from './terms.ts'

export interface ServiceResponse {
  readonly status: number
  readonly text: string
  readonly body: Body
}

interface Denial {
  readonly reason?: string
  readonly advice?: readonly object[]
}

interface DecisionKey {
  readonly type: string
  readonly id: string
}

interface Explained {
  readonly name: string
  readonly outcome: string
  readonly because?: string
  readonly matched?: {
    readonly nodes: readonly DecisionKey[]
    readonly relationships: readonly { source: DecisionKey; type: string; target: DecisionKey }[]
  }
  readonly nearest_miss?: object
  readonly unknown?: readonly unknown[]
}

interface Body {
  readonly decision?: boolean
  readonly context?: Denial
  readonly errors?: readonly string[]
  readonly results?: readonly { id?: string; name?: string }[]
  readonly page?: { next_token: string; count: number; total?: number }
  readonly evaluations?: readonly { decision: boolean; context?: Denial }[]
  readonly policies?: readonly Explained[]
}

export type Post = (path: string, body: object) => Promise<ServiceResponse>
export type CountDecisions = (what: string) => void

/** Resolves to null if the response is as expected; else to the difference, with actual and expected response. */
export async function difference(
  post: Post,
  scene: DecisionSetup,
  sent: RequestContents,
  question: NaiveQuestion,
  count: CountDecisions,
): Promise<string | null> {
  try {
    const asking = new DecisionComparison(post, scene, sent, count)
    if (question.kind === 'evaluation') return await asking.evaluation(question)
    return question.kind === 'search' ? await asking.search(question) : await asking.batch(question)
  } catch (fault) {
    if (!(fault instanceof UnmodelledError)) throw fault
    count('unspecified')
    return null
  }
}

class DecisionComparison {
  private readonly post: Post
  private readonly scene: DecisionSetup
  private readonly sent: RequestContents
  private readonly count: CountDecisions

  constructor(post: Post, scene: DecisionSetup, sent: RequestContents, count: CountDecisions) {
    this.post = post
    this.scene = scene
    this.sent = sent
    this.count = count
  }

  async evaluation(question: EvaluationQuestion): Promise<string | null> {
    const { pair, isExplained } = question
    const expected = naiveDecision(this.scene, pair, this.sent)
    const body = bodyOf(question, this.sent)
    const found = await this.post(pathOf(question), body)
    this.count(expected.status === 200 ? (expected.decision ? 'permits' : 'denials') : `refused ${expected.status}`)
    if (expected.status === 200 && (expected.advice?.length ?? 0) > 0) this.count('advised')
    const wrong = evaluationFault(expected, found)
    if (wrong !== null) return told(wrong, found, expected)
    if (!isExplained) return null
    const explained = await this.post('/access/v1/explain', body)
    this.count('explained')
    const fault = this.explanationFault(pair, expected, found, explained)
    return fault === null ? null : told(`explain: ${fault}`, explained, expected)
  }

  private explanationFault(
    pair: EntityPair,
    expected: NaiveDecision,
    found: ServiceResponse,
    explained: ServiceResponse,
  ): string | null {
    if (explained.status !== found.status) return 'another status'
    if (expected.status !== 200) return explained.text === found.text ? null : 'another refusal'
    const { decision, context, policies = [] } = explained.body
    if (decision !== found.body.decision || JSON.stringify(context) !== JSON.stringify(found.body.context))
      return `another answer than ${found.text}`
    for (const policy of policies) {
      const outcome = expected.outcomes.get(policy.name)
      const said = policy.because ?? policy.outcome
      if (outcome === undefined ? said !== 'tags' && said !== 'token' : said !== outcome)
        return `${policy.name} is ${said}`
      if (policy.outcome === 'denied' && policy.nearest_miss === undefined && (policy.unknown ?? []).length === 0)
        return `${policy.name} is denied without a miss`
      if (policy.outcome !== 'granted') continue
      this.count('matched')
      const fault = this.matchFault(pair, policy.matched)
      if (fault !== null) return `${policy.name}: ${fault}`
    }
    const missing = [...expected.outcomes.keys()].find((name) => !policies.some((policy) => policy.name === name))
    return missing === undefined ? null : `${missing} is not reported`
  }

  private matchFault({ types, subject, resource }: EntityPair, matched: Explained['matched']): string | null {
    if (matched === undefined) return 'granted without a match'
    const graphs = Object.values(this.scene.graphs)
    const { nodes, relationships } = matched
    const isNode = ({ type, id }: DecisionKey) => graphs.some((graph) => nodeAt(graph, type, id) !== undefined)
    const isRelationship = ({ source, type, target }: (typeof relationships)[number]) =>
      graphs.some((graph) => {
        const [from, to] = [nodeAt(graph, source.type, source.id), nodeAt(graph, target.type, target.id)]
        return from !== undefined && to !== undefined && hasRelationship(graph, from, type, to)
      })
    if (!nodes.every(isNode) || !relationships.every(isRelationship)) return 'what matched is not there'
    const tellsOf = (wanted: string, of: string) => nodes.some(({ type, id }) => type === wanted && id === of)
    return tellsOf(types[0], subject) && tellsOf(types[1], resource) ? null : 'what matched lacks an end'
  }

  async search(question: SearchQuestion): Promise<string | null> {
    const { wanted, pair, limit, isLimitRepeated } = question
    this.count(`${wanted} searches`)
    const asked = {
      subject: () => subjectsOf(pair.types),
      resource: () => resourcesOf(pair.types),
      action: () => ACTIONS,
    }[wanted]()
    // The subjects are not the person of the token, and the searched entities have no properties.
    const sent = {
      ...this.sent,
      ...(wanted === 'subject' ? { claims: null } : wanted === 'action' ? { action: null } : {}),
    }
    const expected = asked.map((name) => [name, naiveDecision(this.scene, { ...pair, [wanted]: name }, sent)] as const)
    const permitted = expected.filter(([, one]) => one.status === 200 && one.decision).map(([name]) => name)
    const names = permitted.sort()
    const refusal = expected.find(([, one]) => one.status === 403 || (one.status === 422 && one.isLocation))?.[1]
    const lacks = names.length === 0 && expected.some(([, { status }]) => status === 422)
    const status = refusal?.status ?? (lacks ? 422 : 200)

    const path = pathOf(question)
    const body = bodyOf(question, this.sent)
    const first = await this.post(path, body)
    if (first.status !== status) return told('status', first, status)
    if (status !== 200) return null
    if (names.length > 0) this.count('searches that found')
    const whole = await this.pages(path, body, null, false, names)
    if (typeof whole === 'string') return whole
    if (JSON.stringify([...whole].sort()) !== JSON.stringify(names)) return told('results', first, names)
    const paged = await this.pages(path, body, limit, isLimitRepeated, names)
    if (typeof paged === 'string') return paged
    return JSON.stringify(paged) === JSON.stringify(whole)
      ? null
      : `pages of ${limit} join to ${paged}, and the whole is ${whole}`
  }

  /** The names on all pages; a text if a page is invalid. */
  private async pages(
    path: string,
    body: object,
    limit: number | null,
    isLimitRepeated: boolean,
    expected: readonly string[],
  ): Promise<readonly string[] | string> {
    const names: string[] = []
    let page: object | null = limit === null ? null : { limit }
    for (let number = 0; ; number++) {
      const found = await this.post(path, page === null ? body : { ...body, page })
      if (found.status !== 200) return told(`page ${number}`, found, 200)
      const { results = [], page: told200 } = found.body
      names.push(...results.map(({ id, name }) => id ?? name ?? ''))
      if (told200 === undefined) return page === null ? names : told('no page member', found, expected)
      this.count('pages')
      const { next_token, count, total } = told200
      const isFit = limit === null || limit === 0 || results.length <= limit || (number > 0 && !isLimitRepeated)
      if (count !== results.length || !isFit) return told(`count of page ${number} of ${limit}`, found, expected)
      if (total !== undefined && total !== expected.length) return told('total', found, expected)
      if (limit === 0 && number === 0 && (total === undefined || count !== 0)) return told('limit 0', found, expected)
      if (next_token === '') return names
      if (number > 40) return told('pages without end', found, expected)
      page = { token: next_token, ...(isLimitRepeated && limit !== null && limit > 0 ? { limit } : {}) }
    }
  }

  async batch(question: BatchQuestion): Promise<string | null> {
    const { items, semantic } = question
    const expected: (NaiveDecision | 'broken')[] = []
    for (const { pair, broken } of items) {
      const one = broken === null ? naiveDecision(this.scene, pair, this.sent) : 'broken'
      expected.push(one)
      if (semantic === (isPermit(one) ? 'permit_on_first_permit' : 'deny_on_first_deny')) break
    }
    const found = await this.post(pathOf(question), bodyOf(question, this.sent))
    this.count('batches')
    if (found.status !== 200) return told('status', found, 200)
    const { evaluations = [] } = found.body
    const decisions = evaluations.map(({ decision }) => decision)
    if (JSON.stringify(decisions) !== JSON.stringify(expected.map(isPermit))) return told('decisions', found, expected)
    for (const [i, one] of expected.entries()) {
      const { reason, advice } = evaluations[i]?.context ?? {}
      if (one === 'broken' || one.status === 422) {
        if (!/^invalid_argument: /.test(reason ?? '')) return told(`reason of item ${i}`, found, one)
      } else if (one.status === 403 || one.advice !== null) {
        if (reason === undefined) return told(`no reason of item ${i}`, found, one)
        const wanted = one.status === 403 ? [] : one.advice
        if (JSON.stringify(advice ?? []) !== JSON.stringify(wanted)) return told(`advice of item ${i}`, found, one)
      } else if (one.reason !== null) {
        if (!reason?.startsWith(one.reason)) return told(`reason of item ${i}`, found, one)
      } else if (evaluations[i]?.context !== undefined) return told(`context of item ${i}`, found, one)
    }
    return null
  }
}

const isPermit = (one: NaiveDecision | 'broken'): boolean => one !== 'broken' && one.status === 200 && one.decision

function evaluationFault(expected: NaiveDecision, { status, body }: ServiceResponse): string | null {
  if (status !== expected.status) return 'status'
  if (expected.status === 403) return null
  if (expected.status === 422) {
    const possible = expected.errors.flat()
    const isTold = body.errors !== undefined && body.errors.length > 0
    return isTold && body.errors.every((error) => possible.includes(error)) ? null : 'errors'
  }
  if (body.decision !== expected.decision) return 'decision'
  if (expected.advice === null && expected.reason === null) return body.context === undefined ? null : 'a context'
  if (expected.advice === null) return body.context?.reason?.startsWith(`${expected.reason}`) ? null : 'another reason'
  if (typeof body.context?.reason !== 'string') return 'no reason'
  return JSON.stringify(body.context.advice ?? []) === JSON.stringify(expected.advice) ? null : 'advice'
}

function told(what: string, { status, text }: ServiceResponse, expected: unknown): string {
  const listed = (_: string, value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value)
  return `${what}\n  answered ${status} ${text}\n  expected ${JSON.stringify(expected, listed)}`
}
