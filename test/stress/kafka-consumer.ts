// The example `examples/kafka-consumer` against Apache Kafka: a served folder whose dispatcher sends to the broker, and the consumer
// as a process of its own. Skips if Kafka cannot be installed.
//   bun test/stress/kafka-consumer.ts [--nodes 500]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killAll, runCommand, startServer } from '../support/cli-process.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { createTopic, prepareKafka } from '../support/counterparts/kafka.ts'
import { numberAfter } from './flags.ts'

/** Only a hang reaches it. */
const WAIT_MS = 600_000
/** Each node has an event of each. */
const TYPES = ['svc.audit.capture.upsert.node', 'svc.audit.cdc.node.create']
const consumerFile = join(import.meta.dirname, '../../examples/kafka-consumer/consumer.mjs')
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-consumer-'))
const nodes = numberAfter('--nodes', 500)

async function check(): Promise<string[]> {
  // The consumer reads the schemas of the events from there.
  execFileSync('npm', ['run', '--silent', 'reference'])
  const broker = await prepareKafka(join(folder, 'kafka'))
  await broker.start()
  try {
    return await readThrough(broker.ports.plaintext)
  } finally {
    broker.kill()
  }
}

/** Returns what is wrong. */
async function readThrough(port: number): Promise<string[]> {
  await createTopic(port, 'events', 3)
  const data = join(folder, 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await startServer(['--data', data], { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1,localhost,::1' })
  const send = async (path: string, body: object | null, headers: object): Promise<Record<string, unknown>> => {
    const method = body === null ? {} : { method: 'POST', body: JSON.stringify(body) }
    const sent = { 'content-type': 'application/json', ...headers }
    const response = await fetch(`${server.url}${path}`, { headers: sent, ...method })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const configure = (path: string, body: object | null = null): Promise<Record<string, unknown>> =>
    send(`/configs/v1/${path}`, body, { authorization: `Bearer ${token}` })
  const project_id = (await configure('projects', { organization_id, name: 'fleet', region: 'local' })).id
  while ((await configure(`projects/${project_id}`)).ikg_status !== 'ACTIVE') await Bun.sleep(20)
  const application_id = (await configure('applications', { project_id, name: 'shop' })).id
  const agent = { application_id, name: 'shop-agent', api_permissions: ['Capture'] }
  const application_agent_id = (await configure('application-agents', agent)).id
  const key = (await configure('application-agent-credentials', { application_agent_id })).api_key
  const streaming_broker = { brokers: [`localhost:${port}`], topic: 'events', disable_tls: true }
  await configure('event-sinks', {
    project_id,
    name: 'events',
    providers: { kafka: { include_cdc_events: true, streaming_broker } },
    routes: ['svc.audit.capture.*', 'svc.audit.cdc.*'].map((event_type) => ({
      provider_id: 'kafka',
      event_type_key_values_filter: { event_type },
    })),
  })
  const consumer = Bun.spawn([process.execPath, consumerFile], {
    env: { PATH: process.env.PATH ?? '', KAFKA: `localhost:${port}`, TOPIC: 'events' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  try {
    for (let at = 0; at < nodes; at += 100) {
      const batch = Array.from({ length: Math.min(100, nodes - at) }, (_, i) => ({
        type: 'Car',
        external_id: `c${at + i}`,
      }))
      await send('/capture/v1/nodes', { nodes: batch }, { 'x-svc-clientkey': key })
    }
    return faultsIn(await linesOf(consumer.stdout))
  } finally {
    consumer.kill('SIGKILL')
  }
}

/** The lines until each element has its events, which may arrive more than once; or those that arrive in time. */
async function linesOf(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, WAIT_MS, null)
  let text = ''
  while (TYPES.some((type) => subjectsOf(linesIn(text), type).size < nodes)) {
    const part = await Promise.race([reader.read(), late])
    if (part === null || part.done) break
    text += decoder.decode(part.value, { stream: true })
  }
  clearTimeout(timer)
  return linesIn(text)
}

/** The complete lines. */
function linesIn(text: string): string[] {
  return text.split('\n').slice(0, -1)
}

function subjectsOf(lines: readonly string[], type: string): Set<string | undefined> {
  return new Set(lines.filter((line) => line.includes(` ${type} `)).map((line) => line.split(' ')[3]))
}

function faultsIn(lines: readonly string[]): string[] {
  const faults = lines.filter((line) => !line.endsWith(' valid')).slice(0, 10)
  for (const type of TYPES) {
    const { size } = subjectsOf(lines, type)
    if (size !== nodes) faults.push(`${type}: ${size} of ${nodes} elements`)
  }
  console.log(`${lines.length} events were read`)
  return faults
}

try {
  const faults = await check()
  for (const fault of faults) console.error(fault)
  console.log(faults.length === 0 ? 'every event arrived and is valid' : `${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
} catch (fault) {
  if (!(fault instanceof CounterpartMissing)) throw fault
  console.log(`skipped  kafka-consumer: ${fault.message.replaceAll('\n', ' ')}`)
} finally {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
}
