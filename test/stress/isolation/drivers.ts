// The driver processes of the stress runs, controlled over IPC.
import { join } from 'node:path'
import type { IsolationFixture } from './fixture.ts'
import type { HostileCommand, HostileResult } from './hostile-tenant.ts'
import { GRACE_MS } from './hostile-tenant.ts'
import type { SteadyCommand, SteadyResult } from './steady-tenant.ts'

/** Preparing a load builds a few megabytes of text, or starts a database server. */
const READY_MS = 400_000
/** Beyond the time that a command takes by itself. Only a hang reaches these limits. */
const ANSWER_MS = 120_000

export class Driver {
  private readonly child: Bun.Subprocess
  private waiting: { resolve(message: unknown): void; reject(fault: Error): void } | null = null

  /** `niceness`: 0, or how far the priority of the process is lowered. */
  constructor(file: string, niceness: number) {
    const own = [process.execPath, join(import.meta.dirname, file)]
    const command = niceness > 0 && process.platform !== 'win32' ? ['nice', '-n', String(niceness), ...own] : own
    this.child = Bun.spawn(command, {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      serialization: 'json',
      ipc: (message) => {
        const { waiting } = this
        this.waiting = null
        waiting?.resolve(message)
      },
    })
    void this.child.exited.then((code) => this.fail(`the driver ended with ${code}`))
  }

  private fail(message: string): void {
    this.waiting?.reject(new Error(message))
    this.waiting = null
  }

  /** Sends the command and waits for its result. */
  ask<T>(command: unknown, timeMs: number): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.waiting = { resolve, reject }
    const timer = setTimeout(() => this.fail(`the driver did not answer in ${timeMs} ms`), timeMs)
    this.child.send(command)
    return promise.finally(() => clearTimeout(timer)) as Promise<T>
  }

  async end(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.child.exited
  }
}

export class SteadyDriver {
  private readonly driver: Driver
  private readonly seed: number

  constructor(seed: number) {
    this.driver = new Driver('steady-tenant.ts', 0)
    this.seed = seed
  }

  open(fixture: IsolationFixture): Promise<unknown> {
    return this.driver.ask({ do: 'open', fixture, seed: this.seed } satisfies SteadyCommand, ANSWER_MS)
  }

  start(): Promise<unknown> {
    return this.driver.ask({ do: 'start' } satisfies SteadyCommand, ANSWER_MS)
  }

  stop(waitMs: number): Promise<SteadyResult> {
    return this.driver.ask({ do: 'stop', waitMs } satisfies SteadyCommand, waitMs + ANSWER_MS)
  }

  end(): Promise<void> {
    return this.driver.end()
  }
}

/** A prepared load; `run` applies it for so many seconds and returns the results of its requests. */
export interface PreparedLoad {
  run(seconds: number): Promise<HostileResult>
  end(): Promise<void>
}

export async function prepareScene(command: HostileCommand): Promise<PreparedLoad> {
  const driver = new Driver('hostile-tenant.ts', 10)
  try {
    await driver.ask(command, READY_MS)
  } catch (fault) {
    await driver.end()
    throw fault
  }
  return {
    run: (seconds) => driver.ask({ go: seconds }, seconds * 1000 + GRACE_MS + ANSWER_MS),
    end: () => driver.end(),
  }
}
