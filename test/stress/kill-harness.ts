// Kills processes of a service with kill -9, and compares the stored data with a model of the acknowledged changes. Each program of kills is
// a model: its load, the moment of a kill, and the comparison. This file has the rest: the folder, starts and stops, the search for the
// process to kill, seeds, flags and the report.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Snapshot } from '../../src/engine/store.ts'
import { PROJECTS_FOLDER } from '../../src/kernel/folder/data-folder.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { type Catalog, openCatalog } from '../../src/store/tenancy/catalog.ts'
import { projectFolderName } from '../../src/store/tenancy/project-folders.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { descendantsOf, killProcess } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { configure, createFleet } from '../support/fleet.ts'
import { RepeatedReads } from '../support/repeated-reads.ts'
import { numberAfter } from './flags.ts'

/** A child process that was killed, or is not needed yet, is started within this time. */
const CHILD_LIMIT_MS = 60_000
const FAULTS_SHOWN = 20

/** One subject of kills. All methods may add faults to the run. */
export interface KillModel<Figures extends object> {
  /** Settings of the service. */
  readonly settings?: Record<string, string>
  /** Arguments of `serve` after the folder. */
  readonly serveArguments?: readonly string[]
  /** The numbers of the rounds begin with it: 1, or 0 for a round in front of the others that measures and kills nothing. */
  readonly firstRound?: 0 | 1
  /** Creates what all rounds need. The service runs. */
  prepare(run: KillRun): Promise<void>
  /**
   * Puts load on the service, kills a part of it at a random moment, and compares what is stored then. Afterwards the service runs.
   * Returns a line about the round.
   */
  round(run: KillRun, round: number): Promise<string>
  /** After the last round, while the service runs: waits until it has done what it does later. */
  settle?(run: KillRun): Promise<void>
  /** After a clean end of the service: compares its folder. */
  compare?(run: KillRun): Promise<void>
  /** The counts of the report. */
  figures(): Figures
  /** Ends readers and further programs, also after a failure. */
  close?(): void
}

/** The length of a run. */
export interface KillRunOptions {
  readonly rounds: number
  readonly seed: number
  readonly note?: (line: string) => void
}

/** The report of a run: the counts of the model, the kills by the killed part, and the faults; none: all is as the model expects. */
export type KillReport<Figures> = Figures & {
  readonly kills: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

/** Runs all rounds of a model on a new folder. */
export async function killRounds<Figures extends object>(
  model: KillModel<Figures>,
  { rounds, seed, note = () => undefined }: KillRunOptions,
): Promise<KillReport<Figures>> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-kills-'))
  const run = new KillRun(folder, seed, model.settings ?? {}, model.serveArguments ?? [])
  try {
    await run.begin()
    await model.prepare(run)
    for (let round = model.firstRound ?? 1; round <= rounds; round++) {
      const faultsBefore = run.faults.length
      const line = await model.round(run, round)
      for (let i = faultsBefore; i < run.faults.length; i++) run.faults[i] = `round ${round}: ${run.faults[i]}`
      note(`round ${round}: ${line}`)
    }
    await model.settle?.(run)
    run.endReaders()
    await run.stop()
    await model.compare?.(run)
    const verified = await runCommand(['verify', '--data', run.data])
    if (verified.exitCode !== 0) run.faults.push(`verify: ${verified.stdout}`)
    return { ...model.figures(), kills: run.kills, faults: run.faults }
  } finally {
    model.close?.()
    await run.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs a model as a program: flags, seed, report and exit code. `rounds`: if the flag is missing. */
export async function killProgram<Figures extends object>(model: KillModel<Figures>, rounds: number): Promise<never> {
  const given = numberAfter('--seed', Number.NaN)
  const seed = Number.isNaN(given) ? stressSeed() : given
  console.log(`seed ${seed}`)
  const options = { rounds: numberAfter('--rounds', rounds), seed, note: (line: string) => console.log(line) }
  const { faults, ...outcome } = await killRounds(model, options)
  console.log(JSON.stringify(outcome, null, 2))
  for (const fault of faults.slice(0, FAULTS_SHOWN)) console.error(fault)
  process.exit(faults.length === 0 ? 0 : 1)
}

/** A load that a kill interrupts. */
export interface KillLoad {
  /** Requests, or what else is counted, so far. */
  readonly sent: number
  /** Sends until so many were sent or the server is gone. Calls `onSent` for each request. */
  run(server: Server, random: Random, until: number, onSent: () => void): Promise<void>
}

/** The service of a run: one folder, and one serving process after another. */
export class KillRun {
  /** For what the model stores next to the data folder. */
  readonly folder: string
  readonly data: string
  readonly seed: number
  readonly random: Random
  readonly faults: string[] = []
  readonly kills: Record<string, number> = {}
  /** Of the first service account. */
  token = ''
  organizationId = ''
  private readonly settings: Record<string, string>
  private readonly serveArguments: readonly string[]
  private readonly readers: { readonly torn: readonly string[]; stop(): void }[] = []
  private running: Server | null = null

  constructor(folder: string, seed: number, settings: Record<string, string>, serveArguments: readonly string[]) {
    this.folder = folder
    this.data = join(folder, 'data')
    this.seed = seed
    this.random = new Random(seed)
    this.settings = settings
    this.serveArguments = serveArguments
  }

  /** The serving process. One that was started again has another port. */
  get server(): Server {
    if (this.running === null) throw new Error('the service does not run')
    return this.running
  }

  get headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' }
  }

  async begin(): Promise<void> {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', this.data, '--json'])).stdout)
    this.token = token
    this.organizationId = organization_id
    await this.start()
  }

  /** Resolves when the service listens. */
  async start(): Promise<void> {
    this.running = await startServer(['--data', this.data, ...this.serveArguments], this.settings)
  }

  /** Ends the service as an operator does. */
  async stop(): Promise<void> {
    const ended = await this.running?.kill('SIGTERM')
    if (ended !== 0) this.faults.push(`the service ended with ${ended}`)
    this.running = null
  }

  /** Ends what still runs. */
  async end(): Promise<void> {
    this.endReaders()
    await this.running?.kill('SIGKILL')
  }

  endReaders(): void {
    for (const reader of this.readers.splice(0)) {
      reader.stop()
      this.faults.push(...reader.torn)
    }
  }

  /** Starts a reader of the graph of a project. */
  readGraph<Expected>(projectId: string, compare: FindingsOf<Expected>): ModelReader<Expected> {
    const reader = new ModelReader(join(this.data, PROJECTS_FOLDER, projectFolderName(projectId), 'default'), compare)
    this.readers.push(reader)
    return reader
  }

  /** Kills the serving process, and starts it again unless `starts` is false. */
  async killService(starts = true): Promise<void> {
    this.count('service')
    await this.server.kill('SIGKILL')
    if (starts) await this.start()
  }

  /**
   * Kills a process below the serving one. `word`: of its command line, such as `background`. If no such process exists, waits for
   * one; with `waits` false, resolves with false.
   */
  async killChild(word: string, { waits = true } = {}): Promise<boolean> {
    for (const endMs = performance.now() + CHILD_LIMIT_MS; performance.now() < endMs; ) {
      const found = descendantsOf(this.server.pid).find(({ words }) => words.includes(word))
      if (found !== undefined) {
        killProcess(found.pid)
        this.count(word)
        return true
      }
      if (!waits) return false
      await Bun.sleep(20)
    }
    throw new Error(`the service has no process \`${word}\``)
  }

  count(victim: string): void {
    this.kills[victim] = (this.kills[victim] ?? 0) + 1
  }

  /**
   * Runs a load until it has sent so many. At a random part of it, `kill` is called once; a service that is gone is started again, and
   * the load continues.
   */
  async killDuring(load: KillLoad, until: number, kill: () => Promise<unknown>): Promise<void> {
    const killAt = this.random.between(load.sent, until - 1)
    let killed: Promise<unknown> | null = null
    while (load.sent < until) {
      await load.run(this.server, this.random, until, () => {
        if (killed === null && load.sent >= killAt) killed = kill()
      })
      await killed
      if (!isRunning(this.server.pid)) await this.start()
    }
  }

  configure(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    return configure(this.server, this.token, method, path, body)
  }

  async createPolicy(
    projectId: string,
    action: string,
    subject: string,
    resource: string,
    cypher: string,
  ): Promise<void> {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: subject },
      actions: [action],
      resource: { type: resource },
      condition: { cypher },
    })
    const body = { project_id: projectId, name: action, policy, status: 'ACTIVE' }
    await this.configure('POST', 'authorization-policies', body)
  }

  createFleet(permissions?: readonly string[], fields?: object) {
    return createFleet(this.server, this.token, this.organizationId, permissions, fields)
  }

  /** The files while the service runs, as another process reads them. */
  async readBeside<T>(read: (catalog: Catalog) => T | Promise<T>): Promise<T> {
    const lockTimeoutMs = COMMAND_LOCK_TIMEOUT_MS
    const catalog = openCatalog(this.data, { clock: systemClock, readOnly: true, lockTimeoutMs })
    try {
      return await read(catalog)
    } finally {
      await catalog.close()
    }
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The findings of a look at the graph. */
export interface GraphFindings {
  /** Elements that were compared. */
  readonly seen: number
  /** Elements that are never right, also during a round. */
  readonly torn: readonly string[]
  /** Differences from what the model expects at the end of a round. */
  readonly differences: readonly string[]
}

/** `expected`: null during a round, when elements may be of this round or of the one before. */
type FindingsOf<Expected> = (snapshot: Snapshot, expected: Expected | null) => GraphFindings

/** Reads the graph of a project from its folder, again and again, as another process does. */
export class ModelReader<Expected> {
  seen = 0
  readonly torn: string[] = []
  private readonly reads: RepeatedReads
  private readonly compare: FindingsOf<Expected>

  /** `path`: of the folder of the graph. */
  constructor(path: string, compare: FindingsOf<Expected>) {
    this.compare = compare
    this.reads = new RepeatedReads(path, (snapshot) => void this.look(snapshot, null))
    this.reads.start()
  }

  /** The differences at the end of a round. */
  differences(expected: Expected): readonly string[] {
    return this.reads.once((snapshot) => this.look(snapshot, expected), COMMAND_LOCK_TIMEOUT_MS)
  }

  stop(): void {
    this.reads.stop()
  }

  private look(snapshot: Snapshot, expected: Expected | null): readonly string[] {
    const { seen, torn, differences } = this.compare(snapshot, expected)
    this.seen += seen
    this.torn.push(...torn)
    return differences
  }
}
