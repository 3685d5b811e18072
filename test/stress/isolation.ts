// Measures whether one tenant can delay another: the decisions of a steady tenant while a hostile tenant applies each
// load of a table, and then eight loads at once. The served process is a black box over HTTP.
// Run alone: bun test/stress/isolation.ts [--short] [--seconds 6] [--scene "query trails"] [--tries N] [--seed N]
// [--list]

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stressSeed } from '../generate/random.ts'
import { killAll, type Server } from '../support/cli-process.ts'
import { hasFlag, numberAfter, textsAfter } from './flags.ts'
import { prepareScene, SteadyDriver } from './isolation/drivers.ts'
import { type IsolationFixture, prepareWorld, SIZES, SMALL_SIZES, serveWorld } from './isolation/fixture.ts'
import type { HostileLoad } from './isolation/hostile-load.ts'
import type { HostileResult, RequestOutcome } from './isolation/hostile-tenant.ts'
import { type HostileLoadName, sceneNames, sceneOf } from './isolation/loads.ts'
import { RATE, type SteadyResult } from './isolation/steady-tenant.ts'

/**
 * The short form uses factors: the longest stall relative to the baseline of the same run, which counts as at least
 * this value. The baseline is the median of the run, because a single stall of a busy machine would distort the factor
 * tenfold.
 */
const BASELINE_MIN_MS = 20
const SHORT_FACTOR = 10
/** After this many loads the baseline is measured again. */
const SCENES_PER_BASELINE = 9
/** How long to wait for missing responses at the end of a load; then the server is killed. */
const WAIT_MS = 60_000
/** A response may be this much later than the limit of its request. */
const OVERRUN_MS = 250

interface IsolationRow {
  readonly name: string
  readonly steady: SteadyResult
  readonly hostile: HostileResult | null
  readonly isKilled: boolean
}

const isShort = hasFlag('--short')
const seconds = numberAfter('--seconds', isShort ? 2 : 6)
/** A machine with other work has stalls of its own: a missed limit is measured again. */
const tries = numberAfter('--tries', isShort ? 3 : 2)
const seed = numberAfter('--seed', stressSeed())

if (hasFlag('--list')) {
  for (const name of sceneNames) console.log(`${name}${sceneOf(name).isShort ? ' (short form too)' : ''}`)
  process.exit(0)
}

const chosen = textsAfter('--scene')
const unknown = chosen.filter((name) => !sceneNames.some((known) => known === name))
if (unknown.length > 0) {
  console.error(`unknown scene: ${unknown.join(', ')}; --list prints all`)
  process.exit(2)
}
const names = sceneNames.filter((name) =>
  chosen.length > 0 ? chosen.includes(name) : !isShort || sceneOf(name).isShort === true,
)

type ServerOptions = Pick<HostileLoad, 'flags' | 'environment'>

class IsolationRun {
  private readonly folder: string
  private readonly prepared: Awaited<ReturnType<typeof prepareWorld>>
  private readonly steady: SteadyDriver
  private server: Server | null = null
  private fixture: IsolationFixture | null = null
  /** Flags and environment of the server, as text. */
  private options = ''

  static async start(folder: string, hungPort: number): Promise<IsolationRun> {
    const prepared = await prepareWorld(folder, isShort ? SMALL_SIZES : SIZES, hungPort)
    return new IsolationRun(folder, prepared)
  }

  private constructor(folder: string, prepared: Awaited<ReturnType<typeof prepareWorld>>) {
    this.folder = folder
    this.prepared = prepared
    this.steady = new SteadyDriver(seed)
  }

  private async served({ flags = [], environment = {} }: ServerOptions): Promise<IsolationFixture> {
    const options = JSON.stringify([flags, environment])
    if (this.fixture !== null && this.options === options) return this.fixture
    await this.stopServer()
    const more = Object.entries(environment).map(([name, value]) => [name, value.replace('{folder}', this.folder)])
    const { server, fixture } = await serveWorld(this.prepared, Object.fromEntries(more), flags)
    this.server = server
    this.fixture = fixture
    this.options = options
    await this.steady.open(fixture)
    // The first lane starts on demand; its start counts as waiting time, not as time of a request.
    const headers = { authorization: `Bearer ${fixture.admin}` }
    await fetch(`${fixture.url}/configs/v1/organizations/current`, { headers })
    // Compilation and first reads happen before the first measurement.
    await this.steady.start()
    await Bun.sleep(1000)
    await this.steady.stop(WAIT_MS)
    return fixture
  }

  private async stopServer(): Promise<void> {
    const { server } = this
    this.server = null
    this.fixture = null
    await server?.kill('SIGKILL')
  }

  async baseline(options: ServerOptions = {}): Promise<IsolationRow> {
    await this.served(options)
    await this.steady.start()
    await Bun.sleep(seconds * 1000)
    return { name: 'nothing', steady: await this.steady.stop(WAIT_MS), hostile: null, isKilled: false }
  }

  async scene(name: HostileLoadName): Promise<IsolationRow> {
    const fixture = await this.served(sceneOf(name))
    const folder = join(this.folder, 'scene')
    mkdirSync(folder, { recursive: true })
    const prepared = await prepareScene({ fixture, scene: name, seconds, folder })
    try {
      await this.steady.start()
      const running = prepared.run(seconds)
      await Bun.sleep(seconds * 1000)
      const steady = await this.steady.stop(WAIT_MS)
      const hostile = await running
      const isKilled = steady.unanswered > 0
      if (isKilled) await this.stopServer()
      return { name, steady, hostile, isKilled }
    } finally {
      await prepared.end()
      rmSync(folder, { recursive: true, force: true })
      // Cleans up after the load before the next one is measured.
      await Bun.sleep(300)
    }
  }

  async end(): Promise<void> {
    await this.steady.end()
    await this.stopServer()
  }
}

// -- table

const WIDTHS = [26, 7, 8, 9, 8, 8, 7, 7]

function line(cells: readonly (string | number)[]): string {
  const [first = '', ...rest] = cells.map(String)
  const padded = rest.map((cell, i) => (i + 1 < WIDTHS.length ? cell.padStart(WIDTHS[i + 1] ?? 0) : cell))
  return [first.padEnd(WIDTHS[0] ?? 0), ...padded].join('  ')
}

const ms = (value: number): string => (value < 10 ? value.toFixed(1) : String(Math.round(value)))

/** How the requests of the hostile tenant ended: by error and status, how many, and their times. */
export function endedAs(outcomes: readonly RequestOutcome[]): string {
  const groups = Map.groupBy(outcomes, ({ what, status }) => `${what} ${status === 0 ? 'no answer' : status}`)
  return [...groups]
    .map(([name, group]) => {
      const times = group.map((outcome) => outcome.ms).toSorted((a, b) => a - b)
      const text =
        group
          .find((outcome) => outcome.text !== '')
          ?.text.replace(/\s+/g, ' ')
          .slice(0, 90) ?? ''
      const shown = `${name} ×${group.length} ${ms(times[times.length >> 1] ?? 0)}..${ms(times.at(-1) ?? 0)} ms`
      return text === '' ? shown : `${shown} ${text}`
    })
    .join('; ')
}

/** How much longer than its limit a single request took, at most. */
function overrunMs(hostile: HostileResult | null): number {
  return Math.max(0, ...(hostile?.outcomes ?? []).map((one) => (one.limitMs === null ? 0 : one.ms - one.limitMs)))
}

function print({ name, steady, hostile, isKilled }: IsolationRow, baselineMs: number): void {
  const { p50, p99, longest, healthLongest, errors, wrong, driverLate } = steady
  const ratio = baselineMs === 0 ? '' : `${(longest / baselineMs).toFixed(1)}x`
  const bad = wrong > 0 ? `${errors}+${wrong}!` : errors
  console.log(line([name, ms(p50), ms(p99), ms(longest), ratio, ms(healthLongest), bad, ms(driverLate)]))
  if (hostile === null) return
  const notes = [endedAs(hostile.outcomes), ...hostile.notes, ...(isKilled ? ['the server was killed'] : [])]
  console.log(`    ${notes.filter((note) => note !== '').join('; ')}`)
}

function barOf(name: HostileLoadName, baselineMs: number): number {
  return isShort ? Math.max(baselineMs, BASELINE_MIN_MS) * SHORT_FACTOR : baselineMs + sceneOf(name).bar
}

/** Failures of a load that no other work of the machine explains. */
function wrongOf({ name, steady }: IsolationRow): string[] {
  return steady.wrong > 0 ? [`${name}: ${steady.wrong} wrong decisions`] : []
}

/** Missed limits of a load; empty if it passes. */
function faultsOf({ name, steady, hostile }: IsolationRow, baselineMs: number): string[] {
  const scene = sceneOf(name as HostileLoadName)
  const bar = barOf(name as HostileLoadName, baselineMs)
  const faults: string[] = []
  if (steady.longest > bar) faults.push(`longest stall ${ms(steady.longest)} ms, bar ${ms(bar)} ms`)
  if (steady.errors > (scene.errorsMax ?? 0)) faults.push(`${steady.errors} errors of the steady tenant`)
  const overrun = overrunMs(hostile)
  const overrunMax = isShort ? OVERRUN_MS * 4 : OVERRUN_MS
  if (overrun > overrunMax) faults.push(`a request ended ${ms(overrun)} ms after its limit, bar ${overrunMax} ms`)
  const failed = hostile?.notes.find((note) => note.startsWith('the scene failed'))
  if (failed !== undefined) faults.push(failed)
  return faults
}

console.log(`seed ${seed}; ${RATE} decisions per second of the steady tenant, ${seconds} s for each scene; times in ms`)
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-isolation-'))
const hung = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
const startMs = performance.now()
const failures: string[] = []
let baselineMs = 0
const baselines: number[] = []
try {
  const run = await IsolationRun.start(folder, hung.port)
  console.log(`prepared in ${((performance.now() - startMs) / 1000).toFixed(1)} s`)
  console.log(line(['hostile tenant does', 'p50', 'p99', 'longest', 'ratio', 'health', 'errors', 'driver']))
  const baseline = async (options?: ServerOptions): Promise<void> => {
    const row = await run.baseline(options)
    failures.push(...wrongOf(row))
    baselines.push(row.steady.longest)
    const sorted = baselines.toSorted((a, b) => a - b)
    baselineMs = (isShort ? sorted[sorted.length >> 1] : sorted.at(-1)) ?? 0
    print(row, baselineMs)
  }
  const rows: IsolationRow[] = []
  try {
    for (const [i, name] of names.entries()) {
      const scene: ServerOptions = sceneOf(name)
      const hasOwnServer = scene.flags !== undefined || scene.environment !== undefined
      if (i % SCENES_PER_BASELINE === 0 || hasOwnServer) await baseline(scene)
      const row = await run.scene(name)
      print(row, baselineMs)
      failures.push(...wrongOf(row))
      rows.push(row)
    }
    await baseline()
    const missed = rows.filter((row) => faultsOf(row, baselineMs).length > 0)
    for (const row of missed) {
      let best = faultsOf(row, baselineMs)
      for (let done = 1; done < tries && best.length > 0; done++) {
        console.log('again:')
        // The machine as it is now: a stall counts if it is long in comparison with those without a hostile tenant.
        const now = await run.baseline(sceneOf(row.name as HostileLoadName))
        const nowMs = isShort ? Math.max(baselineMs, now.steady.longest) : baselineMs
        print(now, nowMs)
        failures.push(...wrongOf(now))
        const again = await run.scene(row.name as HostileLoadName)
        print(again, nowMs)
        failures.push(...wrongOf(again))
        const faults = faultsOf(again, nowMs)
        if (faults.length < best.length || faults.length === 0) best = faults
      }
      failures.push(...best.map((fault) => `${row.name}: ${fault}`))
    }
  } finally {
    await run.end()
  }
} finally {
  hung.stop(true)
  await killAll()
  rmSync(folder, { recursive: true, force: true })
}
console.log(
  `baseline: longest stall ${ms(baselineMs)} ms; ${isShort ? `bar: ${SHORT_FACTOR} times that, and of at least ${BASELINE_MIN_MS} ms` : 'bars: that and 30 to 50 ms'}`,
)
for (const failure of failures) console.log(`failed: ${failure}`)
console.log(
  `${names.length} scenes, ${failures.length} faults, ${Math.round((performance.now() - startMs) / 1000)} seconds`,
)
process.exit(failures.length === 0 ? 0 : 1)
