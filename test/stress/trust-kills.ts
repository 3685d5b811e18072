// Kills the service and its background process with kill -9 at random moments of a pass. The pass that follows completes it: each
// node has one score, computed from its present data. A reader that looks all the time finds the old or the new score of a node,
// and never a mixture: each score is the mean of its dimensions.
// Run alone: bun test/stress/trust-kills.ts [--rounds 20] [--nodes 20000] [--seed N]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChunk, type Snapshot } from '../../src/engine/store.ts'
import { Float } from '../../src/kernel/float.ts'
import { PROJECTS_FOLDER } from '../../src/kernel/folder/data-folder.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { projectFolderName } from '../../src/store/tenancy/project-folders.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { childrenOf, killProcess } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { captureNodes, RepeatedReads } from '../support/repeated-reads.ts'
import { createFleet } from './event-kills.ts'
import { numberAfter } from './flags.ts'

// On a busy machine a lane starts late after a kill.
const SETTINGS = { VERDIGRAPH_LANES: '1' }

export interface TrustKillOptions {
  readonly rounds: number
  readonly nodes: number
  readonly seed: number
  readonly note?: (line: string) => void
}

export interface TrustKillOutcome {
  /** Kills while the pass ran, and after it. */
  readonly kills: { readonly during: number; readonly after: number }
  /** Scores that the reader has seen. */
  readonly seen: number
  readonly faults: readonly string[]
}

/** The dimensions of a node in a round: all of them change from each round to the next. */
function expectedScore(round: number): Readonly<Record<string, number>> {
  const isOdd = round % 2 === 1
  const [validity, origin, completeness] = isOdd ? [1, 0.8, 1] : [0, 0, 0.5]
  return { validity, origin, completeness, _final_score: meanOf({ validity, origin, completeness }) }
}

function meanOf(score: Readonly<Record<string, number | undefined>>): number {
  const { validity = 0, origin = 0, completeness = 0 } = score
  return (validity + 0.5 * origin + 0.5 * completeness) / 2
}

function nodeOf(index: number, round: number): object {
  const isOdd = round % 2 === 1
  const metadata = isOdd ? { source: 'registry' } : undefined
  return {
    type: 'Car',
    external_id: `c${index}`,
    properties: [
      { type: 'valid_until', value: isOdd ? '2999-01-01' : '2000-01-01', metadata },
      { type: 'plate', value: isOdd ? 'B-42' : '', metadata },
    ],
  }
}

/** Runs the rounds. */
export async function trustKillRounds(options: TrustKillOptions): Promise<TrustKillOutcome> {
  const { rounds, nodes, seed, note = () => undefined } = options
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-trust-kills-'))
  const data = join(folder, 'data')
  const random = new Random(seed)
  const faults: string[] = []
  const kills = { during: 0, after: 0 }
  let server: Server | null = null
  let reader: ScoreReader | null = null
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    const start = (): Promise<Server> => startServer(['--data', data], SETTINGS)
    server = await start()
    const { projectId, key, configure } = await createFleet(server, token, organization_id)
    const { id: profile } = await configure('POST', 'trust-score-profiles', {
      project_id: projectId,
      name: 'cars',
      node_classification: 'Car',
      schedule: 'DAILY',
      dimensions: [
        { name: 'VALIDITY', weight: 1 },
        { name: 'ORIGIN', weight: 0.5 },
        { name: 'COMPLETENESS', weight: 0.5 },
      ],
      sources: { registry: 0.8 },
      required_properties: ['valid_until', 'plate'],
    })
    reader = new ScoreReader(join(data, PROJECTS_FOLDER, projectFolderName(projectId), 'default'))
    reader.start()
    const lastRun = async (): Promise<unknown> => {
      // A server that was started again has another port.
      const url = `${server?.url}/configs/v1/trust-score-profiles/${profile}`
      const answered = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      const { last_run_id, run_progress } = (await answered.json()) as Record<string, unknown>
      return run_progress === null ? last_run_id : 'running'
    }
    let passMs = 0
    for (let round = 0; round <= rounds; round++) {
      await captureNodes(server, key, nodes, (i) => nodeOf(i, round))
      const before = await lastRun()
      const pass = runCommand(['trust', 'run', '--data', data, '--profile', profile as string, '--json'])
      let isEnded = false
      void pass.then(() => {
        isEnded = true
      })
      // A command that finds no service would run the pass itself.
      while ((await lastRun()) === before) await Bun.sleep(5)
      const startedMs = performance.now()
      // The first round measures a pass without a kill.
      if (round > 0) {
        await Bun.sleep(random.between(0, Math.ceil(passMs * 1.1)))
        kills[isEnded ? 'after' : 'during'] += 1
        if (round % 2 === 0) await server.kill('SIGKILL')
        else killBackground(server)
        if (round % 2 === 0) server = await start()
      }
      const { exitCode, stderr } = await pass
      if (round === 0) passMs = performance.now() - startedMs
      if (exitCode !== 0) faults.push(`round ${round}: trust run ended with ${exitCode}: ${stderr}`)
      faults.push(...reader.look(nodes, expectedScore(round)).map((fault) => `round ${round}: ${fault}`))
      note(`round ${round}: ${Math.round(performance.now() - startedMs)} ms until all scores were of this round`)
    }
    reader.stop()
    faults.push(...reader.faults)
    if ((await server.kill('SIGTERM')) !== 0) faults.push('the service did not end cleanly')
    server = null
    const verified = await runCommand(['verify', '--data', data])
    if (verified.exitCode !== 0) faults.push(`verify: ${verified.stdout}`)
    return { kills, seen: reader.seen, faults }
  } finally {
    reader?.stop()
    await server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

function killBackground(server: Server): void {
  const found = childrenOf(server.pid).find(({ words }) => words.includes('background'))
  // It may just be restarting.
  if (found !== undefined) killProcess(found.pid)
}

/** Reads all scores from the folder of the graph, again and again. */
class ScoreReader {
  seen = 0
  readonly faults: string[] = []
  readonly #reads: RepeatedReads

  constructor(path: string) {
    this.#reads = new RepeatedReads(path, (snapshot) => this.#check(snapshot, null, null))
  }

  start(): void {
    this.#reads.start()
  }

  stop(): void {
    this.#reads.stop()
  }

  /** `nodes`, `expected`: the number of scores and each of them. */
  look(nodes: number, expected: Readonly<Record<string, number>>): string[] {
    return this.#reads.once((snapshot) => this.#check(snapshot, nodes, expected), COMMAND_LOCK_TIMEOUT_MS)
  }

  /** Null: scores may be of this round or the one before. */
  #check(snapshot: Snapshot, nodes: number | null, expected: Readonly<Record<string, number>> | null): string[] {
    const faults: string[] = []
    const scores = scoresOf(snapshot)
    this.seen += scores.length
    for (const score of scores) {
      if (Math.abs((score._final_score ?? Number.NaN) - meanOf(score)) > 1e-12 || Object.keys(score).length !== 4)
        this.faults.push(`a reader saw the score ${JSON.stringify(score)}`)
      if (expected !== null && JSON.stringify(sorted(score)) !== JSON.stringify(sorted(expected)))
        faults.push(`a score is ${JSON.stringify(score)}, expected ${JSON.stringify(expected)}`)
    }
    if (nodes !== null && scores.length !== nodes) faults.push(`${scores.length} scores, expected ${nodes}`)
    return faults.slice(0, 3)
  }
}

const sorted = (score: Readonly<Record<string, number>>): [string, number][] =>
  Object.entries(score).sort(([a], [b]) => (a < b ? -1 : 1))

/** The scores of all cars, without version. */
function scoresOf(snapshot: Snapshot): Record<string, number>[] {
  const cars = createChunk()
  const linked = createChunk()
  const scores: Record<string, number>[] = []
  const has = snapshot.symbol('type', '_HAS')
  const label = snapshot.symbol('label', 'Car')
  for (let from = 0; ; from = cars.next) {
    snapshot.nodesWithLabel(label, from, cars)
    for (let i = 0; i < cars.length; i++) {
      snapshot.neighbours(cars.ids[i]!, 'out', has, 0, linked)
      for (let j = 0; j < linked.length; j++) {
        const { formula_version: _, ...score } = Object.fromEntries(
          [...snapshot.nodeProperties(linked.ids[j]!)].map(([name, value]) => [
            name,
            value instanceof Float ? value.value : Number(value),
          ]),
        )
        scores.push(score)
      }
    }
    if (!cars.more) return scores
  }
}

if (import.meta.main) {
  const given = numberAfter('--seed', Number.NaN)
  const seed = Number.isNaN(given) ? stressSeed() : given
  console.log(`seed ${seed}`)
  const { faults, ...outcome } = await trustKillRounds({
    rounds: numberAfter('--rounds', 20),
    nodes: numberAfter('--nodes', 20_000),
    seed,
    note: (line) => console.log(line),
  })
  console.log(JSON.stringify(outcome, null, 2))
  for (const fault of faults.slice(0, 20)) console.error(fault)
  process.exit(faults.length === 0 ? 0 : 1)
}
