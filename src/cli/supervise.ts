// The command `serve --workers N`: a supervisor that serves no requests. It holds the folder lock and the port until
// the workers have opened them, runs one-time work, starts and restarts the workers, and stops them
// (docs/decisions/0019-locks-and-processes.md).

import { createApp } from '../app.ts'
import { type ReservedPort, reservePort } from '../http/port.ts'
import { systemClock } from '../kernel/clock.ts'
import { loadCertificate } from '../runtime/http-listener.ts'
import { openProcessLog } from '../runtime/process-log.ts'
import type { Settings } from '../settings.ts'
import { lockFolder } from '../store/process/folder-lock.ts'
import { CliError } from './cli-error.ts'
import { colours } from './colours.ts'
import { recordOperation } from './record-operation.ts'
import { selfCommand, WORKER_COMMAND } from './self-command.ts'
import { demoLines, firstTokenLines, reasonOf, recordStart } from './serve.ts'
import type { SupervisorCommand, WorkerEvent } from './worker.ts'

/** Delay before a failed worker is restarted. It doubles each time, until a worker has run for STABLE_UPTIME_MS. */
const RESTART_DELAY_MIN_MS = 100
const RESTART_DELAY_MAX_MS = 10_000
const STABLE_UPTIME_MS = 60_000

/** A stopping worker is killed after its drain time and this time. */
const STOP_GRACE_MS = 5000

/**
 * Runs `serve` with several workers. Exits the process on a signal. Rejects with CliError if a worker fails to start or
 * the port is taken.
 */
export async function supervise(settings: Settings, demo: boolean): Promise<void> {
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

  const supervisor = new Supervisor({ ...settings, port: reserved.port }, folder.workerToken, () => reserved.release())
  const stop = (): void => {
    if (supervisor.isStopping) supervisor.kill()
    supervisor.stop().then(async (code) => {
      // A full disk must not prevent the stop.
      await recordOperation(settings, 'svc.audit.operations.service.stop', {}).catch(() => undefined)
      folder.release()
      process.exit(code)
    })
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // Log rotation signals the supervisor only, so the signal is forwarded.
  process.on('SIGHUP', () => supervisor.signal('SIGHUP'))

  const failure = await supervisor.start()
  if (failure !== null) {
    await supervisor.stop()
    folder.release()
    throw new CliError([failure])
  }
  const started = `${colours.green(`listening on ${reserved.url}`)}\n${settings.workers} workers share the port and the folder`
  console.log([started, ...lines].join('\n'))
  await new Promise(() => {})
}

interface WorkerProcess {
  readonly child: Bun.Subprocess
  readonly startedMs: number
  isListening: boolean
}

class Supervisor {
  isStopping = false
  private readonly settings: Settings
  private readonly proof: string
  private readonly releasePort: () => void
  private readonly workers = new Map<number, WorkerProcess>()
  private readonly restartDelays = new Map<number, number>()
  private readonly restarts = new Set<ReturnType<typeof setTimeout>>()
  private onStarted: ((failure: string | null) => void) | null = null

  constructor(settings: Settings, proof: string, releasePort: () => void) {
    this.settings = settings
    this.proof = proof
    this.releasePort = releasePort
  }

  /** Starts all workers. Resolves with null when all accept connections, or with a message if one exits before. */
  start(): Promise<string | null> {
    return new Promise((resolve) => {
      this.onStarted = resolve
      for (let number = 1; number <= this.settings.workers; number++) this.spawnWorker(number)
    })
  }

  signal(name: NodeJS.Signals): void {
    for (const { child } of this.workers.values()) child.kill(name)
  }

  private spawnWorker(number: number): void {
    const child = Bun.spawn(selfCommand([WORKER_COMMAND, String(process.pid)]), {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      ipc: (event: WorkerEvent) => this.onMessage(number, event),
    })
    this.workers.set(number, { child, startedMs: systemClock.now(), isListening: false })
    this.send(number, { order: 'open', settings: this.settings, number, proof: this.proof })
    void child.exited.then(() => this.onExit(number, child))
  }

  private send(number: number, command: SupervisorCommand): void {
    try {
      this.workers.get(number)?.child.send(command)
    } catch {
      // The worker has just exited; `onExit` handles that.
    }
  }

  private onMessage(number: number, event: WorkerEvent): void {
    const worker = this.workers.get(number)
    if (worker === undefined || this.isStopping) return
    if (event === 'open') {
      // Released only now, so that no other process takes the port while the workers open their databases.
      this.releasePort()
      this.send(number, { order: 'listen' })
      return
    }
    worker.isListening = true
    if (this.workers.size < this.settings.workers) return
    if ([...this.workers.values()].every(({ isListening }) => isListening)) this.reportStart(null)
  }

  private reportStart(failure: string | null): void {
    this.onStarted?.(failure)
    this.onStarted = null
  }

  private onExit(number: number, child: Bun.Subprocess): void {
    const worker = this.workers.get(number)
    this.workers.delete(number)
    if (this.isStopping || worker === undefined) return
    const how = child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`
    if (this.onStarted !== null) {
      this.reportStart(`worker ${number} exited with ${how} before it accepted connections`)
      return
    }
    const uptimeMs = systemClock.now() - worker.startedMs
    const previousMs = uptimeMs < STABLE_UPTIME_MS ? (this.restartDelays.get(number) ?? 0) : 0
    const delayMs = previousMs === 0 ? RESTART_DELAY_MIN_MS : Math.min(previousMs * 2, RESTART_DELAY_MAX_MS)
    this.restartDelays.set(number, delayMs)
    for (const other of this.workers.keys()) this.send(other, { order: 'check readers' })
    const log = openProcessLog(this.settings, systemClock)
    log({ level: 'error', message: 'a worker exited', worker: number, how, restart_ms: delayMs })
    const timer = setTimeout(() => {
      this.restarts.delete(timer)
      this.spawnWorker(number)
    }, delayMs)
    this.restarts.add(timer)
  }

  /** Stops all workers. Resolves with the exit code: 0 if all exited by themselves. */
  async stop(): Promise<number> {
    this.isStopping = true
    for (const timer of this.restarts) clearTimeout(timer)
    for (const number of this.workers.keys()) this.send(number, { order: 'stop' })
    const children = [...this.workers.values()].map(({ child }) => child)
    const timer = setTimeout(() => this.kill(), this.settings.drainMs + STOP_GRACE_MS)
    await Promise.all(children.map(({ exited }) => exited))
    clearTimeout(timer)
    return children.every(({ exitCode }) => exitCode === 0) ? 0 : 1
  }

  kill(): void {
    for (const { child } of this.workers.values()) child.kill('SIGKILL')
  }
}
