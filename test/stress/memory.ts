// The memory of the served process and its helper processes: before memory-intensive requests, the maximum during them,
// and afterwards, when it must return to one and a half times the value before.
// Run alone: bun test/stress/memory.ts [--small] [--scene bodies] [--seconds 8] [--settle 60] [--list]
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killAll } from '../support/cli-process.ts'
import { hasFlag, numberAfter, textsAfter } from './flags.ts'
import {
  type DEAR_QUERIES,
  descendantsOf,
  type IsolationFixture,
  prepareWorld,
  residentBytes,
  SIZES,
  SMALL_SIZES,
  serveWorld,
} from './isolation/fixture.ts'

/** Memory afterwards relative to before. */
const FACTOR = 1.5
const SAMPLE_MS = 50
const BODY_BYTES = 4 * 1024 * 1024

const seconds = numberAfter('--seconds', 8)
const settleSeconds = numberAfter('--settle', 60)

interface MemoryLoad {
  readonly about: string
  run(fixture: IsolationFixture, isOver: () => boolean): Promise<string>
}

/** How the requests ended, by status. */
class Statuses {
  private readonly counts = new Map<string, number>()

  add(status: number | string): void {
    this.counts.set(String(status), (this.counts.get(String(status)) ?? 0) + 1)
  }

  text(): string {
    return [...this.counts].map(([status, count]) => `${status} ×${count}`).join(', ') || 'no answers'
  }
}

function post(fixture: IsolationFixture, path: string, body: string): Promise<Response> {
  const headers = { 'x-svc-clientkey': fixture.hostile.key, 'content-type': 'application/json' }
  return fetch(`${fixture.url}${path}`, { method: 'POST', headers, body, signal: AbortSignal.timeout(30_000) })
}

/** Repeats the same request from so many concurrent callers. */
function floods(callers: number, path: string, make: (fixture: IsolationFixture) => string): MemoryLoad['run'] {
  return async (fixture, isOver) => {
    const statuses = new Statuses()
    const body = make(fixture)
    const call = async (): Promise<void> => {
      while (!isOver()) {
        try {
          const response = await post(fixture, path, body)
          // Responses of tens of megabytes are read and dropped.
          if (response.body !== null) for await (const _ of response.body) if (isOver()) break
          statuses.add(response.status)
          if (response.status === 503) await Bun.sleep(50)
        } catch (fault) {
          statuses.add(fault instanceof Error ? fault.name : 'fault')
        }
      }
    }
    await Promise.all(Array.from({ length: callers }, call))
    return statuses.text()
  }
}

const question = (input: string): string =>
  `{"subject":{"type":"Person","id":"h0"},"action":{"name":"read"},"resource":{"type":"Page","id":"c0"},"context":{"input_params":{"input":${input}}}}`

const repeated = (item: string): string => {
  const count = Math.floor((BODY_BYTES - 1024) / (item.length + 1))
  return question(`[${Array.from({ length: count }, () => item).join(',')}]`)
}

const execution =
  (name: keyof typeof DEAR_QUERIES, input_params: object, more: object = {}) =>
  (fixture: IsolationFixture) =>
    JSON.stringify({ id: fixture.hostile.queries[name], input_params, ...more })

/** Connections that each send all but the end of a body, and then nothing. */
async function unfinishedBodies(fixture: IsolationFixture, isOver: () => boolean): Promise<string> {
  const { hostname, port } = new URL(fixture.url)
  const piece = Buffer.alloc(64 * 1024, 'a')
  const bytes = Math.floor(BODY_BYTES * 0.975)
  const head = `POST /access/v1/evaluation HTTP/1.1\r\nhost: one\r\nx-svc-clientkey: ${fixture.hostile.key}\r\ncontent-type: application/json\r\ncontent-length: ${BODY_BYTES}\r\n\r\n{"a":"`
  const statuses = new Statuses()
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port) })
      let left = bytes
      const send = (): void => {
        while (left > 0) {
          left -= piece.length
          if (!socket.write(piece)) return
        }
      }
      let isAnswered = false
      socket.on('connect', () => {
        socket.write(head)
        send()
      })
      socket.on('drain', send)
      socket.on('data', (answer: Buffer) => {
        if (!isAnswered) statuses.add(/^HTTP\/1\.1 (\d{3})/.exec(answer.toString('latin1'))?.[1] ?? 'no status')
        isAnswered = true
      })
      socket.on('error', () => undefined)
      const timer = setInterval(() => {
        if (isOver()) socket.destroy()
      }, 100)
      socket.on('close', () => {
        clearInterval(timer)
        if (!isAnswered) statuses.add(left <= 0 ? 'sent all but the end' : 'not sent')
        resolve()
      })
    })
  await Promise.all(Array.from({ length: 300 }, one))
  return statuses.text()
}

const scenes: Readonly<Record<string, MemoryLoad>> = {
  bodies: { about: '300 connections with 3.9 of 4 MB of a body each', run: unfinishedBodies },
  numbers: {
    about: 'four connections with bodies of two million numbers',
    run: floods(4, '/access/v1/evaluation', () => repeated('1')),
  },
  objects: {
    about: 'four connections with bodies of half a million objects',
    run: floods(4, '/access/v1/evaluation', () => repeated('{"a":1}')),
  },
  answers: {
    about: 'four callers of an answer of 60 MB',
    run: floods(4, '/contx-iq/v1/execute', execution('all', { text: 'x'.repeat(6000) }, { page_size: 10_000 })),
  },
  collect: {
    about: 'four callers of collect over long texts',
    run: floods(4, '/contx-iq/v1/execute', execution('collect', { text: 'x'.repeat(4000) })),
  },
  distinct: {
    about: 'four callers of count(DISTINCT) over long texts',
    run: floods(4, '/contx-iq/v1/execute', execution('distinct', { text: 'x'.repeat(4000) })),
  },
  sort: {
    about: 'four callers of a sort of 1.9 million rows',
    run: floods(4, '/contx-iq/v1/execute', execution('sort', {})),
  },
}

if (hasFlag('--list')) {
  for (const [name, { about }] of Object.entries(scenes)) console.log(`${name.padEnd(9)} ${about}`)
  process.exit(0)
}
const chosen = textsAfter('--scene')
const unknown = chosen.filter((name) => !Object.hasOwn(scenes, name))
if (unknown.length > 0) {
  console.error(`unknown scene: ${unknown.join(', ')}; --list prints all`)
  process.exit(2)
}

/** Bytes of the served process, and of its helper processes together. */
function held(pid: number): readonly [number, number] {
  const helpers = descendantsOf(pid).reduce((sum, child) => sum + residentBytes(child.pid), 0)
  return [residentBytes(pid), helpers]
}

const mebibytes = ([own, helpers]: readonly [number, number]): string => {
  const shown = (bytes: number): string => String(Math.round(bytes / 2 ** 20))
  return helpers === 0 ? shown(own) : `${shown(own)}+${shown(helpers)}`
}
const total = ([own, helpers]: readonly [number, number]): number => own + helpers

/** Small requests of the same kinds: starts helper processes and compiles what is needed. */
async function warmUp(fixture: IsolationFixture): Promise<void> {
  const endMs = performance.now() + 3000
  do {
    await (await post(fixture, '/access/v1/evaluation', question('[1]'))).arrayBuffer()
    for (const name of ['all', 'collect', 'distinct', 'count'] as const) {
      const body = JSON.stringify({ id: fixture.hostile.queries[name], input_params: { text: 'x' }, page_size: 10 })
      await (await post(fixture, '/contx-iq/v1/execute', body)).arrayBuffer()
    }
  } while (performance.now() < endMs)
}

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-memory-'))
const hung = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
const failures: string[] = []
try {
  const prepared = await prepareWorld(folder, hasFlag('--small') ? SMALL_SIZES : SIZES, hung.port)
  console.log('resident memory in MiB, of the served process + its helper processes')
  console.log(`${'scene'.padEnd(10)} ${'before'.padStart(10)} ${'at most'.padStart(12)} ${'after'.padStart(10)}  ratio`)
  for (const [name, { run }] of Object.entries(scenes)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const { server, fixture } = await serveWorld(prepared)
    await warmUp(fixture)
    await Bun.sleep(2000)
    const before = held(server.pid)
    let most = before
    const sample = (): void => {
      const now = held(server.pid)
      if (total(now) > total(most)) most = now
    }
    const sampler = setInterval(sample, SAMPLE_MS)
    const endMs = performance.now() + seconds * 1000
    // Requests in progress at the end have at most 30 seconds.
    const ended = await run(fixture, () => performance.now() > endMs)
    const startMs = performance.now()
    let after = held(server.pid)
    while (total(after) > total(before) * FACTOR && performance.now() < startMs + settleSeconds * 1000) {
      await Bun.sleep(500)
      after = held(server.pid)
    }
    clearInterval(sampler)
    const ratio = total(after) / total(before)
    const settled = ((performance.now() - startMs) / 1000).toFixed(0)
    console.log(
      `${name.padEnd(10)} ${mebibytes(before).padStart(10)} ${mebibytes(most).padStart(12)} ${mebibytes(after).padStart(10)}  ${ratio.toFixed(2)} after ${settled} s; ${ended}`,
    )
    if (ratio > FACTOR) failures.push(`${name}: ${ratio.toFixed(2)} times of before, bar ${FACTOR}`)
    const health = await fetch(`${server.url}/health`, { signal: AbortSignal.timeout(10_000) }).catch(() => null)
    if (health?.status !== 200) failures.push(`${name}: the server does not answer any more`)
    await server.kill('SIGKILL')
  }
} finally {
  hung.stop(true)
  await killAll()
  rmSync(folder, { recursive: true, force: true })
}
for (const failure of failures) console.log(`above its bar: ${failure}`)
process.exit(failures.length === 0 ? 0 : 1)
