// Kills the service, the background process and a lane in turn during captures, changes of the configuration and decisions. Every
// acknowledged change must have exactly one record in the audit log, and every checkpoint that was ever published must be signed
// and consistent with the final log.
// Run alone: bun test/stress/audit-kills.ts [--rounds 50] [--requests 60] [--seed N]
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseCheckpoint } from '../../src/audit/log/checkpoint.ts'
import { emptyTree, extendTree, leafHash, rootOf } from '../../src/audit/log/merkle.ts'
import { parseNote } from '../../src/audit/log/signed-note.ts'
import { TileFolder } from '../../src/audit/log/tile-folder.ts'
import type { Random } from '../generate/random.ts'
import { type ReadEntry, readAuditLogs } from '../support/audit-logs.ts'
import type { Server } from '../support/cli-process.ts'
import { numberAfter } from './flags.ts'
import { isRunning, type KillLoad, type KillModel, type KillRun, killProgram } from './kill-harness.ts'

const WRITERS = 4
const VICTIMS = ['service', 'background', 'lane'] as const
/** Everything is sealed within this time after the last request. */
const SEAL_LIMIT_MS = 300_000

interface AuditFigures {
  /** Changes and decisions that were answered. */
  readonly acknowledged: number
  /** Those that were sent and not answered, and have a record or none. */
  readonly unanswered: number
  readonly entries: number
  /** Different checkpoints that were seen in the folders. */
  readonly published: number
}

/** The names that were sent, and the checkpoints that were published. */
export class AuditKills implements KillModel<AuditFigures> {
  readonly settings = {
    VERDIGRAPH_AUDIT_DECISIONS: 'all',
    // Otherwise a decision is answered before its record is on disk.
    VERDIGRAPH_EVENT_ACTIVITY_STRICT: 'on',
    VERDIGRAPH_LANES: '2',
  }
  /** Of one round. */
  private readonly requests: number
  private load!: AuditLoad
  private watch!: CheckpointWatch
  private entries = 0

  constructor(requests: number) {
    this.requests = requests
  }

  async prepare(run: KillRun): Promise<void> {
    const { projectId, key } = await run.createFleet(['Capture', 'Authorization'])
    this.load = new AuditLoad(projectId, run.token, key)
    this.watch = new CheckpointWatch(run.data)
    this.watch.start()
  }

  async round(run: KillRun, round: number): Promise<string> {
    const victim = VICTIMS[(round - 1) % VICTIMS.length]!
    await run.killDuring(this.load, this.load.sent + this.requests, () =>
      victim === 'service' ? run.killService(false) : run.killChild(victim),
    )
    return `killed the ${victim}, ${this.load.sent} requests`
  }

  settle(run: KillRun): Promise<void> {
    return this.load.untilSealed(run.server, run.data)
  }

  async compare(run: KillRun): Promise<void> {
    this.watch.stop()
    const logs = await readAuditLogs(run.data)
    for (const [owner, { problems }] of logs) for (const problem of problems) run.faults.push(`${owner}: ${problem}`)
    const entries = [...logs.values()].flatMap((log) => log.entries)
    this.entries = entries.length
    run.faults.push(...this.load.check(entries), ...(await this.watch.check()))
  }

  figures(): AuditFigures {
    const { acknowledged, unanswered } = this.load
    const published = this.watch.notes.size
    return { acknowledged: acknowledged.size, unanswered: unanswered.size, entries: this.entries, published }
  }

  close(): void {
    this.watch?.stop()
  }
}

/** Requests whose records can be recognized: each has a name of its own. */
class AuditLoad implements KillLoad {
  sent = 0
  /** Names of the changes and decisions that were answered. */
  readonly acknowledged = new Set<string>()
  readonly unanswered = new Set<string>()
  private readonly projectId: string
  private readonly token: string
  private readonly key: string
  private count = 0

  constructor(projectId: string, token: string, key: string) {
    this.projectId = projectId
    this.token = token
    this.key = key
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

  stop(): void {
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

if (import.meta.main) await killProgram(new AuditKills(numberAfter('--requests', 60)), 50)
