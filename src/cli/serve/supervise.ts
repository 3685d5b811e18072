// The command `serve --workers N`: a supervisor that serves no requests. It holds the folder lock and the port until
// the workers have opened them, runs one-time work, starts and restarts the workers, replaces them one after another on SIGUSR2, and
// stops them (docs/decisions/0019-locks-and-processes.md, docs/decisions/0061-rolling-restart.md).

import type { AppOverrides } from '../../app/overrides.ts'
import { openProcessLog } from '../../app/process-log.ts'
import { createApp } from '../../app.ts'
import { loadCertificate } from '../../http/listener/http-listener.ts'
import { type ReservedPort, reservePort } from '../../http/port.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { OwnFigures } from '../../operator/service-status.ts'
import { childKinds } from '../../processes/child-kinds.ts'
import { type ChildExit, ChildProcess } from '../../processes/child-process.ts'
import { type ChildFigures, openChildFigures } from '../../processes/process-figures.ts'
import { RestartDelay } from '../../processes/restart-delay.ts'
import type { Settings } from '../../settings.ts'
import { lockFolder } from '../../store/process/folder-lock.ts'
import { recordOperation } from '../folder/record-operation.ts'
import { CliError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { printLines } from '../output/print.ts'
import { childCommand } from '../settings/self-command.ts'
import { type RollingRestartState, removeRestartState, writeRestartState } from './rolling-restart.ts'
import { demoLines, firstTokenLines, reasonOf, recordStart } from './serve.ts'
import { serviceManager } from './service-manager.ts'
import type { WorkerCommand, WorkerEvent, WorkerTask } from './worker.ts'

/** A successor that does not accept connections after this time is killed, and the restart fails. */
const SUCCESSOR_START_MAX_MS = 120_000
/** A worker that does not confirm an order in this time is not waited for. */
const CONFIRM_MAX_MS = 10_000

/**
 * Runs `serve` with several workers. Exits the process on a signal. Rejects with CliError if a worker fails to start or
 * the port is taken.
 */
export async function supervise(
  settings: Settings,
  demo: boolean,
  sources: NonNullable<AppOverrides['settingSources']>,
): Promise<void> {
  const { host, port, dataDir } = settings
  // Checked once instead of by each worker.
  loadCertificate(settings)
  const folder = lockFolder(dataDir)
  let reserved: ReservedPort
  try {
    reserved = reservePort(host, port, settings.tlsCertificate !== '')
  } catch (failure) {
    folder.release()
    throw new CliError([`cannot listen on ${host}:${port}: ${reasonOf(failure, host)}`])
  }
  let lines: readonly string[]
  try {
    // One-time work before there are several processes: the first organization, crash recovery, the demo.
    const app = await createApp(settings, { folder: 'held' })
    await recordStart(app, settings, folder.isAfterCrash)
    lines = demo ? await demoLines(app, reserved.url) : await firstTokenLines(app)
    await app.close()
  } catch (failure) {
    reserved.release()
    folder.release()
    throw failure
  }

  const served = { ...settings, port: reserved.port }
  const supervisor = new Supervisor(served, sources, folder.workerToken, () => reserved.release())
  const manager = serviceManager(process.env, openProcessLog(settings, systemClock))
  const stop = (): void => {
    if (supervisor.isStopping) supervisor.kill()
    manager.stopping()
    supervisor.stop().then(async (code) => {
      // A full disk must not prevent the stop.
      await recordOperation(settings, 'svc.audit.operations.service.stop', {}).catch(() => undefined)
      removeRestartState(dataDir)
      folder.release()
      process.exit(code)
    })
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // Log rotation signals the supervisor only, so the signal is forwarded.
  process.on('SIGHUP', () => supervisor.signal('SIGHUP'))
  process.on('SIGUSR2', () => void supervisor.restart())

  const failure = await supervisor.start()
  if (failure !== null) {
    await supervisor.stop()
    removeRestartState(dataDir)
    folder.release()
    throw new CliError([failure])
  }
  const started = colours.green(`listening on ${reserved.url}`)
  const { workers } = settings
  const sharing =
    workers === 1 ? '1 worker serves under a supervisor' : `${workers} workers share the port and the folder`
  printLines([started, sharing, ...lines])
  manager.ready(`${workers} ${workers === 1 ? 'worker listens' : 'workers listen'} on ${reserved.url}`)
  manager.watch((timeoutMs) => supervisor.check(timeoutMs))
  await new Promise(() => {})
}

/** A worker that does not answer in this time has no figures in the answer. */
const FIGURES_TIMEOUT_MS = 1500

/** The figures that were received for a request of one worker. */
interface FiguresCollection {
  readonly to: number
  readonly request: number
  readonly figures: Map<number, OwnFigures>
  readonly timer: ReturnType<typeof setTimeout>
}

type WorkerProcess = ChildProcess<WorkerTask, WorkerCommand, WorkerEvent>

interface Worker {
  readonly process: WorkerProcess
  isListening: boolean
  /** `successor`: it starts to replace another worker. `retired`: it was replaced and ends. */
  role: 'serving' | 'successor' | 'retired'
  /** Called with each event of a rolling restart. */
  onStep: ((event: WorkerEvent) => void) | null
}

class Supervisor {
  isStopping = false
  private readonly settings: Settings
  private readonly sources: NonNullable<AppOverrides['settingSources']>
  private readonly proof: string
  private readonly collections = new Map<number, FiguresCollection>()
  private collectionCount = 0
  private readonly figures: ChildFigures
  private readonly releasePort: () => void
  private readonly workers = new Map<number, Worker>()
  private readonly delays = new Map<number, RestartDelay>()
  private readonly restarts = new Map<number, ReturnType<typeof setTimeout>>()
  /** The numbers of the workers that serve, or are being started again. A successor has another number. */
  private readonly numbers: number[]
  private rolling: RollingRestartState
  private onStarted: ((failure: string | null) => void) | null = null

  constructor(
    settings: Settings,
    sources: NonNullable<AppOverrides['settingSources']>,
    proof: string,
    releasePort: () => void,
  ) {
    this.settings = settings
    this.sources = sources
    this.proof = proof
    this.figures = openChildFigures(settings.dataDir)
    this.releasePort = releasePort
    const { workers } = settings
    this.numbers = Array.from({ length: workers }, (_, at) => at + 1)
    this.rolling = { supervisor: process.pid, round: 0, state: 'idle', workers, replaced: [], error: null }
  }

  /** Starts all workers. Resolves with null when all accept connections, or with a message if one exits before. */
  start(): Promise<string | null> {
    return new Promise((resolve) => {
      this.onStarted = (failure) => {
        // The command `restart` may be used from now on.
        if (failure === null) writeRestartState(this.settings.dataDir, this.rolling)
        resolve(failure)
      }
      for (const number of this.numbers) this.spawnWorker(number, 'serving')
    })
  }

  /**
   * Replaces the workers one after another: a successor accepts connections before the worker stops listening. Does nothing while a
   * restart runs, or before the start and after the stop.
   */
  async restart(): Promise<void> {
    if (this.onStarted !== null || this.isStopping || this.rolling.state === 'running') return
    const log = openProcessLog(this.settings, systemClock)
    const { workers } = this.settings
    this.report({ round: this.rolling.round + 1, state: 'running', replaced: [], error: null })
    log({ level: 'info', message: 'a rolling restart began', workers })
    for (const worker of [...this.numbers]) {
      const by = this.freeNumber()
      const error = await this.replace(worker, by)
      if (error !== null) {
        this.report({ state: 'failed', error })
        // Asked for: no fault.
        if (this.isStopping) {
          log({ level: 'info', message: 'a rolling restart ended early, because the service stops', worker })
          return
        }
        log({ level: 'error', message: 'a rolling restart failed; the other workers continue', worker, error })
        return
      }
      this.report({ replaced: [...this.rolling.replaced, { worker, by }] })
      log({ level: 'info', message: 'a worker was replaced', worker, by })
    }
    this.report({ state: 'done' })
    log({ level: 'info', message: 'a rolling restart ended', workers })
  }

  private report(change: Partial<RollingRestartState>): void {
    this.rolling = { ...this.rolling, ...change }
    try {
      writeRestartState(this.settings.dataDir, this.rolling)
    } catch {
      // A full disk must not prevent the restart. The log has its result.
    }
  }

  private freeNumber(): number {
    let number = 1
    while (this.numbers.includes(number) || this.workers.has(number)) number += 1
    return number
  }

  /** Returns null, or the reason why the worker was not replaced. */
  private async replace(worker: number, by: number): Promise<string | null> {
    if (this.isStopping) return 'the service is stopping'
    const successor = this.spawnWorker(by, 'successor')
    const started = this.step(successor, 'listening', SUCCESSOR_START_MAX_MS)
    if (!(await started)) {
      // It is stopped, as all workers.
      if (this.isStopping) return 'the service is stopping'
      successor.process.kill(`it did not accept connections within ${SUCCESSOR_START_MAX_MS} ms`, 'hung')
      return `the successor of worker ${worker} does not start`
    }
    successor.role = 'serving'
    this.numbers[this.numbers.indexOf(worker)] = by
    clearTimeout(this.restarts.get(worker))
    this.restarts.delete(worker)
    this.delays.delete(worker)
    const leaving = this.workers.get(worker)
    // It had exited, and was not started again yet.
    if (leaving === undefined) return null
    const taking = this.step(successor, 'taking', CONFIRM_MAX_MS)
    successor.process.command({ command: 'take connections' })
    await taking
    leaving.role = 'retired'
    const released = this.step(leaving, 'released', CONFIRM_MAX_MS)
    leaving.process.command({ command: 'retire' })
    await released
    successor.process.command({ command: 'share connections' })
    // It waits for its connections, and then stops as at any stop.
    const limitMs = 2 * this.settings.drainMs + childKinds.worker.stopMs
    const timer = setTimeout(() => leaving.process.kill(`it did not end within ${limitMs} ms`), limitMs)
    await leaving.process.exited
    clearTimeout(timer)
    return null
  }

  /** Resolves with true when the worker reports the event, and with false when it exits or after a time. */
  private async step(worker: Worker, expected: WorkerEvent, maxMs: number): Promise<boolean> {
    const reported = new Promise<boolean>((resolve) => {
      worker.onStep = (event) => {
        if (event === expected) resolve(true)
      }
    })
    const gone = worker.process.exited.then(() => false)
    const result = await Promise.race([reported, gone, Bun.sleep(maxMs).then(() => false)])
    worker.onStep = null
    return result
  }

  signal(name: NodeJS.Signals): void {
    for (const { process } of this.workers.values()) process.signal(name)
  }

  /**
   * Whether some worker accepts connections, and all of those that do answer within `timeoutMs`. One that is being restarted does not
   * count.
   */
  async check(timeoutMs: number): Promise<boolean> {
    const listening = [...this.workers].filter(([, { isListening, role }]) => isListening && role === 'serving')
    const answers = listening.map(([, worker]) => worker.process.ping(timeoutMs))
    return listening.length > 0 && !(await Promise.all(answers)).includes(false)
  }

  private spawnWorker(number: number, role: Worker['role']): Worker {
    const { settings, sources, proof } = this
    const child: WorkerProcess = new ChildProcess({
      kind: 'worker',
      command: childCommand('worker'),
      task: { settings, sources, identity: { number, proof } },
      onOpen: () => {
        if (this.isStopping) return
        // Released only now, so that no other process takes the port while the workers open their databases.
        this.releasePort()
        child.command({ command: 'listen', isWarm: worker.role === 'successor' })
      },
      onEvent: (event) => this.onEvent(number, event),
      onExit: (exit) => this.onExit(number, exit),
    })
    const worker: Worker = { process: child, isListening: false, role, onStep: null }
    this.workers.set(number, worker)
    const delay = this.delays.get(number) ?? new RestartDelay()
    this.delays.set(number, delay)
    delay.started()
    return worker
  }

  private onEvent(number: number, event: WorkerEvent): void {
    const worker = this.workers.get(number)
    if (worker === undefined || this.isStopping) return
    if (typeof event === 'object') {
      if (event.report === 'figures wanted') this.collectFigures(number, event.id)
      else this.addFigures(number, event.id, event.figures)
      return
    }
    if (event === 'listening') {
      worker.isListening = true
      const isStarted = this.numbers.every((one) => this.workers.get(one)?.isListening === true)
      if (isStarted) this.reportStart(null)
    }
    worker.onStep?.(event)
  }

  /** Asks all workers for their figures, and sends them to the worker `to`, which knows its request by `request`. */
  private collectFigures(to: number, request: number): void {
    this.collectionCount += 1
    const id = this.collectionCount
    const timer = setTimeout(() => this.sendFigures(id), FIGURES_TIMEOUT_MS)
    this.collections.set(id, { to, request, figures: new Map(), timer })
    for (const number of this.numbers) this.workers.get(number)?.process.command({ command: 'report figures', id })
  }

  private addFigures(from: number, id: number, figures: OwnFigures): void {
    const collection = this.collections.get(id)
    if (collection === undefined) return
    collection.figures.set(from, figures)
    if (collection.figures.size === this.settings.workers) this.sendFigures(id)
  }

  private sendFigures(id: number): void {
    const collection = this.collections.get(id)
    if (collection === undefined) return
    this.collections.delete(id)
    clearTimeout(collection.timer)
    const { to, request, figures } = collection
    const numbers = [...this.numbers].sort((one, other) => one - other)
    const workers = numbers.map((worker) => ({ worker, figures: figures.get(worker) ?? null }))
    this.workers.get(to)?.process.command({ command: 'figures', id: request, workers })
  }

  private reportStart(failure: string | null): void {
    this.onStarted?.(failure)
    this.onStarted = null
  }

  private onExit(number: number, exit: ChildExit): void {
    const worker = this.workers.get(number)
    this.workers.delete(number)
    if (this.isStopping || worker === undefined) return
    const { how, killedFor: reason } = exit
    if (this.onStarted !== null) {
      this.reportStart(`worker ${number} exited with ${how} before it accepted connections`)
      return
    }
    const isRestarted = worker.role === 'serving'
    if (!isRestarted && exit.code === 0) return
    this.figures.countExit('worker', exit, Math.round(systemClock.now() / 1000))
    const delayMs = this.delays.get(number)?.nextMs() ?? 0
    for (const { process } of this.workers.values()) process.checkReaders()
    const log = openProcessLog(this.settings, systemClock)
    log({
      level: 'error',
      message: 'a worker exited',
      worker: number,
      how,
      ...(reason !== null && { reason }),
      ...(isRestarted && { restart_ms: delayMs }),
    })
    if (!isRestarted) return
    const timer = setTimeout(() => {
      this.restarts.delete(number)
      this.spawnWorker(number, 'serving')
    }, delayMs)
    this.restarts.set(number, timer)
  }

  /** Stops all workers. Resolves with the exit code: 0 if all exited by themselves. */
  async stop(): Promise<number> {
    this.isStopping = true
    for (const timer of this.restarts.values()) clearTimeout(timer)
    const { drainMs } = this.settings
    const exits = await Promise.all([...this.workers.values()].map(({ process }) => process.stop(drainMs)))
    return exits.every(({ cause }) => cause === 'stopped' || cause === 'done') ? 0 : 1
  }

  kill(): void {
    for (const { process } of this.workers.values()) process.kill('it was stopped twice')
  }
}
