// Kills the service, its background process or the entity matching process with kill -9 at random moments of a run. The run is completed
// by the next process: the relationships are those of the present data. A reader that looks all the time finds whole relationships only.
// Run alone: bun test/stress/matching-kills.ts [--rounds 20] [--nodes 4000] [--seed N]
import { createChunk, type Snapshot } from '../../src/engine/store.ts'
import { property } from '../support/matching-service.ts'
import { captureNodes } from '../support/repeated-reads.ts'
import { numberAfter } from './flags.ts'
import { type GraphFindings, type KillModel, type KillRun, killProgram, type ModelReader } from './kill-harness.ts'

const RUN_TIMEOUT_MS = 600_000
const MEMBERS = ['matched_properties', 'pipeline_id', 'run_id', 'score', 'similarities']

interface MatchingFigures {
  /** Kills after the run had ended. */
  readonly late: number
  /** Relationships that the reader has seen. */
  readonly seen: number
}

const victims = ['service', 'matcher', 'background'] as const

/** In each round customers are other persons than in the round before. */
function personOf(customer: number, round: number, nodes: number): number {
  return (customer + round) % nodes
}

const SYLLABLES = [
  'ba',
  'ce',
  'di',
  'fo',
  'gu',
  'ha',
  'je',
  'ki',
  'lo',
  'mu',
  'na',
  'pe',
  'ri',
  'so',
  'tu',
  'va',
  'we',
  'xi',
  'yo',
  'zu',
]

/** A word of six syllables. Words of different numbers have little in common. */
function wordOf(number: number): string {
  let rest = Math.imul(number + 1, 0x9e3779b1) >>> 0
  rest = Math.imul(rest ^ (rest >>> 15), 0x85ebca6b) >>> 0
  let word = ''
  for (let i = 0; i < 6; i++) {
    word += SYLLABLES[rest % SYLLABLES.length]
    rest = Math.floor(rest / SYLLABLES.length)
  }
  return word
}

/** The data of a person, which does not resemble that of another one. */
function dataOf(person: number): Readonly<Record<string, string>> {
  const first = wordOf(3 * person)
  const last = wordOf(3 * person + 1)
  return { name: `${first} ${last}`, email: `${wordOf(3 * person + 2)}@example.org`, town: `${last}${first}` }
}

/** Persons and customers, and the pairs that must be linked after each round. */
export class MatchingKills implements KillModel<MatchingFigures> {
  readonly settings = { VERDIGRAPH_LANES: '1' }
  /** The first round measures a run without a kill. */
  readonly firstRound = 0
  /** Of each of the two types. */
  private readonly nodes: number
  private late = 0
  private key = ''
  private pipeline = ''
  private runMs = 0
  private reader!: ModelReader<ReadonlySet<string>>

  constructor(nodes: number) {
    this.nodes = nodes
  }

  async prepare(run: KillRun): Promise<void> {
    const { projectId, key, configure } = await run.createFleet()
    const { id } = await configure('POST', 'entity-matching-pipelines', {
      project_id: projectId,
      name: 'people',
      node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
      similarity_score_cutoff: 0.9,
    })
    this.key = key
    this.pipeline = id as string
    await captureNodes(run.server, key, this.nodes, (i) => nodeOf('Person', 'p', i, i))
    this.reader = run.readGraph(projectId, findingsIn)
  }

  async round(run: KillRun, round: number): Promise<string> {
    const { nodes } = this
    await captureNodes(run.server, this.key, nodes, (i) => nodeOf('Customer', 'c', i, personOf(i, round, nodes)))
    const startedMs = performance.now()
    const custom_property_mappings = ['name', 'email', 'town'].map((name) => ({
      source_node_property: name,
      target_node_property: name,
    }))
    await this.ask(run, 'runs', { similarity_score_cutoff: 0.9, custom_property_mappings })
    if (round > 0) {
      await Bun.sleep(run.random.between(0, Math.ceil(this.runMs * 1.1)))
      if ((await this.ask(run, 'status')).entity_matching_status === 'SUCCESS') this.late += 1
      const victim = victims[round % victims.length]!
      if (victim === 'service') await run.killService()
      // Each of them runs only while it is needed.
      else await run.killChild(victim, { waits: false })
    }
    const status = await this.settled(run)
    if (round === 0) this.runMs = performance.now() - startedMs
    if (status !== 'SUCCESS') run.faults.push(`the run ended with ${status}`)
    run.faults.push(...this.reader.differences(pairsOf(nodes, round)))
    return `${Math.round(performance.now() - startedMs)} ms until the matches were those of this round`
  }

  figures(): MatchingFigures {
    return { late: this.late, seen: this.reader.seen }
  }

  private async ask(run: KillRun, path: string, body?: object): Promise<Record<string, unknown>> {
    const answered = await fetch(`${run.server.url}/entity-matching/v1/pipelines/${this.pipeline}/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: run.headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!answered.ok) throw new Error(`${path} was answered ${answered.status}: ${await answered.text()}`)
    return (await answered.json()) as Record<string, unknown>
  }

  private async settled(run: KillRun): Promise<unknown> {
    const end = performance.now() + RUN_TIMEOUT_MS
    for (;;) {
      const { entity_matching_status: status } = await this.ask(run, 'status')
      if (status !== 'PENDING' && status !== 'IN_PROGRESS') return status
      if (performance.now() > end) return `still ${status}`
      await Bun.sleep(20)
    }
  }
}

function pairsOf(nodes: number, round: number): Set<string> {
  return new Set(Array.from({ length: nodes }, (_, i) => `p${personOf(i, round, nodes)} c${i}`))
}

/** A node of a type whose external ids begin with the prefix, with the data of a person. */
function nodeOf(type: 'Person' | 'Customer', prefix: string, index: number, person: number): object {
  const properties = Object.entries(dataOf(person)).map(([name, value]) => property(name, value))
  return { type, external_id: `${prefix}${index}`, properties }
}

/** `expected`: all pairs; null: a run may be in progress. */
function findingsIn(snapshot: Snapshot, expected: ReadonlySet<string> | null): GraphFindings {
  const found = new Set<string>()
  const torn: string[] = []
  let seen = 0
  for (const { pair, properties } of matchesIn(snapshot)) {
    seen += 1
    found.add(pair)
    const names = [...properties.keys()].sort().join()
    const lengths = ['matched_properties', 'similarities'].map((name) => [properties.get(name)].flat().length)
    if (names !== MEMBERS.join() || lengths[0] !== lengths[1])
      torn.push(`a reader saw the relationship ${pair} with ${names}`)
  }
  const missing = [...(expected ?? [])].filter((pair) => !found.has(pair))
  const beyond = expected === null ? [] : [...found].filter((pair) => !expected.has(pair))
  const differences =
    missing.length + beyond.length === 0
      ? []
      : [`missing ${missing.length}: ${missing.slice(0, 3)}; beyond ${beyond.length}: ${beyond.slice(0, 3)}`]
  return { seen, torn, differences }
}

function* matchesIn(snapshot: Snapshot): Generator<{ pair: string; properties: ReadonlyMap<string, unknown> }> {
  const persons = createChunk()
  const linked = createChunk()
  const sameAs = snapshot.symbol('type', '_SAME_AS')
  const label = snapshot.symbol('label', 'Person')
  if (sameAs === 0 || label === 0) return
  for (let from = 0; ; from = persons.next) {
    snapshot.nodesWithLabel(label, from, persons)
    for (let i = 0; i < persons.length; i++) {
      const person = persons.ids[i]!
      snapshot.neighbours(person, 'out', sameAs, 0, linked)
      for (let j = 0; j < linked.length; j++) {
        const pair = `${snapshot.nodeField(person, 'external_id')} ${snapshot.nodeField(linked.ids[j]!, 'external_id')}`
        yield { pair, properties: snapshot.relationshipProperties(linked.relationships[j]!) }
      }
    }
    if (!persons.more) return
  }
}

if (import.meta.main) await killProgram(new MatchingKills(numberAfter('--nodes', 4000)), 20)
