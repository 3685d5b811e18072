// Decisions, searches, pages, batches and explanations over HTTP, compared with the service oracle, which shares no
// code with the engine. Random policies of both versions over the databases of composite projects, with filters,
// tokens, tags and unusual parameters.
// Run alone: bun test/stress/decisions-http.ts [--worlds 300] [--workers 1] [--seed N]. Graph n has the seed N + n.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import { difference, type Post, type ServiceResponse } from '../oracle/service/compare-decisions.ts'
import type { RequestContents } from '../oracle/service/decision.ts'
import { END_TYPES } from '../oracle/service/decision-condition.ts'
import type { DecisionFilter } from '../oracle/service/decision-filter.ts'
import {
  CONNECTION,
  capturesOf,
  type DecisionGraph,
  graphsOf,
  randomDecisionGraph,
  withoutDangling,
} from '../oracle/service/decision-graph.ts'
import { type DecisionPolicy, decisionDocument, randomDecisionPolicy } from '../oracle/service/decision-policy.ts'
import { bodyOf, type NaiveQuestion, pathOf, randomQuestions, randomSent } from '../oracle/service/decision-question.ts'
import { shrinkList, shrinkValue } from '../oracle/service/shrink-case.ts'
import { killAll } from '../support/cli-process.ts'
import { makePeople } from '../support/user-tokens.ts'
import {
  captured,
  HttpConnection,
  makeProject,
  startWorkers,
  bodyOf as taken,
  type WorkerFixture,
  type WorkerProject,
} from '../support/worker-fixture.ts'
import { numberAfter } from './flags.ts'

const POLICIES = 14
const ROUNDS = 3
/** Concurrent requests. */
const LANES = 32
/** Pages of the usual size, and pages so small that every result has several. */
const PAGE_MAXES = [null, 3] as const

/** The oracle has no time limit, at which a decision is a denial. */
const unhurried = { VERDIGRAPH_LOG_LEVEL: 'error', VERDIGRAPH_DECISION_TIME_MS: '60000' }

const worlds = numberAfter('--worlds', 100)
const workers = numberAfter('--workers', 1)
const seed = numberAfter('--seed', stressSeed())

interface DecisionCase {
  readonly world: DecisionGraph
  readonly policies: readonly DecisionPolicy[]
  readonly sent: RequestContents
  readonly question: NaiveQuestion
  /** The difference, as it was first seen. */
  readonly first: string
}

const counts = new Map<string, number>()
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
const uncounted = (): void => undefined
const people = await makePeople('User')
let projects = 0

async function worldDiffers(fixture: WorkerFixture, worldSeed: number): Promise<string | null> {
  const random = new Random(worldSeed)
  const world = randomDecisionGraph(random)
  const policies = Array.from({ length: POLICIES }, (_, i) => randomDecisionPolicy(random, `p${i}`))
  const project = await filled(fixture, world, policies)
  const scene = { graphs: graphsOf(world), policies }
  for (let round = 0; round < ROUNDS; round++) {
    const sent = randomSent(random)
    const post = await postAs(fixture, project, sent)
    const left = END_TYPES.flatMap((types) => randomQuestions(random, types))
    let found: DecisionCase | null = null
    const lane = async (): Promise<void> => {
      for (let question = left.shift(); question !== undefined && found === null; question = left.shift()) {
        const first = await difference(post, scene, sent, question, count)
        if (first !== null) found ??= { world, policies, sent, question, first }
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    if (found !== null) return reported(fixture, found, `seed ${worldSeed} round ${round}`)
  }
  return null
}

/** A new project with graph and policies. */
async function filled(
  fixture: WorkerFixture,
  world: DecisionGraph,
  policies: readonly DecisionPolicy[],
): Promise<WorkerProject> {
  const line = await HttpConnection.to(fixture.server.url)
  try {
    projects += 1
    const project = await makeProject(fixture, line, `p${projects}`, { db_connection: CONNECTION })
    const create = async (kind: string, body: object) =>
      taken(await line.request('POST', `/configs/v1/${kind}`, fixture.admin, { project_id: project.id, ...body }), 201)
    await create('token-introspects', people.introspect)
    for (const [path, body] of capturesOf(world)) await captured(line, project, path, body)
    for (const policy of policies) {
      const { name, status, tags } = policy
      await create('authorization-policies', { name, status, tags, policy: JSON.stringify(decisionDocument(policy)) })
    }
    return project
  } finally {
    line.close()
  }
}

async function postAs(fixture: WorkerFixture, { key }: WorkerProject, { claims }: RequestContents): Promise<Post> {
  const headers: Record<string, string> = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
  if (claims !== null) headers.authorization = `Bearer ${await people.tokenOf(String(claims.sub), claims)}`
  return async (path, body): Promise<ServiceResponse> => {
    const response = await read(`${fixture.server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    return { status: response.status, text, body: JSON.parse(text) }
  }
}

/** A decision has no side effect: a request on an idle connection that closes at that moment is repeated. */
async function read(url: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request)
  } catch (fault) {
    if ((fault as { code?: string }).code !== 'ECONNRESET') throw fault
    count('repeated')
    return fetch(url, { ...request, keepalive: false })
  }
}

async function reported(fixture: WorkerFixture, found: DecisionCase, where: string): Promise<string> {
  const differs = async ({ world, policies, sent, question }: DecisionCase): Promise<string | null> => {
    const post = await postAs(fixture, await filled(fixture, world, policies), sent)
    return difference(post, { graphs: graphsOf(world), policies }, sent, question, uncounted)
  }
  const isShown = async (one: DecisionCase): Promise<boolean> => (await differs(one)) !== null
  // A difference that does not occur again is reported as it was first seen.
  const smallest = (await isShown(found)) ? await made(found, isShown) : null
  const one = smallest ?? found
  const { world, policies, sent, question, first } = one
  return [
    `${where}${smallest === null ? ': not seen again' : ''}`,
    `first: ${first}`,
    (await differs(one)) ?? 'agrees when it is repeated',
    ...capturesOf(world).map(([path, body]) => `${path} ${JSON.stringify(body)}`),
    ...policies.map((one) => `${one.name} ${one.status} [${one.tags}] ${JSON.stringify(decisionDocument(one))}`),
    `claims ${JSON.stringify(sent.claims)}`,
    `${pathOf(question)} ${JSON.stringify(bodyOf(question, sent))} limit ${'limit' in question ? question.limit : 'none'}`,
  ].join('\n')
}

/** Shrinks by one part after the other. */
async function made(found: DecisionCase, isShown: (one: DecisionCase) => Promise<boolean>): Promise<DecisionCase> {
  let one = found
  const over = async <T>(items: readonly T[], put: (items: readonly T[]) => DecisionCase): Promise<void> => {
    one = put(await shrinkList(items, (fewer) => isShown(put(fewer))))
  }
  if (one.question.kind === 'batch') {
    const { question } = one
    const left = await shrinkList(question.items, async (items) => {
      // A batch without items is an evaluation, which is another case.
      return items.length > 0 && isShown({ ...one, question: { ...question, items } })
    })
    one = { ...one, question: { ...question, items: left } }
  }
  await over(one.policies, (policies) => ({ ...one, policies }))
  await over(one.world.relationships, (relationships) => ({ ...one, world: { ...one.world, relationships } }))
  await over(one.world.nodes, (nodes) => ({ ...one, world: withoutDangling({ ...one.world, nodes }) }))
  one = await shrinkValue(one, simpler, isShown)
  await over(Object.entries(one.sent.input), (input) => ({
    ...one,
    sent: { ...one.sent, input: Object.fromEntries(input) },
  }))
  return one
}

function simpler(one: DecisionCase): readonly DecisionCase[] {
  const { sent, policies } = one
  const without = (['tags', 'subject', 'resource', 'action', 'claims'] as const)
    .filter((member) => sent[member] !== null)
    .map((member) => ({ ...one, sent: { ...sent, [member]: null } }))
  const other = (changed: DecisionPolicy, members: Partial<DecisionPolicy>): DecisionCase => ({
    ...one,
    policies: policies.map((policy) => (policy === changed ? { ...policy, ...members } : policy)),
  })
  return [
    ...without,
    ...policies.flatMap((policy) => [
      ...(policy.filter === null ? [] : [null, ...smallerFilters(policy.filter)]).map((filter) =>
        other(policy, { filter }),
      ),
      ...(policy.branches.length < 2 ? [] : policy.branches.map((branch) => other(policy, { branches: [branch] }))),
    ]),
  ]
}

function smallerFilters(filter: DecisionFilter): readonly DecisionFilter[] {
  const { operands = [], advice, app, ...rest } = filter
  return [
    ...operands,
    ...(advice === undefined && app === undefined ? [] : [{ ...rest, ...(operands.length > 0 ? { operands } : {}) }]),
    ...operands.flatMap((operand, i) =>
      smallerFilters(operand).map((smaller) => ({ ...filter, operands: operands.with(i, smaller) })),
    ),
  ]
}

/** Request and stack of each internal error in the log of a server. */
function internalErrorsIn(log: string): string[] {
  const failures = log.split('\n').filter((line) => line.startsWith('{') && line.includes('"stack"'))
  return failures.map((line) => {
    const { method, path, stack } = JSON.parse(line) as Record<string, string>
    return `internal error of ${method} ${path}\n${stack}`
  })
}

console.log(`VERDIGRAPH_SEED=${seed}`)
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-decisions-'))
const crews: WorkerFixture[] = []
/** The internal errors of the servers: a response of 500 does not contain its cause. */
const loggedErrors: string[] = []
let differing: string | null = null
try {
  for (const [i, max] of PAGE_MAXES.entries()) {
    const environment = max === null ? {} : { VERDIGRAPH_SEARCH_PAGE_MAX: String(max) }
    crews.push(await startWorkers(join(folder, String(i)), workers, { ...unhurried, ...environment }))
  }
  for (let world = 0; world < worlds && differing === null; world++) {
    // By the seed, so that a single graph can be repeated alone.
    differing = await worldDiffers(crews[(seed + world) % crews.length] as WorkerFixture, seed + world)
    count('worlds')
  }
  for (const fixture of crews) await fixture.close()
} finally {
  for (const { server } of crews) loggedErrors.push(...internalErrorsIn(server.notices()))
  await killAll()
  rmSync(folder, { recursive: true, force: true })
}
console.log(JSON.stringify(Object.fromEntries([...counts].sort())))
for (const line of loggedErrors) console.error(line)
if (differing !== null) console.error(differing)
// Without enough results and refusals the run would prove nothing.
const few = ['permits', 'denials', 'refused 422', 'advised', 'matched', 'searches that found', 'batches'].filter(
  (what) => (counts.get(what) ?? 0) < worlds * 2,
)
if (differing === null && few.length > 0) console.error(`hardly any: ${few.join(', ')}`)
process.exit(differing !== null || loggedErrors.length > 0 || few.length > 0 ? 1 : 0)
