// What does an idle service cost? Starts `serve` on a new data folder, waits until it has settled, and counts the wake-ups of all its
// processes and their memory. Then measures how soon another process sees a commit.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommitWaiter } from '../../src/store/process/commit-waiter.ts'
import { childrenOf } from '../../test/support/child-processes.ts'
import { type Bench, mustEqual, round } from '../harness.ts'
import { cpuUs, endAll, listening, top } from '../http/processes.ts'

const KIBIBYTES_PER_MIB = 1024
const US_PER_S = 1e6
/** Longer than a waiter pauses after a commit: each is the first after a quiet time. */
const QUIET_MS = 60
/** The flags of `serve` that are measured. */
const cases: readonly (readonly string[])[] = [[], ['--workers', '2']]

export const idle: Bench = {
  name: 'idle',
  question: 'the wake-ups and the memory of an idle service, and the time until another process sees a commit',
  async run({ small, report }) {
    if (process.platform !== 'linux') throw new Error('the bench reads /proc of Linux')
    const [settleMs, countMs] = small ? [2000, 2000] : [40_000, 20_000]
    for (const flags of cases) {
      const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-idle-'))
      const children: Bun.Subprocess[] = []
      try {
        const data = join(folder, 'data')
        const { pid } = await listening(['src/main.ts', 'serve', '--data', data, '--port', '0', ...flags], children)
        await Bun.sleep(settleMs)
        const before = treeOf(pid).map((each) => ({ each, wakeUps: wakeUpsOf(each.pid), cpu: cpuUs(each.pid) ?? 0 }))
        const startMs = performance.now()
        await Bun.sleep(countMs)
        const seconds = (performance.now() - startMs) / 1000
        const after = before.map(({ each, wakeUps, cpu }) => ({
          ...each,
          wakeUpsPerS: newWakeUps(wakeUps, wakeUpsOf(each.pid)) / seconds,
          cpuPercent: (((cpuUs(each.pid) ?? 0) - cpu) / US_PER_S / seconds) * 100,
          ...memoryOf(each.pid),
        }))
        mustEqual('the number of processes', treeOf(pid).length, before.length)
        const sum = (values: readonly number[]): number => round(values.reduce((total, value) => total + value, 0))
        const name = ['serve', ...flags].join(' ')
        for (const { role, wakeUpsPerS, cpuPercent, rssMib, pssMib } of after)
          report.line({
            service: name,
            process: role,
            wake_ups_per_s: round(wakeUpsPerS),
            cpu_percent: round(cpuPercent),
            rss_mib: rssMib,
            pss_mib: pssMib,
          })
        report.line({
          service: name,
          processes: after.length,
          wake_ups_per_s: sum(after.map(({ wakeUpsPerS }) => wakeUpsPerS)),
          pss_mib: sum(after.map(({ pssMib }) => pssMib)),
        })
      } finally {
        await endAll(children)
        rmSync(folder, { recursive: true, force: true })
      }
    }
    for (const usesReports of [true, false]) {
      const times = await latencies(usesReports, small ? 20 : 500)
      const at = (share: number): number => round(times[Math.min(times.length - 1, Math.floor(times.length * share))]!)
      const waits = usesReports ? 'reports of writes' : 'reads of the count'
      report.line({ commit_seen_by: waits, commits: times.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) })
    }
  },
}

/** Milliseconds from a commit of another process to the look at it, in order. */
async function latencies(usesReports: boolean, count: number): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-idle-'))
  const program = join(top, 'bench/processes/commit-times.ts')
  const child = Bun.spawn([process.execPath, program, folder], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const times: number[] = []
  let seenMs = 0
  const waiter = new CommitWaiter(folder, { usesReports, beatMs: Number.POSITIVE_INFINITY })
  const subscription = waiter.subscribe(() => {
    seenMs ||= performance.timeOrigin + performance.now()
  })
  try {
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
    for (let number = 0; number < count; number++) {
      await Bun.sleep(QUIET_MS + Math.random() * QUIET_MS)
      seenMs = 0
      child.stdin.write('commit\n')
      child.stdin.flush()
      const { value } = await lines.read()
      mustEqual('whether the commit was seen', await waiter.until(() => seenMs > 0, 10_000), true)
      times.push(seenMs - Number(value))
    }
  } finally {
    subscription.close()
    await endAll([child])
    rmSync(folder, { recursive: true, force: true })
  }
  return times.sort((a, b) => a - b)
}

interface ServiceProcess {
  readonly pid: number
  readonly role: string
}

/** The process and all below it. */
function treeOf(pid: number, role = 'serve'): readonly ServiceProcess[] {
  const below = childrenOf(pid).flatMap((child) => {
    const at = child.words.findIndex((word) => word.endsWith('src/main.ts'))
    return treeOf(child.pid, child.words[at + 1] ?? 'other')
  })
  return [{ pid, role }, ...below]
}

/** How often each thread has gone to sleep so far. */
function wakeUpsOf(pid: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      found.set(thread, fieldOf(`/proc/${pid}/task/${thread}/status`, 'voluntary_ctxt_switches'))
    } catch {
      // The thread has ended.
    }
  }
  return found
}

function newWakeUps(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  return [...after].reduce((sum, [thread, count]) => sum + count - (before.get(thread) ?? 0), 0)
}

function memoryOf(pid: number): { readonly rssMib: number; readonly pssMib: number } {
  const mib = (name: string): number => round(fieldOf(`/proc/${pid}/smaps_rollup`, name) / KIBIBYTES_PER_MIB)
  return { rssMib: mib('Rss'), pssMib: mib('Pss') }
}

function fieldOf(path: string, name: string): number {
  const found = new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(readFileSync(path, 'latin1'))
  if (found === null) throw new Error(`${path} has no field ${name}`)
  return Number(found[1])
}
