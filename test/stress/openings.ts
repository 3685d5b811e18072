// Opens a served folder again and again while three workers write to a plain and to a composite project and are stopped
// and killed. Nothing acknowledged is lost, every response is 200, or 503 of a lane that starts late, and the trees are
// valid. Verify, backup and export run concurrently.
// Run alone: bun test/stress/openings.ts [--seconds 60] [--seed N]
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { LmdbFile } from '../../src/store/lmdb/lmdb-file.ts'
import { openWhenUnwritten } from '../../src/store/lmdb/open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { constituentFolderName, projectFolderNameOrNull } from '../../src/store/tenancy/project-folders.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { childrenOf, descendantsOf } from '../support/child-processes.ts'
import { killAll, runCommand } from '../support/cli-process.ts'
import {
  connectionsTo,
  HttpConnection,
  makeProject,
  startWorkers,
  type WorkerFixture,
  type WorkerProject,
} from '../support/worker-fixture.ts'
import { CONNECTION } from './composite-served.ts'
import { numberAfter } from './flags.ts'
import { COMPOSITE_PARTS, Writers } from './openings-writers.ts'

const WORKERS = 3
const WRITERS = 4
/** A write waits for ten seconds before it is refused: no process is stopped for as long. */
const STOP_MAX_MS = 800
const LISTENING_TRIES = 1200
/** Writes before each kill: a busy machine starts workers late. */
const WRITES_PER_KILL = 20
/** A run that does less proves nothing: it continues, up to the limit. */
const LEAST = { acknowledged: 100, openings: 20, killed: 1, stopped: 1 }
const SECONDS_MAX = 600

interface OpenedServer {
  readonly fixture: WorkerFixture
  readonly data: string
  readonly plain: WorkerProject
  readonly composite: WorkerProject
}

export interface OpeningsOutcome {
  acknowledged: number
  refused: number
  cut: number
  openings: number
  commands: number
  stopped: number
  killed: number
  readonly faults: string[]
}

class OpeningsRun {
  readonly outcome: OpeningsOutcome = {
    acknowledged: 0,
    refused: 0,
    cut: 0,
    openings: 0,
    commands: 0,
    stopped: 0,
    killed: 0,
    faults: [],
  }
  private readonly served: OpenedServer
  private readonly random: Random
  private readonly untilMs: number
  private readonly limitMs: number
  private readonly writers: Writers

  constructor(served: OpenedServer, seconds: number, random: Random) {
    this.served = served
    this.random = random
    this.untilMs = performance.now() + seconds * 1000
    this.limitMs = this.untilMs + SECONDS_MAX * 1000
    this.writers = new Writers({
      url: served.fixture.server.url,
      plain: served.plain,
      composite: served.composite,
      isOver: () => this.isOver,
      fault: (what) => this.fault(what),
    })
  }

  async all(): Promise<void> {
    await Promise.all([this.writers.write(WRITERS), this.open(), this.command(), this.disturb()])
    const { acknowledged, refused, cut } = this.writers
    Object.assign(this.outcome, { acknowledged, refused, cut })
    if (!this.hasShown) this.fault(`the run shows nothing: ${JSON.stringify({ ...this.outcome, faults: [] })}`)
    const { fixture, data } = this.served
    // A replacement repairs what the previous worker left unfinished before it listens.
    await this.listening(fixture.server.url)
    await this.succeeds('verify', '--data', data)
    await fixture.close()
    await this.succeeds('verify', '--data', data)
    await this.writers.readAll(data)
  }

  /** Resolves when all workers answer. The last one that was killed may accept a connection before it ends. */
  private async listening(url: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        for (const line of (await connectionsTo(url, WORKERS, 1)).flat()) line.close()
        return
      } catch (failure) {
        if (tries === LISTENING_TRIES) throw failure
        await Bun.sleep(100)
      }
    }
  }

  private get isOver(): boolean {
    const now = performance.now()
    return (now > this.untilMs && (this.hasShown || now > this.limitMs)) || this.outcome.faults.length > 20
  }

  private get hasShown(): boolean {
    const { openings, killed, stopped } = this.outcome
    const done = { acknowledged: this.writers.acknowledged, openings, killed, stopped }
    return Object.entries(LEAST).every(([what, least]) => done[what as keyof typeof LEAST] >= least)
  }

  private fault(what: string): void {
    this.outcome.faults.push(what)
  }

  /** Like any program that reads next to a server. */
  private async open(): Promise<void> {
    const { data, plain, composite } = this.served
    const root = (project: WorkerProject) => join(data, 'projects', projectFolderNameOrNull(project.id)!)
    const folders = [
      join(root(plain), 'default'),
      ...COMPOSITE_PARTS.map((part) => join(root(composite), constituentFolderName(part))),
      join(data, 'config'),
    ]
    while (!this.isOver) {
      const folder = this.random.pick(folders)
      try {
        const file = await openWhenUnwritten(
          folder,
          () => new LmdbFile(folder, { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS }),
          COMMAND_LOCK_TIMEOUT_MS,
        )
        await file.close()
        this.outcome.openings += 1
      } catch (failure) {
        this.fault(`opening ${folder}: ${failure}`)
      }
      await Bun.sleep(0)
    }
  }

  private async command(): Promise<void> {
    const { data } = this.served
    const out = join(dirname(data), 'out')
    while (!this.isOver) {
      const name = this.random.pick(['verify', 'backup', 'export'])
      await this.succeeds(name, '--data', data, ...(name === 'verify' ? [] : ['--out', out]))
      rmSync(out, { force: true })
      rmSync(`${out}.audit`, { recursive: true, force: true })
      this.outcome.commands += 1
    }
  }

  private async succeeds(...args: readonly string[]): Promise<void> {
    const { exitCode, stdout, stderr } = await runCommand(args)
    if (exitCode !== 0) this.fault(`${args[0]} ended with ${exitCode}: ${stdout}${stderr}`)
  }

  private async disturb(): Promise<void> {
    const { pid } = this.served.fixture.server
    let writesBefore = 0
    while (!this.isOver) {
      await Bun.sleep(this.random.between(50, 500))
      const workers = childrenOf(pid).map((child) => child.pid)
      if (workers.length === 0) continue
      const victim = this.random.pick(workers)
      // A worker that crashes often is restarted later and later: the others write in the meantime.
      const mayKill = this.writers.acknowledged >= writesBefore + WRITES_PER_KILL
      if (workers.length === WORKERS && mayKill && this.random.odds(0.4)) {
        send('SIGKILL', victim)
        writesBefore = this.writers.acknowledged
        this.outcome.killed += 1
        continue
      }
      send('SIGSTOP', victim)
      await Bun.sleep(this.random.between(1, STOP_MAX_MS))
      send('SIGCONT', victim)
      this.outcome.stopped += 1
    }
  }
}

/** Containers are often given 64 MiB. */
function hasRoomInMemory(): boolean {
  if (!existsSync('/dev/shm')) return false
  const { bavail, bsize } = statfsSync('/dev/shm')
  return bavail * bsize > 2 ** 30
}

export async function openBesideWriters(seconds: number, seed: number): Promise<OpeningsOutcome> {
  // In memory if possible: the faster the commits, the more of them coincide with an opening.
  const folder = mkdtempSync(join(hasRoomInMemory() ? '/dev/shm' : tmpdir(), 'verdigraph-openings-'))
  const end = async (): Promise<void> => {
    // Workers too: one that is stopped or starting does not see that its supervisor is gone.
    for (const { pid } of descendantsOf(process.pid)) send('SIGKILL', pid)
    await killAll()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const interrupted = (): void => void end().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupted)
  try {
    const data = join(folder, 'data')
    const fixture = await startWorkers(data, WORKERS)
    const line = await HttpConnection.to(fixture.server.url)
    const plain = await makeProject(fixture, line, 'plain')
    const composite = await makeProject(fixture, line, 'composite', { db_connection: CONNECTION })
    line.close()
    const run = new OpeningsRun({ fixture, data, plain, composite }, seconds, new Random(seed))
    await run.all().catch((failure: unknown) => run.outcome.faults.push(String(failure)))
    return run.outcome
  } finally {
    await end()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted)
  }
}

function send(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended: a killed worker is a child until its parent waits for it.
  }
}

if (import.meta.main) {
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const outcome = await openBesideWriters(numberAfter('--seconds', 60), seed)
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.faults.length === 0 ? 0 : 1)
}
