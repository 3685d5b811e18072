// Measures passes of trust scoring: a first one that writes all scores, a second one on the same day that writes nothing, and the
// memory of the process. The graph is on disk and its commits are flushed.
// Run alone: bun test/stress/trust-passes.ts [--nodes 1000000] [--seconds 60] [--megabytes 256]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { ownMemory } from '../../src/processes/own-memory.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import { emptyReport } from '../../src/trust/report.ts'
import type { RunState } from '../../src/trust/run-state.ts'
import { ScoringPass } from '../../src/trust/scoring-pass.ts'
import { dimensionNames } from '../../src/trust/scoring-rules.ts'
import { numberAfter } from './flags.ts'

const PROPERTIES = 8
const LOAD_BATCH = 10_000

/** Fills a graph in a process of its own, whose memory does not count. */
async function load(path: string, nodes: number): Promise<void> {
  const store = openEnvironment(path, { clock: systemClock, sync: false, cacheBytes: 0 })
  for (let from = 0; from < nodes; from += LOAD_BATCH) {
    await store.bulkLoad((batch) => {
      for (let i = from; i < Math.min(nodes, from + LOAD_BATCH); i++) {
        const updatedMs = systemClock.now() - (i % 400) * 86_400_000
        const names = ['number', 'holder', 'issued_on', 'valid_until', 'city', 'street', 'phone', 'note']
        const properties = names.slice(0, PROPERTIES - (i % 10 === 0 ? 1 : 0)).map((name, k) => ({
          name,
          value: k === 2 ? '2024-05-01' : k === 3 ? `20${20 + (i % 20)}-05-01` : `${name} ${(i * 7919) % 1000}`,
          metadata: {
            source: ['registry', 'form', 'desk'][i % 3]!,
            ...(k % 2 === 0 && { verifiedTime: `2025-0${1 + (i % 9)}-01T00:00:00Z` }),
          },
        }))
        batch.upsertNode({ type: 'Licence', externalId: `licence-${i}`, properties }, { updatedMs })
      }
    })
  }
  await store.close()
}

interface Measured {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly scoresWritten: number
  readonly nodesScored: number
  /** The largest private memory of the process, in MiB. */
  readonly megabytes: number
}

/** One pass, in this process. */
async function pass(path: string, nodes: number): Promise<Measured> {
  const store = openEnvironment(path, { clock: systemClock, cacheBytes: 0 })
  let bytes = 0
  const look = (): void => {
    bytes = Math.max(bytes, ownMemory() ?? 0)
  }
  const timer = setInterval(look, 50)
  const startedMs = systemClock.now()
  const begun = performance.now()
  const cpu = process.cpuUsage()
  const state: RunState = {
    runId: 'run',
    startedMs,
    revision: 1,
    request: null,
    phase: 'count',
    scoringMs: startedMs,
    graph: 0,
    from: 0,
    nodesCounted: 0,
    propertyCounts: {},
    usual: [],
    nodesTotal: nodes,
    nodesScored: 0,
    scoresWritten: 0,
    scoresRemoved: 0,
    report: emptyReport,
  }
  const dimensions = dimensionNames.map((name) => ({ name, weight: 0.5 }))
  const deps = {
    graphs: [store],
    nodeType: 'Licence',
    options: { dimensions, sources: { registry: 0.9 } },
    clock: systemClock,
    save: async () => {
      look()
      return true
    },
  }
  const ended = (await new ScoringPass(deps, state).run()) as RunState
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(cpu)
  clearInterval(timer)
  look()
  await store.close()
  const { scoresWritten, nodesScored } = ended
  return { seconds, cpuSeconds: (user + system) / 1e6, scoresWritten, nodesScored, megabytes: bytes / 1024 / 1024 }
}

/** Runs this file with `words` in another process. Returns the JSON that it prints. */
async function inProcess(...words: readonly string[]): Promise<Measured> {
  const child = Bun.spawn([process.execPath, import.meta.path, ...words], { stdout: 'pipe', stderr: 'inherit' })
  const text = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`${words[0]} ended with ${child.exitCode}`)
  return JSON.parse(text)
}

async function main(): Promise<number> {
  const nodes = numberAfter('--nodes', 1_000_000)
  const secondsMax = numberAfter('--seconds', Number.POSITIVE_INFINITY)
  const megabytesMax = numberAfter('--megabytes', 256)
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-trust-passes-'))
  try {
    const path = join(folder, 'graph')
    await inProcess('load', path, String(nodes))
    const first = await inProcess('pass', path, String(nodes))
    const second = await inProcess('pass', path, String(nodes))
    console.log(JSON.stringify({ nodes, properties: PROPERTIES, first, second }, null, 2))
    const faults = [
      ...(first.scoresWritten === nodes ? [] : [`the first pass wrote ${first.scoresWritten} scores`]),
      ...(second.nodesScored === nodes ? [] : [`the second pass scored ${second.nodesScored} nodes`]),
      ...(second.scoresWritten === 0 ? [] : [`the second pass wrote ${second.scoresWritten} scores`]),
      ...(first.seconds <= secondsMax ? [] : [`the first pass took ${first.seconds} s`]),
      ...(Math.max(first.megabytes, second.megabytes) <= megabytesMax ? [] : ['a pass took too much memory']),
    ]
    for (const fault of faults) console.error(fault)
    return faults.length === 0 ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const [command, path = '', nodes = '0'] = process.argv.slice(2)
  if (command === 'load') await load(path, Number(nodes)).then(() => console.log('{}'))
  else if (command === 'pass') console.log(JSON.stringify(await pass(path, Number(nodes))))
  else process.exit(await main())
}
