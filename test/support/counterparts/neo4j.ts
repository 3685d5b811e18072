// Neo4j Community as one process, with Bolt on a port of 127.0.0.1 and no password.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from './broker-process.ts'
import { hasCommand, installed, mavenLibraries, requireJava, run } from './install.ts'

/** The release that answers: the last line that runs on Java 17. */
export const NEO4J_VERSION = '5.26.30'

/** Only for a start that hangs: a busy machine takes minutes. */
const START_SECONDS_MAX = 400

/** A running Neo4j. */
export interface Neo4jServer {
  /** Such as `bolt://127.0.0.1:7687`. */
  readonly url: string
  /** Ends the process and removes its data. */
  stop(): Promise<void>
}

/** A Neo4j that keeps its data when its process ends. */
export interface KeptNeo4jServer extends Neo4jServer {
  /** Ends the process as a crash does: with SIGKILL. */
  kill(): Promise<void>
  /** Starts it again on its port, with its data. Resolves when it listens. */
  start(): Promise<void>
  /** Stops the process, or lets it continue. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
}

/** The resources of one Neo4j. */
interface Neo4jResources {
  readonly pageCacheMb: number
  /** 0: no limit. */
  readonly transactionMb: number
  /** Options of Java: the heap, the collector, and the compilers. */
  readonly java: readonly string[]
}

/** `small`: ready soon, for answers. `measured`: all compilers of Java and enough memory for a graph of millions, for times. */
const resources: Readonly<Record<'small' | 'measured', Neo4jResources>> = {
  small: {
    pageCacheMb: 32,
    transactionMb: 64,
    java: ['-Xms128m', '-Xmx768m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
  },
  measured: { pageCacheMb: 1024, transactionMb: 0, java: ['-Xms4g', '-Xmx4g', '-XX:+UseParallelGC'] },
}

/** How a Neo4j is started. */
export interface Neo4jOptions {
  /** By default a free one. */
  readonly port?: number
  readonly purpose?: keyof typeof resources
  /** The user neo4j has the password neo4j, which must be changed first. */
  readonly hasPasswords?: boolean
}

/**
 * Starts Neo4j with an empty database. It ends with this process, however that ends. Throws `CounterpartMissing` without Java or Maven.
 */
export async function startNeo4j({
  port,
  purpose = 'small',
  hasPasswords = false,
}: Neo4jOptions = {}): Promise<Neo4jServer> {
  const program = await prepareNeo4j('Neo4jMain', purpose, port)
  await program.start(hasPasswords ? ['auth'] : [])
  const { url, stop } = program
  return { url, stop }
}

/** As `startNeo4j`, with a folder of data that outlives the process of the server, until `stop`. */
export async function startKeptNeo4j(): Promise<KeptNeo4jServer> {
  const program = await prepareNeo4j('KeptNeo4jMain', 'small')
  await program.start()
  return program
}

interface Neo4jProgram extends KeptNeo4jServer {
  start(more?: readonly string[]): Promise<void>
}

async function prepareNeo4j(main: string, purpose: keyof typeof resources, port?: number): Promise<Neo4jProgram> {
  const { pageCacheMb, transactionMb, java } = resources[purpose]
  requireJava()
  if (!hasCommand('java')) throw new Error('javac is installed, and java is not')
  const libraries = await installed(`neo4j-${NEO4J_VERSION}`, (target) =>
    mavenLibraries(target, [`org.neo4j.test:neo4j-harness:${NEO4J_VERSION}`]),
  )
  const [listening] = port === undefined ? await freePorts(1) : [port]
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-neo4j-'))
  mkdirSync(join(folder, 'data'))
  const libs = join(libraries, 'libs', '*')
  const classes = await compiledClasses(libs)
  const limits = [String(listening), String(pageCacheMb), String(transactionMb)]
  const command = ['java', ...java, '-cp', `${classes}:${libs}`, main, join(folder, 'data'), ...limits]
  let child: Bun.Subprocess<'pipe', 'pipe', 'pipe'> | null = null
  const kill = async (): Promise<void> => {
    child?.kill('SIGKILL')
    await child?.exited
    child = null
  }
  const stop = async (): Promise<void> => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }
  const start = async (more: readonly string[] = []): Promise<void> => {
    // The end of standard input ends the process: it does not outlive this one.
    child = Bun.spawn([...command, ...more], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe', cwd: folder })
    const failure = await listens(child)
    if (failure === null) return
    await stop()
    throw new Error(`Neo4j did not start within ${START_SECONDS_MAX} s: ${failure.slice(-2000)}`)
  }
  return { url: `bolt://127.0.0.1:${listening}`, stop, kill, start, signal: (name) => child?.kill(name) }
}

/** Neo4j finds a procedure only in a class that was compiled before. Once for each text: it takes half as long as a start of Neo4j. */
function compiledClasses(libs: string): Promise<string> {
  const sources = ['Neo4jMain', 'KeptNeo4jMain'].map((name) => join(import.meta.dirname, 'java', `${name}.java`))
  const text = sources.map((path) => readFileSync(path, 'utf8')).join('')
  return installed(`neo4j-${NEO4J_VERSION}-classes-${Bun.hash(text).toString(36)}`, async (target) => {
    await run(['javac', '-nowarn', '-d', target, '-cp', libs, ...sources], target)
  })
}

/** Resolves when the process listens, with null; else with its output. */
async function listens({ stdout, stderr }: Bun.Subprocess<'pipe', 'pipe', 'pipe'>): Promise<string | null> {
  let output = ''
  const decoder = new TextDecoder()
  const read = async (stream: ReadableStream<Uint8Array>): Promise<boolean> => {
    for await (const bytes of stream) {
      output = `${output}${decoder.decode(bytes, { stream: true })}`.slice(-10_000)
      if (/^listening /m.test(output)) return true
    }
    return false
  }
  void read(stderr)
  const limit = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => limit.resolve(false), START_SECONDS_MAX * 1000)
  const isListening = await Promise.race([read(stdout), limit.promise])
  clearTimeout(timer)
  return isListening ? null : output
}
