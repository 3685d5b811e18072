// A broker as a child process: started on given ports, killed and started again on the same data.
import { readFileSync } from 'node:fs'
import { connect as connectSocket, createServer } from 'node:net'
import { childrenOf } from '../child-processes.ts'

/** A running broker. */
export class BrokerProcess {
  private readonly command: readonly string[]
  private readonly environment: Readonly<Record<string, string>>
  private readonly ports: readonly number[]
  private child: Bun.Subprocess<'ignore', 'pipe', 'pipe'> | null = null
  private output = ''
  /** Processes that were killed. They have their ports and files until they have ended. */
  private killed: readonly number[] = []

  constructor(
    command: readonly string[],
    ports: readonly number[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.command = command
    this.ports = ports
    this.environment = environment
  }

  /** Starts the broker and waits until all its ports accept connections. */
  async start(limitSeconds = 300): Promise<void> {
    const end = performance.now() + limitSeconds * 1000
    for (; this.killed.length > 0; this.killed = this.killed.filter(isAlive)) {
      if (performance.now() > end) throw new Error(`processes do not end: ${this.killed.join(', ')}`)
      await Bun.sleep(5)
    }
    const child = Bun.spawn(['nice', '-n', '10', ...this.command], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      env: { ...process.env, ...this.environment },
    })
    this.child = child
    for (const stream of [child.stdout, child.stderr]) void this.read(stream)
    for (const port of this.ports) {
      while (!(await accepts(port))) {
        if (child.exitCode !== null || performance.now() > end) {
          this.kill()
          throw new Error(`the broker does not listen on port ${port}: ${this.output.slice(-2000)}`)
        }
        await Bun.sleep(100)
      }
    }
  }

  /** Whether it was started and did not end by itself. */
  isRunning(): boolean {
    return this.child !== null && this.child.exitCode === null
  }

  /** SIGKILL for the process and its descendants: brokers are started by scripts. */
  kill(): void {
    if (this.child !== null) this.killed = [...this.killed, ...killTree(this.child.pid)]
    this.child = null
  }

  /** Sends a signal to the process itself. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.child?.kill(name)
  }

  private async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    for await (const bytes of stream) this.output = `${this.output}${decoder.decode(bytes)}`.slice(-10_000)
  }
}

/** Returns the ids of all processes that were killed. */
function killTree(pid: number): number[] {
  const children = childrenOf(pid)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
  return [pid, ...children.flatMap((child) => killTree(child.pid))]
}

/** Whether the process runs. One that has ended may be listed until its parent has noticed it. */
function isAlive(pid: number): boolean {
  try {
    return !/^.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Below the ports that operating systems choose: between the choice and the use, no other connection or server gets them. */
const PORTS = { first: 15_000, count: 16_000 }
const chosenPorts = new Set<number>()

/** Free ports of 127.0.0.1, which no other call of this process returns. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count)
    if (chosenPorts.has(port) || !(await isFree(port))) continue
    chosenPorts.add(port)
    ports.push(port)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => {
      socket.destroy()
      resolve(false)
    })
  })
}
