// The rate of the sealing of audit records: fills the outboxes while nothing seals, then starts a service and measures until its
// background process has sealed everything. Prints the processor time per record, the memory of the background process, how long
// requests take during it that write to the same outbox, and the cost of an idle process.
// Run alone: bun test/stress/audit-throughput.ts [--records 200000]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeRecord } from '../../src/events/event-record.ts'
import { auditStreamOf } from '../../src/kernel/folder/audit-stream.ts'
import { EventsFolder } from '../../src/store/outbox/events-folder.ts'
import { childrenOf } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { createFleet } from '../support/fleet.ts'
import { numberAfter } from './flags.ts'

const TICKS_PER_S = 100
/** Events of one record, as the log of activity writes them in one turn. */
const EVENTS_PER_RECORD = 250
const SETTINGS = { VERDIGRAPH_LOG_LEVEL: 'error' }

const records = numberAfter('--records', 200_000)
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-audit-throughput-'))
const data = join(folder, 'data')
let server: Server | null = null
try {
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  server = await startServer(['--data', data], SETTINGS)
  const { projectId } = await createFleet(server, token, organization_id)
  await server.kill('SIGTERM')
  await fill(projectId)

  server = await startServer(['--data', data], SETTINGS)
  const { url, pid } = server
  const startMs = performance.now()
  while (childrenOf(pid).every(({ words }) => !words.includes('background'))) await Bun.sleep(5)
  const background = childrenOf(pid).find(({ words }) => words.includes('background')) as { pid: number }
  const asked = readingConfiguration(url, token, projectId)
  let rssMax = 0
  let first: { readonly ms: number; readonly sealed: number; readonly cpuS: number } | null = null
  for (;;) {
    const sealed = await metric(url, token, 'verdigraph_audit_sealed_records_total')
    if (first === null && sealed > records * 0.02)
      first = { ms: performance.now(), sealed, cpuS: processorS(background.pid) }
    rssMax = Math.max(rssMax, residentMb(background.pid))
    if (sealed >= records) {
      const from = first ?? { ms: startMs, sealed: 0, cpuS: 0 }
      const seconds = (performance.now() - from.ms) / 1000
      const cpuS = processorS(background.pid) - from.cpuS
      const count = sealed - from.sealed
      console.log(`${count} records in ${seconds.toFixed(2)} s: ${Math.round(count / seconds)} records/s`)
      console.log(`processor time of the background process: ${((cpuS / count) * 1e6).toFixed(1)} µs/record`)
      console.log(`memory of the background process: ${rssMax} MB at most, without mapped files`)
      console.log(`reads of the configuration, which are recorded: ${await asked.end()}`)
      break
    }
    await Bun.sleep(20)
  }
  await Bun.sleep(3000)
  const before = processorS(background.pid)
  await Bun.sleep(10_000)
  const idle = ((processorS(background.pid) - before) / 10) * 100
  console.log(`idle background process: ${idle.toFixed(2)} % of a processor`)
} finally {
  await server?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

/** Writes records of decisions, as a serving process does. */
async function fill(projectId: string): Promise<void> {
  const events = new EventsFolder(join(data, 'events'), { sync: false })
  const stream = auditStreamOf(projectId)
  for (let at = 0; at < records; at += EVENTS_PER_RECORD * 20) {
    const batch = Array.from({ length: 20 }, (_, part) => record(at + part * EVENTS_PER_RECORD))
    await events.outbox.append(batch.map((bytes) => ({ stream, bytes, count: EVENTS_PER_RECORD, timeMs: Date.now() })))
  }
  await events.close()
}

function record(from: number): Uint8Array {
  return encodeRecord({
    sinkId: '',
    revision: 0,
    providers: [],
    requestId: '',
    actor: null,
    events: Array.from({ length: EVENTS_PER_RECORD }, (_, i) => ({
      type: 'svc.audit.authorization.evaluation' as const,
      providers: 0,
      element: [
        'd',
        Date.now(),
        `request-${from + i}`,
        0,
        0.2,
        1,
        i % 3 > 0,
        ['Person', `person${(from + i) % 1000}`, 'drive', 'Car', `car${(from + i) % 5000}`],
      ] as const,
    })),
    shared: [
      { type: 'agent', id: 'gid:01AGENTAGENTAGENTAGENTAGEN', applicationId: 'gid:01APPAPPAPPAPPAPPAPPAPPAPP' },
      [{ id: 'gid:01POLICYPOLICYPOLICYPOLICYP', name: 'drive' }],
    ],
  })
}

async function metric(url: string, token: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text()
  if (!text.includes(name)) throw new Error(`no metric ${name}`)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
}

/** Reads the configuration again and again: each read is answered when its record is stored. */
function readingConfiguration(url: string, token: string, projectId: string): { end(): Promise<string> } {
  const times: number[] = []
  let isDone = false
  const loop = async (): Promise<void> => {
    while (!isDone) {
      const startMs = performance.now()
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${url}/configs/v1/projects/${projectId}`, { headers })
      if (!response.ok) throw new Error(`a read of the configuration was answered with ${response.status}`)
      await response.text()
      times.push(performance.now() - startMs)
      await Bun.sleep(5)
    }
  }
  const running = loop()
  return {
    async end() {
      isDone = true
      await running
      // The first one opens the environment of events, which checks its file.
      const [first = 0, ...others] = times
      const sorted = others.toSorted((a, b) => a - b)
      const [p50, p99, max] = [0.5, 0.99, 1].map((share) => sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(0))
      return `the first one ${first.toFixed(0)} ms; ${others.length} others: p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`
    },
  }
}

/** Memory without mapped files. */
function residentMb(pid: number): number {
  return Math.round(Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
}

function processorS(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}
