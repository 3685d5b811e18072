// Measures entity matching through a served data folder: the time of a whole run (reading the graph, comparing, writing the
// relationships), the memory of all processes, precision and recall, and the latency of decisions and captures of the same graph.
// Run alone: bun test/stress/matching-service.ts [--nodes 5000] [--seconds 300] [--megabytes 1024] [--growth 64] [--seed N]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomFrom } from '../../bench/harness.ts'
import { childrenOf } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { createFleet } from '../support/fleet.ts'
import { generatedRegisters, type PersonRecord, personProperties } from '../support/generated-people.ts'
import { type MatchedPair, measureQuality } from '../support/match-quality.ts'
import { property } from '../support/matching-service.ts'
import { numberAfter } from './flags.ts'
import { importGraph, policy } from './isolation/fixture.ts'

/** Decisions per second, and one capture for so many of them. */
const RATE = 100
const CAPTURE_EVERY = 10
/** The first source nodes are in both registers at even indexes. */
const ASKED_NODES = 1000
const QUIET_MS = 5000
const SAMPLE_MS = 50
/** More runs, until the matching process was seen. */
const UNSEEN_RUNS_MAX = 20
const LOWEST_F1 = 0.99

const nodes = numberAfter('--nodes', 5000)
const secondsMax = numberAfter('--seconds', 300)
const megabytesMax = numberAfter('--megabytes', 1024)
/** Growth of the serving process by the other requests during the run, in MiB. */
const growthMax = numberAfter('--growth', 64)
const seed = numberAfter('--seed', 1)

/** Memory of a process in MiB. */
interface ProcessMemory {
  /** The largest resident memory, with mapped pages of the graph. */
  readonly peak: number
  /** The largest private memory that was seen. */
  readonly private: number
}

/** Looks at the memory of the service and its child processes. */
class MemoryWatch {
  readonly #service: number
  readonly #seen = new Map<string, ProcessMemory>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(service: number) {
    this.#service = service
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS)
  }

  #look(): void {
    this.#note('service', this.#service)
    for (const child of childrenOf(this.#service)) {
      const isBackground = child.words.includes('background')
      this.#note(isBackground ? 'background' : 'lanes', child.pid)
      if (isBackground) for (const { pid } of childrenOf(child.pid)) this.#note('matcher', pid)
    }
  }

  #note(name: string, pid: number): void {
    const before = this.#seen.get(name)
    let status: string
    try {
      status = readFileSync(`/proc/${pid}/status`, 'utf8')
    } catch {
      return
    }
    const read = (member: string) => Number(new RegExp(`^${member}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
    this.#seen.set(name, {
      peak: Math.max(before?.peak ?? 0, read('VmHWM')),
      private: Math.max(before?.private ?? 0, read('RssAnon')),
    })
  }

  /** Whether a process with that name was seen. */
  hasSeen(name: string): boolean {
    return (this.#seen.get(name)?.private ?? 0) > 0
  }

  /** The private memory of the service up to now, in MiB. */
  get ofService(): number {
    return Math.round(this.#seen.get('service')?.private ?? 0)
  }

  /** Ends; the memory by process in MiB. */
  end(): Record<string, ProcessMemory> {
    clearInterval(this.#timer)
    const rounded = ({ peak, private: own }: ProcessMemory) => ({ peak: Math.round(peak), private: Math.round(own) })
    return Object.fromEntries([...this.#seen].map(([name, memory]) => [name, rounded(memory)]))
  }
}

/** Sends requests at a fixed rate, without waiting for responses. */
class SteadyRequests {
  readonly #decisions: number[] = []
  readonly #captures: number[] = []
  readonly #sending: Promise<void>[] = []
  readonly faults: string[] = []
  readonly #url: string
  readonly #key: string
  #sent = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #isWritten = false

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
    this.#turn(performance.now())
  }

  /** From now on all matches are written, and a person reaches exactly the customer that is the same. */
  expectMatches(): void {
    this.#isWritten = true
  }

  #turn(dueMs: number): void {
    let next = dueMs
    for (; next <= performance.now(); next += 1000 / RATE) {
      this.#sent += 1
      this.#sending.push(this.#sent % CAPTURE_EVERY === 0 ? this.#capture() : this.#decide())
    }
    this.#timer = setTimeout(() => this.#turn(next), Math.max(0, next - performance.now()))
  }

  async #decide(): Promise<void> {
    const person = this.#sent % ASKED_NODES
    const isWritten = this.#isWritten
    const body = {
      subject: { type: 'Person', id: `p${person}` },
      action: { name: 'see' },
      resource: { type: 'Customer', id: `c${person}` },
    }
    const text = await this.#post('/access/v1/evaluation', body, this.#decisions)
    // Before, some have been written.
    if (isWritten && person % 2 === 1 && !text.startsWith('{"decision":false'))
      this.faults.push(`p${person} sees c${person}: ${text}`)
  }

  async #capture(): Promise<void> {
    const external_id = `e${this.#sent % ASKED_NODES}`
    const nodes = [{ type: 'Event', external_id, properties: [property('number', this.#sent)] }]
    await this.#post('/capture/v1/nodes', { nodes }, this.#captures)
  }

  async #post(path: string, body: object, times: number[]): Promise<string> {
    const startMs = performance.now()
    const headers = { 'content-type': 'application/json', 'x-svc-clientkey': this.#key }
    try {
      const response = await fetch(`${this.#url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      const text = await response.text()
      times.push(performance.now() - startMs)
      if (response.status !== 200) this.faults.push(`${path} was answered ${response.status}: ${text}`)
      return text
    } catch (failure) {
      this.faults.push(`${path} was not answered: ${String(failure)}`)
      return ''
    }
  }

  /** Waits for all responses. */
  async end(): Promise<{ readonly decisions: string; readonly captures: string }> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.all(this.#sending)
    return { decisions: summary(this.#decisions), captures: summary(this.#captures) }
  }
}

function summary(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(1))
  return `${sorted.length}: p50 ${p50} ms, p99 ${p99} ms, longest ${longest} ms`
}

function* graphLines(): Generator<object> {
  const line = (type: string, external_id: string, values: PersonRecord) => ({
    node: {
      type,
      external_id,
      properties: values.flatMap((value, i) => (value === null ? [] : [{ type: personProperties[i], value }])),
    },
  })
  let i = 0
  for (const { source, target } of generatedRegisters(nodes, randomFrom(seed))) {
    yield line('Person', `p${i}`, source)
    yield line('Customer', `c${i}`, target)
    i += 1
  }
}

/** The pairs of the report, and the time to read it. */
async function readReport(
  url: string,
  pipeline: string,
  token: string,
): Promise<{ pairs: MatchedPair[]; seconds: number }> {
  const startMs = performance.now()
  const response = await fetch(`${url}/entity-matching/v1/pipelines/${pipeline}/report`, {
    headers: { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' },
  })
  if (!response.ok) throw new Error(`the report was answered ${response.status}: ${await response.text()}`)
  const lines = (await response.text()).trimEnd().split('\n')
  const end = JSON.parse(lines.pop() ?? '{}') as { matched_pairs?: number }
  if (end.matched_pairs !== lines.length) throw new Error(`the last line of the report is ${JSON.stringify(end)}`)
  const pairs = lines.map((line): MatchedPair => {
    const { source_external_id, target_external_id } = JSON.parse(line)
    return [Number(source_external_id.slice(1)), Number(target_external_id.slice(1))]
  })
  return { pairs, seconds: (performance.now() - startMs) / 1000 }
}

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-matching-service-'))
const data = join(folder, 'data')
const faults: string[] = []
let server: Server | null = null
try {
  console.log(`seed ${seed}, ${nodes} nodes of each type with ${personProperties.length} properties`)
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  server = await startServer(['--data', data])
  const { projectId, key, configure } = await createFleet(server, token, organization_id, ['Capture', 'Authorization'])
  const walk = 'MATCH (subject:Person)-[:_SAME_AS]->(resource:Customer)'
  await configure('POST', 'authorization-policies', policy(projectId, 'see', walk, {}, 'Customer'))
  await server.kill('SIGTERM')
  const importMs = performance.now()
  await importGraph(folder, data, projectId, graphLines())
  console.log(`imported in ${((performance.now() - importMs) / 1000).toFixed(1)} s`)

  const started = await startServer(['--data', data])
  server = started
  const quiet = new SteadyRequests(started.url, key)
  const before = new MemoryWatch(started.pid)
  await Bun.sleep(QUIET_MS)
  const quietTimes = await quiet.end()
  const memoryBefore = before.end()

  const response = await fetch(`${started.url}/configs/v1/entity-matching-pipelines`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      project_id: projectId,
      name: 'people',
      node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
      similarity_score_cutoff: 0.5,
    }),
  })
  if (response.status !== 201) throw new Error(`the pipeline was refused: ${await response.text()}`)
  const { id: pipeline } = (await response.json()) as { id: string }
  const requests = new SteadyRequests(started.url, key)
  const watch = new MemoryWatch(started.pid)
  const run = async () => {
    const startMs = performance.now()
    const { exitCode, stdout, stderr } = await runCommand(
      ['match', 'run', '--json', '--url', started.url, '--pipeline', pipeline],
      {
        VERDIGRAPH_TOKEN: token,
      },
    )
    if (exitCode !== 0) throw new Error(`match run ended with ${exitCode}: ${stderr}`)
    return { report: JSON.parse(stdout), seconds: (performance.now() - startMs) / 1000, progress: stderr }
  }
  const first = await run()
  const afterRun = watch.ofService
  requests.expectMatches()
  const { pairs, seconds: reportSeconds } = await readReport(started.url, pipeline, token)
  const afterReport = watch.ofService
  const second = await run()
  // On a busy machine no sample may fall into the time of a matching process.
  for (let more = 0; more < UNSEEN_RUNS_MAX && !watch.hasSeen('matcher'); more++) await run()
  const memory = watch.end()
  const times = await requests.end()

  const same = Array.from({ length: Math.ceil(nodes / 2) }, (_, i): MatchedPair => [2 * i, 2 * i])
  const quality = measureQuality(pairs, { same }, false)
  console.log(
    JSON.stringify(
      {
        nodes_of_each_type: nodes,
        first_run_s: Number(first.seconds.toFixed(1)),
        second_run_s: Number(second.seconds.toFixed(1)),
        report_s: Number(reportSeconds.toFixed(1)),
        compared_pairs: first.report.compared_pairs,
        matched_pairs: first.report.matched_pairs,
        written: [first.report.relationships_written, second.report.relationships_written],
        precision: quality.precision,
        recall: quality.recall,
        memory_mib: { before: memoryBefore, during: memory },
        service_private_mib: { after_run: afterRun, after_report: afterReport },
        decisions: { before: quietTimes.decisions, during: times.decisions },
        captures: { before: quietTimes.captures, during: times.captures },
      },
      null,
      2,
    ),
  )
  console.log(first.progress.trimEnd())
  faults.push(...quiet.faults, ...requests.faults)
  if ((quality.f1 ?? 0) < LOWEST_F1) faults.push(`F1 is ${quality.f1}`)
  if (first.report.relationships_written !== pairs.length)
    faults.push(`the first run wrote ${first.report.relationships_written} of ${pairs.length} relationships`)
  if (second.report.relationships_written + second.report.relationships_removed !== 0)
    faults.push('the second run has changed relationships')
  if (first.seconds > secondsMax) faults.push(`the run took ${first.seconds} s`)
  if ((memory.matcher?.private ?? 0) === 0) faults.push('no matching process was seen')
  if ((memory.matcher?.peak ?? 0) > megabytesMax) faults.push(`the matching process had ${memory.matcher?.peak} MiB`)
  const growth = afterRun - (memoryBefore.service?.private ?? 0)
  if (growth > growthMax) faults.push(`the serving process grew by ${growth} MiB`)
  if ((await started.kill('SIGTERM')) !== 0) faults.push('the service did not end cleanly')
  server = null
} finally {
  await server?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
for (const fault of faults.slice(0, 20)) console.error(fault)
process.exit(faults.length === 0 ? 0 : 1)
