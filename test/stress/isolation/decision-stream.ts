// Decisions, searches, batches and explanations of one composite project compared with the service oracle, while its
// graph and its policies change.
import type { Random } from '../../generate/random.ts'
import { difference, type Post, type ServiceResponse } from '../../oracle/service/compare-decisions.ts'
import { type DecisionSetup, naiveDecision, type RequestContents } from '../../oracle/service/decision.ts'
import { END_TYPES } from '../../oracle/service/decision-condition.ts'
import {
  CONNECTION,
  capturesOf,
  type DecisionGraph,
  graphsOf,
  type PlacedNode,
  randomDecisionGraph,
} from '../../oracle/service/decision-graph.ts'
import { type DecisionPolicy, decisionDocument, randomDecisionPolicy } from '../../oracle/service/decision-policy.ts'
import {
  bodyOf,
  type EvaluationQuestion,
  type NaiveQuestion,
  pathOf,
  randomQuestions,
  randomSent,
} from '../../oracle/service/decision-question.ts'
import { UnmodelledError } from '../../oracle/service/terms.ts'
import { makePeople } from '../../support/user-tokens.ts'
import { type Requests, StreamError } from './requests.ts'

const POLICIES = 10
/** Requests between two changes. */
const QUESTIONS = 12
/** Items of the list that an expensive decision sums up, which takes tens of milliseconds. */
const DEAR_ITEMS = 3000

const PERMIT_DRAWS = 30

function isPermitted(scene: DecisionSetup, { pair }: EvaluationQuestion, sent: RequestContents): boolean {
  try {
    const expected = naiveDecision(scene, pair, sent)
    return expected.status === 200 && expected.decision
  } catch (fault) {
    if (fault instanceof UnmodelledError) return false
    throw fault
  }
}

interface StoredPolicy extends DecisionPolicy {
  readonly id: string
}

export class DecisionStream {
  private readonly requests: Requests
  private readonly random: Random
  private readonly name: string
  private project = ''
  private key = ''
  private world: DecisionGraph
  private policies: StoredPolicy[] = []
  private named = 0

  constructor(requests: Requests, random: Random, number: number) {
    this.requests = requests
    this.random = random
    this.name = `decisions-${number}`
    this.world = randomDecisionGraph(random)
  }

  async run(): Promise<void> {
    const { requests, random } = this
    const { id, key } = await requests.project(this.name, { db_connection: CONNECTION })
    this.project = id
    this.key = key
    const people = await makePeople('User')
    await requests.create('token-introspects', { name: 'people', project_id: id, ...people.introspect })
    for (const [path, body] of capturesOf(this.world)) await requests.capture(key, path, body)
    for (let i = 0; i < POLICIES; i++) await this.addPolicy()
    await this.addDearPolicy()
    while (!requests.isOver) {
      const sent = randomSent(random)
      const { claims } = sent
      const token = claims === null ? null : await people.tokenOf(String(claims.sub), claims)
      const questions = END_TYPES.flatMap((types) => randomQuestions(random, types))
      for (let i = 0; i < QUESTIONS && !requests.isOver; i++) await this.ask(this.pick(questions, sent), sent, token)
      await this.askDear()
      await this.change()
    }
  }

  /** Most pairs of a small graph are denied, so that some questions are taken because the oracle permits them. */
  private pick(questions: readonly NaiveQuestion[], sent: RequestContents): NaiveQuestion {
    const { random, policies } = this
    const drawn = random.pick(questions)
    if (!random.odds(0.2)) return drawn
    const scene = { graphs: graphsOf(this.world), policies }
    for (let draws = 1; draws <= PERMIT_DRAWS; draws++) {
      const question = random.pick(questions)
      if (question.kind === 'evaluation' && isPermitted(scene, question, sent)) return question
    }
    return drawn
  }

  private post(token: string | null): Post {
    const headers = { 'x-svc-clientkey': this.key, ...(token !== null && { authorization: `Bearer ${token}` }) }
    return async (path, body) => (await this.requests.send(path, { headers, body })) as ServiceResponse
  }

  private async ask(question: NaiveQuestion, sent: RequestContents, token: string | null): Promise<void> {
    const { requests, policies } = this
    const scene = { graphs: graphsOf(this.world), policies }
    const asked = () => difference(this.post(token), scene, sent, question, (what) => requests.count(what))
    const found = await requests.again(asked)
    if (found === null) return
    throw new StreamError(
      [
        `${this.name}: ${found}`,
        `${pathOf(question)} ${JSON.stringify(bodyOf(question, sent))}`,
        ...capturesOf(this.world).map(([path, body]) => `${path} ${JSON.stringify(body)}`),
        ...policies.map((one) => `${one.name} ${one.status} [${one.tags}] ${JSON.stringify(decisionDocument(one))}`),
      ].join('\n'),
    )
  }

  // -- slow requests

  private async addDearPolicy(): Promise<void> {
    const cypher =
      'MATCH (subject:User), (resource:Group) WHERE reduce(s = 0, x IN $items | s + reduce(t = 0, y IN $few | t + y)) = $sum'
    const document = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'User' },
      actions: ['dear'],
      // No random policy has this type, so that an action search does not include this policy.
      resource: { type: 'Group' },
      condition: { cypher },
    }
    const policy = JSON.stringify(document)
    await this.requests.create('authorization-policies', {
      project_id: this.project,
      name: 'dear',
      status: 'ACTIVE',
      policy,
    } as { name: string; project_id: string })
  }

  private async askDear(): Promise<void> {
    const { random, requests } = this
    const items = Array.from({ length: random.between(1, DEAR_ITEMS) }, (_, i) => i)
    const few = Array.from({ length: 300 }, () => random.between(0, 3))
    const right = items.length * few.reduce((sum, one) => sum + one, 0)
    const isRight = random.odds(0.5)
    const context = { input_params: { items, few, sum: isRight ? right : right + 1 } }
    const subjects = ['u0', 'u1', 'u2', 'u3', 'zz']
    const home = graphsOf(this.world).home
    const pairs = Array.from(
      { length: random.between(1, 3) },
      () => [random.pick(subjects), `g${random.between(0, 3)}`] as const,
    )
    const expected = pairs.map(([subject, resource]) => {
      return isRight && home.nodes.has(`User/${subject}`) && home.nodes.has(`Group/${resource}`)
    })
    const evaluations = pairs.map(([subject, resource]) => ({
      subject: { type: 'User', id: subject },
      resource: { type: 'Group', id: resource },
    }))
    const action = { name: 'dear' }
    const [first] = evaluations
    const isBatch = evaluations.length > 1
    const path = isBatch ? '/access/v1/evaluations' : '/access/v1/evaluation'
    const body = isBatch ? { action, evaluations, context } : { ...first, action, context }
    const headers = { 'x-svc-clientkey': this.key }
    const { status, text, body: answer } = await requests.again(() => requests.send(path, { headers, body }))
    const given = isBatch ? (answer.evaluations as { decision: boolean }[]) : [answer as { decision: boolean }]
    const found = status === 200 ? given.map(({ decision }) => decision) : []
    requests.count('dear')
    if (found.join() !== expected.join()) {
      throw new StreamError(
        `${this.name}: a dear decision of ${JSON.stringify(pairs)} is ${status} ${text}, not ${expected}`,
      )
    }
  }

  // -- changes

  private change(): Promise<void> {
    return this.random.weighted([
      [4, () => this.toggleRelationship()],
      [3, () => this.setProperty()],
      [2, () => this.changePolicy()],
    ])()
  }

  private async toggleRelationship(): Promise<void> {
    const { random, world } = this
    const place = random.pick(['home', 'eu', 'us'] as const)
    const at = (type: string) => world.nodes.filter((node) => node.place === place && node.type === type)
    const [from, type, to] = random.pick([
      ['User', 'OWNS', 'Doc'],
      ['User', 'IN', 'Group'],
      ['Group', 'MAY', 'Doc'],
      ['User', 'KNOWS', 'User'],
    ] as const)
    const [sources, targets] = [at(from), at(to)]
    if (sources.length === 0 || targets.length === 0) return
    const end = ({ type, id }: PlacedNode) => ({ type, id })
    const one = { place, source: end(random.pick(sources)), type, target: end(random.pick(targets)) }
    const same = (other: object) => JSON.stringify(other) === JSON.stringify(one)
    const { relationships } = world
    const isThere = relationships.some(same)
    const located = place === 'home' ? {} : { location: place }
    const given = ({ type, id }: { type: string; id: string }) => ({ type, external_id: id, ...located })
    const body = { relationships: [{ source: given(one.source), type, target: given(one.target) }] }
    await this.requests.capture(this.key, isThere ? 'relationships/delete' : 'relationships', body)
    this.world = {
      ...world,
      relationships: isThere ? relationships.filter((other) => !same(other)) : [...relationships, one],
    }
  }

  private async setProperty(): Promise<void> {
    const { random, world } = this
    const node = random.pick(world.nodes)
    const [type, value] = random.pick([
      ['n', random.pick([0, 1, 2, 3, 'x', 2.5])],
      ['s', random.pick(['a', 'b', 'ab', 'OWNS', 1])],
    ] as const)
    const located = node.place === 'home' ? {} : { location: node.place }
    const nodes = [{ type: node.type, external_id: node.id, ...located, properties: [{ type, value }] }]
    await this.requests.capture(this.key, 'nodes', { nodes })
    const changed = { ...node, properties: { ...node.properties, [type]: value } }
    this.world = { ...world, nodes: world.nodes.map((other) => (other === node ? changed : other)) }
  }

  private async addPolicy(): Promise<void> {
    this.named += 1
    const policy = randomDecisionPolicy(this.random, `p${this.named}`)
    const { name, status, tags } = policy
    const document = JSON.stringify(decisionDocument(policy))
    const body = { project_id: this.project, name, status, tags, policy: document }
    const id = await this.requests.create('authorization-policies', body)
    this.requests.count('policies')
    this.policies = [...this.policies, { ...policy, id }]
  }

  private async changePolicy(): Promise<void> {
    const { random, requests } = this
    if (this.policies.length < POLICIES || random.odds(0.3)) return this.addPolicy()
    const one = random.pick(this.policies)
    const others = this.policies.filter((other) => other !== one)
    const path = `/configs/v1/authorization-policies/${one.id}`
    const { admin: headers } = requests.fixture
    if (random.odds(0.5)) {
      let tries = 0
      const { status, text } = await requests.again(() => {
        tries += 1
        return requests.send(path, { method: 'DELETE', headers })
      })
      // A refused try may have deleted it.
      if (status !== 200 && status !== 204 && !(status === 404 && tries > 1))
        throw new StreamError(`${path}: ${status} ${text}`)
      this.policies = others
      return
    }
    const status = one.status === 'ACTIVE' ? 'INACTIVE' : 'ACTIVE'
    const policy = JSON.stringify(decisionDocument(one))
    const body = { policy, status, tags: one.tags }
    const put = await requests.again(() => requests.send(path, { method: 'PUT', headers, body }))
    if (put.status !== 200) throw new StreamError(`${path}: ${put.status} ${put.text}`)
    this.policies = this.policies.map((other) => (other === one ? { ...one, status } : other))
  }
}
