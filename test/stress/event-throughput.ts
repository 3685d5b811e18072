// The rate of the delivery of events: fills the outbox while the receiver is down, starts it, and measures until everything has
// arrived. Prints the processor time of the process that delivers; then the time from a capture to its arrival, and the cost of
// an idle dispatcher.
// Run alone: bun test/stress/event-throughput.ts [--events 50000] [--kafka]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { GRAPH_STREAM } from '../../src/store/graph/write-batch.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { childrenOf } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { sinkBody } from '../support/events.ts'
import { createFleet } from '../support/fleet.ts'
import { httpReceiver, kafkaReceiver } from './event-kills.ts'
import { hasFlag, numberAfter } from './flags.ts'

const BATCH = 250
const TICKS_PER_S = 100
const SETTINGS = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1,localhost', VERDIGRAPH_LOG_LEVEL: 'silent' }

const events = numberAfter('--events', 50_000)
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-event-throughput-'))
const data = join(folder, 'data')
const receiver = hasFlag('--kafka') ? await kafkaReceiver(folder) : await httpReceiver(folder)
let server: Server | null = null
try {
  await receiver.start()
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  server = await startServer(['--data', data], SETTINGS)
  const { url, pid } = server
  const { projectId, key, configure } = await createFleet(server, token, organization_id)
  const body = sinkBody(projectId, [{ type: 'svc.audit.capture.*' }], { main: receiver.provider })
  await configure('POST', 'event-sinks', body)
  const capture = async (names: readonly string[]): Promise<void> => {
    const response = await fetch(`${url}/capture/v1/nodes`, {
      method: 'POST',
      headers: { 'x-svc-clientkey': key, 'content-type': 'application/json' },
      body: JSON.stringify({ nodes: names.map((external_id) => ({ type: 'Car', external_id })) }),
    })
    if (response.status !== 200) throw new Error(await response.text())
  }
  // Loads the client of the provider.
  await capture(['first'])
  await position(projectId, (next, end) => next === end)

  receiver.kill()
  for (let at = 0; at < events; at += BATCH)
    await capture(Array.from({ length: BATCH }, (_, i) => `c${(at + i) % 5000}`))
  await receiver.start()
  const dispatcher = childrenOf(pid).find(({ words }) => words.includes('background'))
  if (dispatcher === undefined) throw new Error('no process delivers events')
  // The wait of the last retry is not part of the rate.
  const from = await position(projectId, (next) => next > 1000)
  const [startMs, startCpu] = [performance.now(), processorS(dispatcher.pid)]
  const to = await position(projectId, (next, end) => next === end)
  const seconds = (performance.now() - startMs) / 1000
  const cpu = processorS(dispatcher.pid) - startCpu
  const rate = Math.round((to - from) / seconds)
  console.log(`${to - from} events in ${seconds.toFixed(2)} s: ${rate} events/s`)
  console.log(
    `processor time of the dispatcher: ${cpu.toFixed(2)} s, ${((cpu / (to - from)) * 1e6).toFixed(1)} µs/event`,
  )

  const latencies: number[] = []
  for (let i = 0; i < 20; i++) {
    await Bun.sleep(150)
    const before = performance.now()
    await capture([`l${i}`])
    const stored = performance.now()
    await position(projectId, (next, end) => next === end, 2)
    latencies.push(performance.now() - stored)
    if (performance.now() - before > 5000) console.log(`a capture took ${Math.round(performance.now() - before)} ms`)
  }
  latencies.sort((a, b) => a - b)
  console.log(
    `from a capture to its stored delivery: median ${latencies[10]?.toFixed(0)} ms, longest ${latencies.at(-1)?.toFixed(0)} ms (position stored after up to 100 ms)`,
  )

  const idleStart = processorS(dispatcher.pid)
  await Bun.sleep(10_000)
  const idle = processorS(dispatcher.pid) - idleStart
  console.log(`idle dispatcher: ${((idle / 10) * 100).toFixed(2)} % of a processor, ${memoryMiB(dispatcher.pid)} MiB`)
} finally {
  await server?.kill('SIGKILL')
  receiver.kill()
  rmSync(folder, { recursive: true, force: true })
}

/** Waits until the position of the provider fulfils the condition; resolves with it. */
async function position(
  projectId: string,
  condition: (next: number, end: number) => boolean,
  pollMs = 20,
): Promise<number> {
  const catalog = openCatalog(data, { clock: systemClock, readOnly: true })
  try {
    for (;;) {
      const found = await catalog.withOutboxes(projectId, async ([graph]) => {
        const end = graph?.outbox.status(GRAPH_STREAM)?.next ?? 0
        const next = graph?.outbox.cursors(GRAPH_STREAM).get('main')?.next ?? 0
        return end > 0 && condition(next, end) ? next : null
      })
      if (found !== null) return found
      await Bun.sleep(pollMs)
    }
  } finally {
    await catalog.close()
  }
}

function processorS(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

function memoryMiB(pid: number): number {
  const kib = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kib) / 1024)
}
