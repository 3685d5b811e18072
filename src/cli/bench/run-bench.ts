// The command `bench`: asks decisions in process or over HTTP, checks the answers, and reports latencies and throughput.
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Authorizer } from '../../authorizer/authorizer.ts'
import type { CheckedQuestion } from '../ask/question-file.ts'
import { UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printLine, printLines, printNotice } from '../output/print.ts'
import { agentKeyVariable } from '../settings/environment-variables.ts'
import { settingsFrom } from '../settings/flag-settings.ts'
import { ownCommand } from '../settings/own-command.ts'
import { errorLinesOf, withErrorCode } from '../target/asking.ts'
import { placeOf, type ServicePlace, type TargetFlags } from '../target/target-place.ts'
import { asCliErrors, openAuthorizerAt } from '../target/target-process.ts'
import { benchPage } from './bench-page.ts'
import {
  type BenchRun,
  type BenchSide,
  isRateReached,
  isRight,
  ownVersion,
  type RefusedPeer,
  reportJson,
  reportLines,
  thisMachine,
  warningsOf,
} from './bench-report.ts'
import { GENERATED_ACTIONS, type GeneratedAction, generateGraph, generateQuestions } from './generated-graph.ts'
import { createGeneratedFolder } from './generated-service.ts'
import { type HttpRequests, openConnections } from './http-connections.ts'
import { type AskedSystem, type BenchPlan, type MeasuredAnswer, type OpenedSystem, runLoad } from './load.ts'
import { peersFrom, refusalOf, startPeer } from './peers.ts'
import { questionsOf, readQuestions } from './questions.ts'

/** The options of `bench`. */
export interface BenchFlags extends TargetFlags {
  readonly questions?: string
  readonly world?: string
  readonly generated: boolean
  readonly http: boolean
  readonly nodes: string
  readonly actions: string
  readonly rate?: string
  readonly connections: string
  readonly duration: string
  readonly warmUp: string
  readonly seed?: string
  readonly compare?: string
  readonly json: boolean
  readonly html?: string
}

const QUESTIONS = 2000
const NODES_MIN = 100
const NODES_MAX = 10_000_000
const CONNECTIONS_MAX = 1000
const SECONDS_MAX = 86_400
const RATE_MAX = 10_000_000
const EVALUATION = '/access/v1/evaluation'
/** Some answers before the measurement: a wrong question is an error of the command, and not of a run of minutes. */
const FIRST_ANSWERS = 20

/** Runs `bench` and sets the exit code. Rejects with CliError. */
export async function bench(flags: BenchFlags): Promise<void> {
  await withErrorCode(async () => {
    const plan = planOf(flags)
    checkPage(flags)
    const report = await asCliErrors(() => reportOf(flags, plan))
    if (flags.html !== undefined) writeFileSync(flags.html, benchPage(report))
    if (flags.json) printLine(reportJson(report))
    else printLines(reportLines(report))
    for (const warning of flags.json ? [] : warningsOf(report)) printNotice(warning)
    const isSound = isRight(report) && isRateReached(report)
    process.exitCode = isSound ? exitCodes.success.code : exitCodes.failure.code
  })
}

function planOf({ rate, duration, warmUp }: BenchFlags): BenchPlan {
  return {
    rate: rate === undefined ? null : numberOf('--rate', rate, 0.1, RATE_MAX, 'questions per second'),
    durationS: numberOf('--duration', duration, 0.1, SECONDS_MAX, 'seconds'),
    warmUpS: numberOf('--warm-up', warmUp, 0, SECONDS_MAX, 'seconds'),
  }
}

function numberOf(option: string, text: string, min: number, max: number, unit: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= min && value <= max) return value
  throw new UsageError([`${option}: expected ${unit} from ${min} to ${max}, found \`${text}\``])
}

function integerOf(option: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value
  throw new UsageError([`${option}: expected an integer from ${min} to ${max}, found \`${text}\``])
}

function checkPage({ html }: BenchFlags): void {
  if (html === undefined) return
  if (statSync(html, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new UsageError([`--html: ${html} is a folder`])
  const folder = dirname(resolve(html))
  if (!existsSync(folder)) throw new UsageError([`--html: the folder ${folder} does not exist`])
}

async function reportOf(flags: BenchFlags, plan: BenchPlan): Promise<BenchRun> {
  const { generated, world, questions, compare, http } = flags
  const sources = { '--generated': generated, '--world': world !== undefined, '--questions': questions !== undefined }
  const given = Object.entries(sources).flatMap(([name, isGiven]) => (isGiven ? [name] : []))
  if (given.length !== 1) {
    const found = given.length === 0 ? '' : `, found ${given.join(' and ')}`
    throw new UsageError([`expected one of --questions, --world and --generated${found}`])
  }
  if (!generated && compare !== undefined)
    throw new UsageError(['--compare needs --generated: the peers load the same graph'])
  if (!generated && http) throw new UsageError(['--http needs --generated; --url names a service that is running'])
  if (generated) return generatedReport(flags, plan)
  return world === undefined ? questionReport(flags, plan, questions as string) : worldReport(flags, plan, world)
}

/** The common part of all reports of a run. */
function frameOf(
  plan: BenchPlan,
  questions: readonly CheckedQuestion[],
  callers: number,
  seed: number | null,
): Omit<BenchRun, 'sides' | 'refused'> {
  const count = (wanted: boolean | null): number => questions.filter(({ expected }) => expected === wanted).length
  return {
    seed,
    version: ownVersion,
    started_at: new Date().toISOString(),
    command: ownCommand(process.argv.slice(2)),
    machine: thisMachine(),
    load: {
      mode: plan.rate === null ? 'closed loop' : 'fixed rate',
      rate: plan.rate,
      callers,
      duration_s: plan.durationS,
      warm_up_s: plan.warmUpS,
    },
    questions: { count: questions.length, granted: count(true), denied: count(false), unknown: count(null) },
  }
}

async function worldReport(flags: BenchFlags, plan: BenchPlan, world: string): Promise<BenchRun> {
  const named = (['data', 'url', 'folder', 'graph', 'context'] as const).find((name) => flags[name] !== undefined)
  if (named !== undefined) throw new UsageError([`expected either --world or --${named}: each names a graph`])
  const { authorizer, scenario } = await openWorld(world)
  try {
    const questions = questionsOf(scenario)
    const side = await inProcessSide(authorizer, `the graph of ${world}, in this process`, questions, plan)
    return { ...frameOf(plan, questions, 1, null), sides: [side], refused: [] }
  } finally {
    await authorizer.close()
  }
}

async function openWorld(world: string) {
  const { loadScenario } = await import('../../scenarios/load-scenario.ts')
  const { openScenario } = await import('../../scenarios/run.ts')
  const scenario = await loadScenario(world)
  return { scenario, authorizer: await openScenario(scenario) }
}

async function questionReport(flags: BenchFlags, plan: BenchPlan, file: string): Promise<BenchRun> {
  const questions = readQuestions(file)
  const place = placeOf(flags, '--url, --data or --folder')
  if (place.kind === 'service') return serviceReport(flags, plan, place, questions)
  const [authorizer, description] = await openAuthorizerAt(place)
  try {
    const side = await inProcessSide(authorizer, `${description}, in this process`, questions, plan)
    return { ...frameOf(plan, questions, 1, null), sides: [side], refused: [] }
  } finally {
    await authorizer.close()
  }
}

async function serviceReport(
  flags: BenchFlags,
  plan: BenchPlan,
  place: ServicePlace,
  questions: readonly CheckedQuestion[],
): Promise<BenchRun> {
  const key = place.key()
  if (key === null)
    throw new UsageError([
      `a bench asks ${place.url} as an application agent: set ${agentKeyVariable}, or the key of a context`,
    ])
  const connections = connectionsOf(flags)
  const requests: HttpRequests = {
    url: place.url,
    path: EVALUATION,
    headers: { 'x-svc-clientkey': key },
    bodies: questions.map(({ request }) => JSON.stringify(request)),
    connections,
    decisionOf: ownDecision,
  }
  const side = await httpSide(requests, questions, plan, {
    name: 'verdigraph',
    version: 'the version of the service',
    description: `the service ${place.url} over HTTP`,
    note: null,
    cpuS: () => null,
  })
  return { ...frameOf(plan, questions, connections, null), sides: [side], refused: [] }
}

function connectionsOf({ connections }: BenchFlags): number {
  return integerOf('--connections', connections, 1, CONNECTIONS_MAX)
}

/** The body of an answer of this service. It is parsed only if it is not one of the usual two. */
function ownDecision(body: string): boolean | null {
  if (body === '{"decision":true}') return true
  if (body.startsWith('{"decision":false')) return false
  const { decision } = JSON.parse(body) as { decision?: unknown }
  return typeof decision === 'boolean' ? decision : null
}

async function generatedReport(flags: BenchFlags, plan: BenchPlan): Promise<BenchRun> {
  const named = (['data', 'url', 'folder', 'graph', 'context', 'project'] as const).find(
    (name) => flags[name] !== undefined,
  )
  if (named !== undefined) throw new UsageError([`expected either --generated or --${named}: each names a graph`])
  const nodes = integerOf('--nodes', flags.nodes, NODES_MIN, NODES_MAX)
  const seed =
    flags.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : integerOf('--seed', flags.seed, 0, 2 ** 32 - 1)
  const actions = actionsOf(flags.actions)
  const connections = connectionsOf(flags)
  const peers = flags.compare === undefined ? [] : peersFrom(flags.compare)
  const isHttp = flags.http || peers.length > 0
  if (!flags.json) printNotice(`seed ${seed}; generating ${nodes} nodes`)
  const graph = generateGraph(nodes, seed)
  const questions = generateQuestions(graph, QUESTIONS, actions)
  const folder = await createGeneratedFolder(graph, actions)
  const sides: BenchSide[] = []
  const refused: RefusedPeer[] = []
  const description = `${nodes} generated nodes`
  try {
    if (isHttp) {
      const service = await folder.serve()
      try {
        const requests: HttpRequests = {
          url: service.url,
          path: EVALUATION,
          headers: { 'x-svc-clientkey': folder.key },
          bodies: questions.map(({ request }) => JSON.stringify(request)),
          connections,
          decisionOf: ownDecision,
        }
        sides.push(
          await httpSide(requests, questions, plan, {
            name: 'verdigraph',
            version: ownVersion,
            description: `${description}, over HTTP`,
            note: 'one worker, default settings',
            cpuS: service.cpuS,
          }),
        )
      } finally {
        await service.stop()
      }
    } else {
      const [authorizer] = await openAuthorizerAt({
        kind: 'data-folder',
        settings: settingsFrom({ data: folder.data }),
        project: null,
        folder: null,
      })
      try {
        sides.push(await inProcessSide(authorizer, `${description}, in this process`, questions, plan))
      } finally {
        await authorizer.close()
      }
    }
  } finally {
    folder.remove()
  }
  for (const named of peers) {
    const reason = refusalOf(named, actions)
    if (reason !== null) {
      refused.push({ name: named.name, reason })
      continue
    }
    if (!flags.json) printNotice(`loading the graph into ${named.name}`)
    const peer = await startPeer(named, graph, questions)
    try {
      const about = {
        name: named.name,
        version: peer.version,
        description: `${description}, over ${peer.protocol}`,
        note: peer.note,
        cpuS: () => peer.cpuS(),
      }
      sides.push(await connectedSide(await peer.connect(connections), questions, plan, about))
    } finally {
      await peer.close()
    }
  }
  return { ...frameOf(plan, questions, isHttp ? connections : 1, seed), sides, refused }
}

function actionsOf(text: string): readonly GeneratedAction[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !(GENERATED_ACTIONS as readonly string[]).includes(name))
  if (unknown !== undefined)
    throw new UsageError([
      `--actions: there is no action \`${unknown}\`; the actions are ${GENERATED_ACTIONS.join(', ')}`,
    ])
  return [...new Set(names)] as GeneratedAction[]
}

async function inProcessSide(
  authorizer: Authorizer,
  description: string,
  questions: readonly CheckedQuestion[],
  plan: BenchPlan,
): Promise<BenchSide> {
  const requests = questions.map(({ request }) => request)
  const system: AskedSystem = {
    callers: 1,
    ask(_, question): MeasuredAnswer {
      try {
        return authorizer.evaluate(requests[question]!).decision
      } catch (error) {
        return { error: errorLinesOf(error).join('; ') }
      }
    },
  }
  await refuseErrors(system, questions)
  const result = await runLoad(system, questions, plan)
  return { name: 'verdigraph', version: ownVersion, description, note: null, result, cpuUsPerAnswer: null }
}

interface ConnectedSideOptions extends Pick<BenchSide, 'name' | 'version' | 'description' | 'note'> {
  cpuS(): number | null
}

async function httpSide(
  requests: HttpRequests,
  questions: readonly CheckedQuestion[],
  plan: BenchPlan,
  about: ConnectedSideOptions,
): Promise<BenchSide> {
  return connectedSide(await openConnections(requests), questions, plan, about)
}

async function connectedSide(
  system: OpenedSystem,
  questions: readonly CheckedQuestion[],
  plan: BenchPlan,
  { cpuS, ...about }: ConnectedSideOptions,
): Promise<BenchSide> {
  try {
    await refuseErrors(system, questions)
    const before = cpuS()
    const result = await runLoad(system, questions, plan)
    const after = cpuS()
    const isKnown = before !== null && after !== null && result.latency.count > 0
    // The warm-up is part of the processor time.
    const answers = result.latency.count * (1 + plan.warmUpS / plan.durationS)
    return { ...about, result, cpuUsPerAnswer: isKnown ? ((after - before) * 1e6) / answers : null }
  } finally {
    await system.close()
  }
}

/** Throws UsageError if the first answers are errors, such as a wrong key. Wrong decisions are counted in the run. */
async function refuseErrors(system: AskedSystem, questions: readonly CheckedQuestion[]): Promise<void> {
  for (let question = 0; question < Math.min(FIRST_ANSWERS, questions.length); question++) {
    const answer = await system.ask(0, question)
    if (typeof answer !== 'boolean') throw new UsageError([`question ${question + 1}: ${answer.error}`])
  }
}
