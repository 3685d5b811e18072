// Neo4j Community as one process, with Bolt on a port of 127.0.0.1 and no password.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from './broker-process.ts'
import { hasCommand, installed, mavenLibraries, requireJava, run } from './install.ts'

/** The release that answers: the last line that runs on Java 17. */
export const NEO4J_VERSION = '5.26.30'

const START_SECONDS_MAX = 120

/** A running Neo4j. */
export interface Neo4jServer {
  /** Such as `bolt://127.0.0.1:7687`. */
  readonly url: string
  /** Ends the process and removes its data. */
  stop(): Promise<void>
}

/** What a Neo4j may use. */
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

/**
 * Starts Neo4j with an empty database. `port`: by default a free one. `hasPasswords`: the user neo4j has the password neo4j, which must be
 * changed first. It ends with this process, however that ends. Throws `CounterpartMissing` without Java or Maven.
 */
export async function startNeo4j(
  port?: number,
  purpose: keyof typeof resources = 'small',
  hasPasswords = false,
): Promise<Neo4jServer> {
  const { pageCacheMb, transactionMb, java } = resources[purpose]
  requireJava()
  if (!hasCommand('java')) throw new Error('javac is installed, and java is not')
  const libraries = await installed(`neo4j-${NEO4J_VERSION}`, (target) =>
    mavenLibraries(target, [`org.neo4j.test:neo4j-harness:${NEO4J_VERSION}`]),
  )
  const [listening] = port === undefined ? await freePorts(1) : [port]
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-neo4j-'))
  mkdirSync(join(folder, 'data'))
  // Neo4j finds a procedure only in a class that was compiled before.
  const libs = join(libraries, 'libs', '*')
  const source = join(import.meta.dirname, 'java', 'Neo4jMain.java')
  await run(['javac', '-nowarn', '-d', folder, '-cp', libs, source], folder)
  const child = Bun.spawn(
    [
      'java',
      ...java,
      '-cp',
      `${folder}:${libs}`,
      'Neo4jMain',
      join(folder, 'data'),
      String(listening),
      String(pageCacheMb),
      String(transactionMb),
      ...(hasPasswords ? ['auth'] : []),
    ],
    // The end of standard input ends the process: it does not outlive this one.
    { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe', cwd: folder },
  )
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await child.exited
    rmSync(folder, { recursive: true, force: true })
  }
  let output = ''
  const started = (async () => {
    const decoder = new TextDecoder()
    const read = async (stream: ReadableStream<Uint8Array>): Promise<boolean> => {
      for await (const bytes of stream) {
        output = `${output}${decoder.decode(bytes, { stream: true })}`.slice(-10_000)
        if (/^listening /m.test(output)) return true
      }
      return false
    }
    void read(child.stderr)
    return read(child.stdout)
  })()
  const isListening = await Promise.race([started, Bun.sleep(START_SECONDS_MAX * 1000).then(() => false)])
  if (!isListening) {
    await stop()
    throw new Error(`Neo4j did not start within ${START_SECONDS_MAX} s: ${output.slice(-2000)}`)
  }
  return { url: `bolt://127.0.0.1:${listening}`, stop }
}
