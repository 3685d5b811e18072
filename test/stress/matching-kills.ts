// Kills the service, its background process or the entity matching process with kill -9 at random moments of a run. The run is completed
// by the next process: the relationships are those of the present data. A reader that looks all the time finds whole relationships only.
// Run alone: bun test/stress/matching-kills.ts [--rounds 20] [--nodes 4000] [--seed N]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChunk, type Snapshot } from '../../src/engine/store.ts'
import { PROJECTS_FOLDER } from '../../src/kernel/folder/data-folder.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { projectFolderName } from '../../src/store/tenancy/project-folders.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { childrenOf } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { property } from '../support/matching-service.ts'
import { captureNodes, RepeatedReads } from '../support/repeated-reads.ts'
import { createFleet } from './event-kills.ts'
import { numberAfter } from './flags.ts'

const SETTINGS = { VERDIGRAPH_LANES: '1' }
const RUN_TIMEOUT_MS = 600_000
const MEMBERS = ['matched_properties', 'pipeline_id', 'run_id', 'score', 'similarities']

export interface MatchingKillOptions {
  readonly rounds: number
  /** Nodes of each of the two types. */
  readonly nodes: number
  readonly seed: number
  readonly note?: (line: string) => void
}

export interface MatchingKillOutcome {
  /** Kills by the process. */
  readonly kills: Readonly<Record<KilledProcess, number>>
  /** Kills after the run had ended. */
  readonly late: number
  /** Relationships that the reader has seen. */
  readonly seen: number
  readonly faults: readonly string[]
}

type KilledProcess = 'service' | 'background' | 'matcher'
const victims: readonly KilledProcess[] = ['service', 'matcher', 'background']

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

/** The data of a person: nothing of it resembles that of another one. */
function dataOf(person: number): Readonly<Record<string, string>> {
  const first = wordOf(3 * person)
  const last = wordOf(3 * person + 1)
  return { name: `${first} ${last}`, email: `${wordOf(3 * person + 2)}@example.org`, town: `${last}${first}` }
}

/** Runs the rounds. */
export async function matchingKillRounds(options: MatchingKillOptions): Promise<MatchingKillOutcome> {
  const { rounds, nodes, seed, note = () => undefined } = options
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-matching-kills-'))
  const data = join(folder, 'data')
  const random = new Random(seed)
  const faults: string[] = []
  const kills = { service: 0, background: 0, matcher: 0 }
  let late = 0
  let server: Server | null = null
  let reader: MatchReader | null = null
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    const start = (): Promise<Server> => startServer(['--data', data], SETTINGS)
    server = await start()
    const { projectId, key, configure } = await createFleet(server, token, organization_id)
    const { id: pipeline } = await configure('POST', 'entity-matching-pipelines', {
      project_id: projectId,
      name: 'people',
      node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
      similarity_score_cutoff: 0.9,
    })
    // A server that was started again has another port.
    const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
      const answered = await fetch(`${server?.url}/entity-matching/v1/pipelines/${pipeline}/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (!answered.ok) throw new Error(`${path} was answered ${answered.status}: ${await answered.text()}`)
      return (await answered.json()) as Record<string, unknown>
    }
    const settled = async (): Promise<unknown> => {
      const end = performance.now() + RUN_TIMEOUT_MS
      for (;;) {
        const { entity_matching_status: status } = await ask('status')
        if (status !== 'PENDING' && status !== 'IN_PROGRESS') return status
        if (performance.now() > end) return `still ${status}`
        await Bun.sleep(20)
      }
    }
    await captureNodes(server, key, nodes, (i) => nodeOf('Person', 'p', i, i))
    reader = new MatchReader(join(data, PROJECTS_FOLDER, projectFolderName(projectId), 'default'))
    reader.start()
    let runMs = 0
    for (let round = 0; round <= rounds; round++) {
      await captureNodes(server, key, nodes, (i) => nodeOf('Customer', 'c', i, personOf(i, round, nodes)))
      const startedMs = performance.now()
      const custom_property_mappings = ['name', 'email', 'town'].map((name) => ({
        source_node_property: name,
        target_node_property: name,
      }))
      await ask('runs', { similarity_score_cutoff: 0.9, custom_property_mappings })
      // The first round measures a run without a kill.
      if (round > 0) {
        await Bun.sleep(random.between(0, Math.ceil(runMs * 1.1)))
        if ((await ask('status')).entity_matching_status === 'SUCCESS') late += 1
        const victim = victims[round % victims.length] as KilledProcess
        if (victim === 'service') {
          await server.kill('SIGKILL')
          server = await start()
          kills.service += 1
        } else if (killOf(server, victim)) kills[victim] += 1
      }
      const status = await settled()
      if (round === 0) runMs = performance.now() - startedMs
      if (status !== 'SUCCESS') faults.push(`round ${round}: the run ended with ${status}`)
      faults.push(...reader.look(pairsOf(nodes, round)).map((fault) => `round ${round}: ${fault}`))
      note(`round ${round}: ${Math.round(performance.now() - startedMs)} ms until the matches were those of this round`)
    }
    reader.stop()
    faults.push(...reader.faults)
    if ((await server.kill('SIGTERM')) !== 0) faults.push('the service did not end cleanly')
    server = null
    const verified = await runCommand(['verify', '--data', data])
    if (verified.exitCode !== 0) faults.push(`verify: ${verified.stdout}`)
    return { kills, late, seen: reader.seen, faults }
  } finally {
    reader?.stop()
    await server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** False: the process does not run now. */
function killOf(server: Server, victim: Exclude<KilledProcess, 'service'>): boolean {
  const children = childrenOf(server.pid)
  const descendants = [...children, ...children.flatMap(({ pid }) => childrenOf(pid))]
  const found = descendants.find(({ words }) => words.includes(victim))
  if (found === undefined) return false
  try {
    process.kill(found.pid, 'SIGKILL')
  } catch {
    return false
  }
  return true
}

function pairsOf(nodes: number, round: number): Set<string> {
  return new Set(Array.from({ length: nodes }, (_, i) => `p${personOf(i, round, nodes)} c${i}`))
}

/** A node of a type whose external ids begin with the prefix, with the data of a person. */
function nodeOf(type: 'Person' | 'Customer', prefix: string, index: number, person: number): object {
  const properties = Object.entries(dataOf(person)).map(([name, value]) => property(name, value))
  return { type, external_id: `${prefix}${index}`, properties }
}

/** Reads all matches from the folder of the graph, again and again. */
class MatchReader {
  seen = 0
  readonly faults: string[] = []
  readonly #reads: RepeatedReads

  constructor(path: string) {
    this.#reads = new RepeatedReads(path, (snapshot) => this.#check(snapshot, null))
  }

  start(): void {
    this.#reads.start()
  }

  stop(): void {
    this.#reads.stop()
  }

  /** `expected`: all pairs. */
  look(expected: ReadonlySet<string>): string[] {
    return this.#reads.once((snapshot) => this.#check(snapshot, expected), COMMAND_LOCK_TIMEOUT_MS)
  }

  /** `expected`: null: a run may be in progress. */
  #check(snapshot: Snapshot, expected: ReadonlySet<string> | null): string[] {
    const found = new Set<string>()
    for (const { pair, properties } of matchesIn(snapshot)) {
      this.seen += 1
      found.add(pair)
      const names = [...properties.keys()].sort().join()
      const lengths = ['matched_properties', 'similarities'].map((name) => [properties.get(name)].flat().length)
      if (names !== MEMBERS.join() || lengths[0] !== lengths[1])
        this.faults.push(`a reader saw the relationship ${pair} with ${names}`)
    }
    if (expected === null) return []
    const missing = [...expected].filter((pair) => !found.has(pair))
    const beyond = [...found].filter((pair) => !expected.has(pair))
    return missing.length + beyond.length === 0
      ? []
      : [`missing ${missing.length}: ${missing.slice(0, 3)}; beyond ${beyond.length}: ${beyond.slice(0, 3)}`]
  }
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

if (import.meta.main) {
  const given = numberAfter('--seed', Number.NaN)
  const seed = Number.isNaN(given) ? stressSeed() : given
  console.log(`seed ${seed}`)
  const { faults, ...outcome } = await matchingKillRounds({
    rounds: numberAfter('--rounds', 20),
    nodes: numberAfter('--nodes', 4000),
    seed,
    note: (line) => console.log(line),
  })
  console.log(JSON.stringify(outcome, null, 2))
  for (const fault of faults.slice(0, 20)) console.error(fault)
  process.exit(faults.length === 0 ? 0 : 1)
}
