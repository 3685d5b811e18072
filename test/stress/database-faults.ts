// A service whose graph is in Neo4j behind a proxy that cuts, stops and refuses connections at random: every acknowledged capture is
// stored, every decision that is answered is right, and the service recovers by itself. Skips without Java and Maven.
// bun test/stress/database-faults.ts [--seconds 60] [--seed N]
import { createConnection, createServer, type Socket } from 'node:net'
import { Random, stressSeed } from '../generate/random.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { startNeo4j } from '../support/counterparts/neo4j.ts'
import { numberAfter } from './flags.ts'

/** A proxy on 127.0.0.1 whose connections can be disturbed. */
class FaultyProxy {
  private readonly sockets = new Set<Socket>()
  private isRefusing = false
  private isStopped = false
  private readonly server = createServer((client) => {
    if (this.isRefusing) {
      client.destroy()
      return
    }
    const upstream = createConnection(this.port, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.sockets.add(from)
      from.on('data', (bytes) => {
        // Bytes that arrive while the proxy is stopped are delivered later.
        const deliver = (): void => {
          if (this.isStopped) setTimeout(deliver, 20)
          else if (!to.destroyed) to.write(bytes)
        }
        deliver()
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        this.sockets.delete(from)
        to.destroy()
      })
    }
  })
  private readonly port: number

  constructor(port: number) {
    this.port = port
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `bolt://127.0.0.1:${(this.server.address() as { readonly port: number }).port}`
  }

  /** Cuts all connections: also one that is committing. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  async refuse(ms: number): Promise<void> {
    this.isRefusing = true
    this.cut()
    await Bun.sleep(ms)
    this.isRefusing = false
  }

  async stop(ms: number): Promise<void> {
    this.isStopped = true
    await Bun.sleep(ms)
    this.isStopped = false
  }

  close(): void {
    this.cut()
    this.server.close()
  }
}

async function run(): Promise<void> {
  const seed = numberAfter('--seed', stressSeed())
  const seconds = numberAfter('--seconds', 60)
  console.log(`seed ${seed}`)
  const random = new Random(seed)
  const neo4j = await startNeo4j()
  const proxy = new FaultyProxy(Number(new URL(neo4j.url).port))
  const url = await proxy.listen()
  process.env.TEST_GRAPH_SERVERS = url
  const { startService } = await import('../support/service.ts')
  const service = await startService({ databaseConnectTimeMs: 1_000 }, { log: () => undefined })
  await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
  const counts = { acknowledged: 0, refused: 0, decisions: 0, undecided: 0, faults: 0 }
  const wrong: string[] = []
  const acknowledged: string[] = []
  let outageMs = 0
  let recoveryMs = 0
  let isRunning = true

  const worker = async (name: string): Promise<void> => {
    for (let at = 0; isRunning; at++) {
      const id = `${name}-${at}`
      const node = (type: string) => ({ type, external_id: id })
      const owns = { source: node('Person'), type: 'OWNS', target: node('Car') }
      const captured =
        (await service.ask('/capture/v1/nodes', { nodes: [node('Person'), node('Car')] })).status === 200 &&
        (await service.ask('/capture/v1/relationships', { relationships: [owns] })).status === 200
      if (!captured) {
        counts.refused += 1
        outageMs = performance.now()
        await Bun.sleep(50)
        continue
      }
      if (outageMs > 0) {
        recoveryMs = Math.max(recoveryMs, performance.now() - outageMs)
        outageMs = 0
      }
      counts.acknowledged += 1
      acknowledged.push(id)
      const decide = async (): Promise<unknown> => {
        const { status, body } = await service.ask('/access/v1/evaluation', {
          subject: { type: 'Person', id },
          action: { name: 'drive' },
          resource: { type: 'Car', id },
        })
        if (status === 200) counts.decisions += 1
        else counts.undecided += 1
        return status === 200 ? body.decision : null
      }
      const granted = await decide()
      if (granted === false) wrong.push(`${id}: denied after its relationship was acknowledged`)
      if (at % 3 !== 0) continue
      const removed = await service.ask('/capture/v1/relationships/delete', { relationships: [owns] })
      if (removed.status !== 200) continue
      acknowledged.splice(acknowledged.indexOf(id), 1)
      if ((await decide()) === true) wrong.push(`${id}: permitted after its removal was acknowledged`)
    }
  }
  const workers = ['a', 'b', 'c'].map(worker)
  const endMs = performance.now() + seconds * 1000
  while (performance.now() < endMs) {
    await Bun.sleep(random.between(200, 200 + 1500))
    counts.faults += 1
    const fault = random.between(0, 2)
    if (fault === 0) proxy.cut()
    else if (fault === 1) await proxy.refuse(random.between(200, 200 + 2000))
    else await proxy.stop(random.between(200, 200 + 2000))
  }
  isRunning = false
  await Promise.all(workers)
  await Bun.sleep(1_500)
  for (const id of acknowledged) {
    const { status, body } = await service.ask('/access/v1/evaluation', {
      subject: { type: 'Person', id },
      action: { name: 'drive' },
      resource: { type: 'Car', id },
    })
    if (status !== 200 || body.decision !== true)
      wrong.push(`${id}: acknowledged and lost (${status} ${String(body.decision)})`)
  }
  await service.stop()
  proxy.close()
  await neo4j.stop()
  console.log(JSON.stringify({ ...counts, longestRecoveryMs: Math.round(recoveryMs) }))
  for (const one of wrong.slice(0, 20)) console.log(one)
  const isIdle = counts.acknowledged < seconds / 2 || counts.refused === 0
  if (isIdle) console.log('too few captures or no fault was met: the run shows nothing')
  console.log(`${counts.acknowledged + counts.decisions} passed, ${wrong.length + (isIdle ? 1 : 0)} failed`)
  process.exit(wrong.length > 0 || isIdle ? 1 : 0)
}

try {
  await run()
} catch (failure) {
  if (!(failure instanceof CounterpartMissing)) throw failure
  console.log(`skipped: ${failure.message}`)
}
