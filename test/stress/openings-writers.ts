// Writers to a plain and to a composite project over HTTP while other processes open the folder, and the expected
// result: all that was answered with 200, with its proxies and its relationships.

import type { OpenSnapshot, Snapshot } from '../../src/engine/store.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import type { Constituent } from '../../src/store/tenancy/project-graphs.ts'
import { capture, HttpConnection, type WorkerProject } from '../support/worker-fixture.ts'

/** On a busy machine a lane starts late after a kill. */
const LATE_LANE = 'has not started in time; retry'
const PLACES = ['eu', 'us', 'home'] as const
/** By place, named as in the connection of the composite project. */
const PARTS = { eu: { database: 'eu-db' }, us: { database: 'us-db' }, home: 'default' } as const

export const COMPOSITE_PARTS: readonly Constituent[] = [...Object.values(PARTS), 'global']

export interface WritersParts {
  readonly url: string
  readonly plain: WorkerProject
  readonly composite: WorkerProject
  isOver(): boolean
  fault(what: string): void
}

type Send = (project: WorkerProject, path: string, body: object) => Promise<boolean>

export class Writers {
  acknowledged = 0
  /** Requests whose lane did not start in time. */
  refused = 0
  /** Connections that were lost with a request in progress. */
  cut = 0
  private readonly parts: WritersParts
  private readonly plain: string[] = []
  private readonly joined: {
    readonly id: string
    readonly place: (typeof PLACES)[number]
    readonly follows: boolean
  }[] = []

  constructor(parts: WritersParts) {
    this.parts = parts
  }

  /** Number of writers per project. */
  async write(each: number): Promise<void> {
    const all = Array.from({ length: each }, (_, writer) => [this.writePlain(writer), this.writeJoined(writer)])
    await Promise.all(all.flat())
  }

  private async writePlain(writer: number): Promise<void> {
    await this.repeat(async (send, n) => {
      const id = `plain-${writer}-${n}`
      const nodes = [{ type: 'Person', external_id: id }]
      if (await send(this.parts.plain, 'nodes', { nodes })) this.plain.push(id)
    })
  }

  /** Each node is connected to the previous one, which is at another place. */
  private async writeJoined(writer: number): Promise<void> {
    const { composite } = this.parts
    const nodeOf = (n: number) => ({
      type: 'Person',
      external_id: `joined-${writer}-${n}`,
      location: PLACES[n % PLACES.length]!,
    })
    let last = -1
    await this.repeat(async (send, n) => {
      const source = nodeOf(n)
      if (!(await send(composite, 'nodes', { nodes: [source] }))) return
      const relationships = [{ source, target: nodeOf(n - 1), type: 'FOLLOWS' }]
      const follows =
        last === n - 1 && n > 0 && (await send(composite, 'relationships', { relationships, use_global_db: true }))
      last = n
      this.joined.push({ id: source.external_id, place: source.location, follows })
    })
  }

  private async repeat(one: (send: Send, n: number) => Promise<void>): Promise<void> {
    let line: HttpConnection | null = null
    const send: Send = async (project, path, body) => {
      try {
        line ??= await HttpConnection.to(this.parts.url)
        const reply = await capture(line, project, path, body)
        if (reply.status === 200) this.acknowledged += 1
        else if (reply.status === 503 && reply.body.includes(LATE_LANE)) this.refused += 1
        else this.parts.fault(`${JSON.stringify(body)} answered ${reply.status} ${reply.body}`)
        return reply.status === 200
      } catch {
        line = null
        this.cut += 1
        await Bun.sleep(5)
        return false
      }
    }
    for (let n = 0; !this.parts.isOver(); n++) await one(send, n)
  }

  /** All acknowledged data exists, and trees, lists and proxies are consistent. */
  async readAll(data: string): Promise<void> {
    const { plain, composite, fault } = this.parts
    const catalog = openCatalog(data, { clock: systemClock, readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
    const snapshots: OpenSnapshot[] = []
    const open = (project: WorkerProject, part: Constituent): Snapshot => {
      for (const finding of catalog.check(project.id, part) ?? ['it is missing']) fault(finding)
      const snapshot = catalog.graph(project.id, part)!.snapshot()
      snapshots.push(snapshot)
      return snapshot
    }
    const find = (snapshot: Snapshot, id: string) => snapshot.findNode(snapshot.symbol('label', 'Person'), id)
    try {
      const people = open(plain, 'default')
      for (const id of this.plain) if (find(people, id) === 0) fault(`${id} is lost`)
      const global = open(composite, 'global')
      const places = { eu: open(composite, PARTS.eu), us: open(composite, PARTS.us), home: open(composite, PARTS.home) }
      for (const { id, place, follows } of this.joined) {
        const proxy = find(global, id)
        if (find(places[place], id) === 0 || proxy === 0) fault(`${id} is lost`)
        else if (follows && global.degree(proxy, 'out', global.symbol('type', 'FOLLOWS')) === 0)
          fault(`the relationship of ${id} is lost`)
      }
    } finally {
      for (const snapshot of snapshots) snapshot.close()
      await catalog.close()
    }
  }
}
