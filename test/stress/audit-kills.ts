// Kills the service, the background process and a lane in turn during captures, changes of the configuration and decisions. Every
// acknowledged change must have exactly one record in the audit log, and every checkpoint that was ever published must be signed
// and consistent with the final log.
// Run alone: bun test/stress/audit-kills.ts [--rounds 50] [--requests 60] [--seed N]
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseCheckpoint } from '../../src/audit/log/checkpoint.ts'
import { emptyTree, extendTree, leafHash, rootOf } from '../../src/audit/log/merkle.ts'
import { parseNote } from '../../src/audit/log/signed-note.ts'
import { TileFolder } from '../../src/audit/log/tile-folder.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { type ReadEntry, readAuditLogs } from '../support/audit-logs.ts'
import { childrenOf, killProcess } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { createFleet } from './event-kills.ts'
import { numberAfter } from './flags.ts'

const WRITERS = 4
const SETTINGS = {
  VERDIGRAPH_AUDIT_DECISIONS: 'all',
  // Otherwise a decision is answered before its record is on disk.
  VERDIGRAPH_EVENT_ACTIVITY_STRICT: 'on',
  VERDIGRAPH_LANES: '2',
}
const VICTIMS = ['service', 'background process', 'lane'] as const
type Victim = (typeof VICTIMS)[number]
/** Everything is sealed within this time after the last request. */
const SEAL_LIMIT_MS = 300_000
/** A child process that was killed, or is not needed yet, is started within this time. */
const CHILD_LIMIT_MS = 60_000

export interface AuditKillOptions {
  readonly rounds: number
  /** Requests of one round. */
  readonly requests: number
  readonly seed: number
  readonly note?: (line: string) => void
}

export interface AuditKillOutcome {
  readonly kills: Readonly<Record<Victim, number>>
  /** Changes and decisions that were answered. */
  readonly acknowledged: number
  /** Those that were sent and not answered, and have a record or none. */
  readonly unanswered: number
  readonly entries: number
  /** Different checkpoints that were seen in the folders. */
  readonly published: number
  readonly faults: readonly string[]
}

/** Runs the rounds. */
export async function auditKillRounds(options: AuditKillOptions): Promise<AuditKillOutcome> {
  const { rounds, seed, note = () => undefined } = options
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-audit-kills-'))
  const data = join(folder, 'data')
  const random = new Random(seed)
  const kills: Record<Victim, number> = { service: 0, 'background process': 0, lane: 0 }
  const watch = new CheckpointWatch(data)
  let server: Server | null = null
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    const start = (): Promise<Server> => startServer(['--data', data], SETTINGS)
    server = await start()
    const load = await AuditLoad.create(server, token, organization_id)
    watch.start()
    for (let round = 0; round < rounds; round++) {
      const victim = VICTIMS[round % VICTIMS.length] as Victim
      const until = load.sent + options.requests
      const killAt = random.between(load.sent, until - 1)
      let killed: Promise<unknown> | null = null
      while (load.sent < until) {
        const running: Server = server
        await load.run(running, random, until, () => {
          if (killed !== null || load.sent < killAt) return
          kills[victim] += 1
          killed = victim === 'service' ? running.kill('SIGKILL') : killChild(running, victim)
        })
        await killed
        if (!isRunning(server.pid)) server = await start()
      }
      note(`round ${round + 1}: killed the ${victim}, ${load.sent} requests`)
    }
    const faults: string[] = []
    await load.untilSealed(server, data)
    if ((await server.kill('SIGTERM')) !== 0) faults.push('the service did not end cleanly')
    server = null
    await watch.stop()
    const logs = await readAuditLogs(data)
    for (const [owner, { problems }] of logs) for (const problem of problems) faults.push(`${owner}: ${problem}`)
    const entries = [...logs.values()].flatMap((log) => log.entries)
    faults.push(...load.check(entries), ...(await watch.check()))
    const verified = await runCommand(['verify', '--data', data])
    if (verified.exitCode !== 0) faults.push(`verify: ${verified.stdout}`)
    return {
      kills,
      acknowledged: load.acknowledged.size,
      unanswered: load.unanswered.size,
      entries: entries.length,
      published: watch.notes.size,
      faults,
    }
  } finally {
    await watch.stop()
    await server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function killChild(server: Server, victim: Victim): Promise<void> {
  const word = victim === 'lane' ? 'lane' : 'background'
  for (const endMs = performance.now() + CHILD_LIMIT_MS; performance.now() < endMs; ) {
    const found = childrenOf(server.pid).find(({ words }) => words.includes(word))
    if (found !== undefined) {
      killProcess(found.pid)
      return
    }
    await Bun.sleep(20)
  }
  throw new Error(`the service has no ${victim}`)
}

/** Requests whose records can be recognized: each has a name of its own. */
class AuditLoad {
  sent = 0
  /** Names of the changes and decisions that were answered. */
  readonly acknowledged = new Set<string>()
  readonly unanswered = new Set<string>()
  private readonly projectId: string
  private readonly token: string
  private readonly key: string
  private count = 0

  private constructor(projectId: string, token: string, key: string) {
    this.projectId = projectId
    this.token = token
    this.key = key
  }

  static async create(server: Server, token: string, organization_id: string): Promise<AuditLoad> {
    const { projectId, key } = await createFleet(server, token, organization_id, ['Capture', 'Authorization'])
    return new AuditLoad(projectId, token, key)
  }

  /** Sends requests until so many were sent or the server is gone. `onSent` is called after each request. */
  async run(server: Server, random: Random, until: number, onSent: () => void): Promise<void> {
    const writer = async (): Promise<void> => {
      while (this.sent < until) {
        this.sent += 1
        onSent()
        if (!(await this.request(server, random.between(0, 9), random.between(1, 20)))) return
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, writer))
  }

  /** Resolves with false if the server is gone. */
  private async request(server: Server, kind: number, items: number): Promise<boolean> {
    const name = (prefix: string): string => {
      this.count += 1
      return `${prefix}-${this.count}x`
    }
    if (kind < 5) {
      const names = Array.from({ length: items }, () => name('car'))
      const nodes = names.map((external_id) => ({ type: 'Car', external_id }))
      return this.send(server, names, '/capture/v1/nodes', { nodes })
    }
    if (kind < 8) {
      const names = [name('decision')]
      const body = {
        subject: { type: 'Person', id: names[0] },
        action: { name: 'drive' },
        resource: { type: 'Car', id: 'car' },
      }
      return this.send(server, names, '/access/v1/evaluation', body)
    }
    const names = [name('application')]
    return this.send(server, names, '/configs/v1/applications', { project_id: this.projectId, name: names[0] })
  }

  private async send(server: Server, names: readonly string[], path: string, body: object): Promise<boolean> {
    const caller = path.startsWith('/configs')
      ? { authorization: `Bearer ${this.token}` }
      : { 'x-svc-clientkey': this.key }
    const headers = { ...caller, 'content-type': 'application/json' }
    const sent = fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const response = await sent.catch(() => null)
    const text = await response?.text().catch(() => null)
    // The lane of a request may have been killed: it may have written.
    const isAnswered = response != null && text != null && response.status < 500
    for (const name of names) (isAnswered ? this.acknowledged : this.unanswered).add(name)
    if (isAnswered && !response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return response != null && text != null
  }

  /** Waits until nothing waits to be sealed. */
  async untilSealed(server: Server, data: string): Promise<void> {
    const limit = performance.now() + SEAL_LIMIT_MS
    for (;;) {
      const names = new Set<string>()
      if (existsSync(join(data, 'audit/index')))
        for (const { entries } of (await readAuditLogs(data)).values())
          for (const entry of entries) for (const name of namesIn(entry)) names.add(name)
      if ([...this.acknowledged].every((name) => names.has(name))) return
      if (performance.now() > limit || !isRunning(server.pid)) return
      await Bun.sleep(500)
    }
  }

  check(entries: readonly ReadEntry[]): string[] {
    const found = new Map<string, ReadEntry[]>()
    for (const entry of entries)
      for (const name of namesIn(entry)) {
        const own = found.get(name)
        if (own === undefined) found.set(name, [entry])
        else own.push(entry)
      }
    const faults: string[] = []
    for (const [names, isAcknowledged] of [
      [this.acknowledged, true],
      [this.unanswered, false],
    ] as const) {
      for (const name of names) {
        const own = found.get(name) ?? []
        if (isAcknowledged ? own.length === 1 : own.length <= 1) continue
        const ids = own.map(({ id, source, time }) => `${source} ${id} ${time}`).join(', ')
        faults.push(`${name} was ${isAcknowledged ? '' : 'not '}acknowledged and has ${own.length} records: ${ids}`)
      }
    }
    return faults
  }
}

/** The names in a record of a change or decision, each once. */
function namesIn({ type, data }: ReadEntry): ReadonlySet<string> {
  const isCounted = /^svc\.audit\.(capture\.upsert\.node|authorization\.evaluation|config\.create)$/.test(type)
  return new Set(isCounted ? JSON.stringify(data).match(/\b(?:car|decision|application)-\d+x\b/g) : [])
}

/** Collects the checkpoints that are published while processes are killed. */
class CheckpointWatch {
  /** By note: the folder of its log. */
  readonly notes = new Map<string, string>()
  private readonly root: string
  private timer: ReturnType<typeof setInterval> | null = null

  constructor(data: string) {
    this.root = join(data, 'audit/logs')
  }

  start(): void {
    this.timer = setInterval(() => this.look(), 20)
  }

  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer)
    this.timer = null
    this.look()
  }

  private look(): void {
    for (const log of namesOf(this.root)) {
      for (const generation of namesOf(join(this.root, log))) {
        const folder = join(this.root, log, generation)
        const file = join(folder, 'checkpoint')
        if (existsSync(file)) this.notes.set(readFileSync(file, 'utf8'), folder)
      }
    }
  }

  /** Each published checkpoint is a state of the final log. Signatures are checked with those in the index. */
  async check(): Promise<string[]> {
    const faults: string[] = []
    for (const folder of new Set(this.notes.values())) {
      const own = [...this.notes].flatMap(([note, each]) => {
        if (each !== folder) return []
        const parsed = parseNote(note)
        const checkpoint = parsed.ok ? parseCheckpoint(parsed.value.text) : parsed
        if (!checkpoint.ok) faults.push(`${folder}: ${checkpoint.error}`)
        return checkpoint.ok ? [checkpoint.value] : []
      })
      own.sort((a, b) => a.size - b.size)
      const entries = await new TileFolder(folder).entries(0, own.at(-1)?.size ?? 0)
      let tree = emptyTree
      for (const { size, root } of own) {
        tree = extendTree(tree, entries.slice(tree.size, size).map(leafHash))
        if (tree.size !== size || !Buffer.from(rootOf(tree)).equals(root))
          faults.push(`${folder}: the published checkpoint of ${size} entries is of another tree`)
      }
    }
    return faults
  }
}

function namesOf(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}

if (import.meta.main) {
  const given = numberAfter('--seed', Number.NaN)
  const seed = Number.isNaN(given) ? stressSeed() : given
  console.log(`seed ${seed}`)
  const { faults, ...outcome } = await auditKillRounds({
    rounds: numberAfter('--rounds', 50),
    requests: numberAfter('--requests', 60),
    seed,
    note: (line) => console.log(line),
  })
  console.log(JSON.stringify(outcome, null, 2))
  for (const fault of faults.slice(0, 20)) console.error(fault)
  process.exit(faults.length === 0 ? 0 : 1)
}
