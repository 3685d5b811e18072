// Kills the service and its background process with kill -9 at random moments of a pass. The pass that follows completes it: each
// node has one score, computed from its present data. A reader that looks all the time finds the old or the new score of a node,
// and never a mixture: each score is the mean of its dimensions.
// Run alone: bun test/stress/trust-kills.ts [--rounds 20] [--nodes 20000] [--seed N]
import { createChunk, type Snapshot } from '../../src/engine/store.ts'
import { Float } from '../../src/kernel/float.ts'
import { runCommand } from '../support/cli-process.ts'
import { captureNodes } from '../support/repeated-reads.ts'
import { numberAfter } from './flags.ts'
import { type GraphFindings, type KillModel, type KillRun, killProgram, type ModelReader } from './kill-harness.ts'

interface TrustFigures {
  /** Kills while the pass ran, and after it. */
  readonly during: number
  readonly after: number
  /** Scores that the reader has seen. */
  readonly seen: number
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

/** The cars of all rounds, and the scores that they must have after each. */
export class TrustKills implements KillModel<TrustFigures> {
  // On a busy machine a lane starts late after a kill.
  readonly settings = { VERDIGRAPH_LANES: '1' }
  /** The first round measures a pass without a kill. */
  readonly firstRound = 0
  private readonly nodes: number
  private during = 0
  private after = 0
  private key = ''
  private profile = ''
  private passMs = 0
  private reader!: ModelReader<Readonly<Record<string, number>>>

  constructor(nodes: number) {
    this.nodes = nodes
  }

  async prepare(run: KillRun): Promise<void> {
    const { projectId, key, configure } = await run.createFleet()
    const { id } = await configure('POST', 'trust-score-profiles', {
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
    this.key = key
    this.profile = id as string
    this.reader = run.readGraph(projectId, (snapshot, expected) => this.findings(snapshot, expected))
  }

  async round(run: KillRun, round: number): Promise<string> {
    await captureNodes(run.server, this.key, this.nodes, (i) => nodeOf(i, round))
    const before = await this.lastRun(run)
    const pass = runCommand(['trust', 'run', '--data', run.data, '--profile', this.profile, '--json'])
    let isEnded = false
    void pass.then(() => {
      isEnded = true
    })
    // A command that finds no service would run the pass itself.
    while ((await this.lastRun(run)) === before) await Bun.sleep(5)
    const startedMs = performance.now()
    if (round > 0) {
      await Bun.sleep(run.random.between(0, Math.ceil(this.passMs * 1.1)))
      if (isEnded) this.after += 1
      else this.during += 1
      if (round % 2 === 0) await run.killService()
      // It may just be restarting.
      else await run.killChild('background', { waits: false })
    }
    const { exitCode, stderr } = await pass
    if (round === 0) this.passMs = performance.now() - startedMs
    if (exitCode !== 0) run.faults.push(`trust run ended with ${exitCode}: ${stderr}`)
    run.faults.push(...this.reader.differences(expectedScore(round)))
    return `${Math.round(performance.now() - startedMs)} ms until all scores were of this round`
  }

  figures(): TrustFigures {
    return { during: this.during, after: this.after, seen: this.reader.seen }
  }

  private async lastRun(run: KillRun): Promise<unknown> {
    const { last_run_id, run_progress } = await run.configure('GET', `trust-score-profiles/${this.profile}`)
    return run_progress === null ? last_run_id : 'running'
  }

  private findings(snapshot: Snapshot, expected: Readonly<Record<string, number>> | null): GraphFindings {
    const scores = scoresOf(snapshot)
    const torn = scores
      .filter(
        (score) =>
          Math.abs((score._final_score ?? Number.NaN) - meanOf(score)) > 1e-12 || Object.keys(score).length !== 4,
      )
      .map((score) => `a reader saw the score ${JSON.stringify(score)}`)
    const differences: string[] = []
    if (expected !== null) {
      const text = JSON.stringify(sorted(expected))
      for (const score of scores)
        if (JSON.stringify(sorted(score)) !== text)
          differences.push(`a score is ${JSON.stringify(score)}, expected ${JSON.stringify(expected)}`)
      if (scores.length !== this.nodes) differences.push(`${scores.length} scores, expected ${this.nodes}`)
    }
    return { seen: scores.length, torn, differences: differences.slice(0, 3) }
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

if (import.meta.main) await killProgram(new TrustKills(numberAfter('--nodes', 20_000)), 20)
