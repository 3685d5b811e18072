// Delivery of events on a disk that is really full: a small in-memory file system, which only root can mount.
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { open } from 'lmdb'
import { afterAll, describe, expect, it } from 'vitest'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll } from '../../support/cli-process.ts'
import { checkOrder, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { sinkBody } from '../../support/events.ts'
import { HttpConnection } from '../../support/http-connection.ts'
import { capture, captured, makeProject, mayPerson, policyBody, startWorkers } from '../../support/worker-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-full-'))
const disk = join(folder, 'disk')
const ballast = join(disk, 'ballast')

mkdirSync(disk)
const isMounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk]).exitCode === 0
if (!isMounted) console.log('skipped: this user may not mount a file system')

afterAll(async () => {
  await killAll()
  if (isMounted) Bun.spawnSync(['umount', '-l', disk])
  rmSync(folder, { recursive: true, force: true })
})

/** Writes until no block is free. */
function fillDisk(): void {
  writeFileSync(ballast, '')
  for (let size = 1 << 20; size >= 4096; size /= 2) {
    try {
      for (;;) appendFileSync(ballast, Buffer.alloc(size))
    } catch {
      // Less than `size` is free.
    }
  }
}

/** The folder of the only graph, below the data folder. */
function graphFolder(data: string): string {
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' })
  const found = files.filter((file) => basename(file) === 'data.mdb' && file.startsWith('projects/'))
  expect(found).toHaveLength(1)
  return dirname(found[0] as string)
}

describe.skipIf(!isMounted)('delivery while the disk is full', () => {
  it('loses no event, delays no decision, and continues when there is space, also after a kill of the dispatcher', async () => {
    const receiver = startReceiver()
    const fixture = await startWorkers(join(disk, 'data'), 1, { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' })
    const line = await HttpConnection.to(fixture.server.url)
    const project = await makeProject(fixture, line, 'full')
    const create = async (kind: string, body: object): Promise<void> =>
      expect((await line.request('POST', `/configs/v1/${kind}`, fixture.admin, body)).status).toBe(201)
    await create(
      'authorization-policies',
      policyBody(project, 'wrote', 'MATCH (subject:Person)-[:WROTE]->(resource:Page)'),
    )
    const ann = { type: 'Person', external_id: 'ann' }
    const page = { type: 'Page', external_id: 'page' }
    await captured(line, project, 'nodes', { nodes: [ann, page] })
    await captured(line, project, 'relationships', { relationships: [{ source: ann, type: 'WROTE', target: page }] })
    const routes = [{ type: 'svc.audit.capture.*' }]
    await create('event-sinks', sinkBody(project.id, routes, { main: receiverProvider(receiver) }))
    const acknowledged: string[] = []
    let sent = 0
    const captureOne = async (): Promise<number> => {
      const external_id = `p${sent++}`
      const reply = await capture(line, project, 'nodes', { nodes: [{ type: 'Page', external_id }] })
      if (reply.status === 200) acknowledged.push(`nodes/Page/${external_id}`)
      return reply.status
    }
    const received = (): Set<string> => new Set(receiver.accepted.map(({ subject }) => subject))
    const untilAll = (): Promise<void> => receiver.until(() => acknowledged.every((one) => received().has(one)))
    await captureOne()
    await untilAll()
    /** Resolves when the state of the sink shows that everything is delivered and stored. */
    const untilStored = async (delivered = 0): Promise<void> => {
      const end = performance.now() + 60_000
      for (;;) {
        const { body } = await line.request('GET', `/configs/v1/event-sinks?project_id=${project.id}`, fixture.admin)
        const [sink] = JSON.parse(body).data
        const { event_topic, delivery } = sink.providers.main
        if (event_topic.last_error === '' && delivery.backlog.events === 0 && delivery.delivered >= delivered) return
        if (performance.now() > end) throw new Error(`the state is ${JSON.stringify(sink.providers)}`)
        await Bun.sleep(100)
      }
    }

    // A reader pins the pages that are freed, so that also the smallest write needs space.
    const pinPages = (): (() => Promise<void>) => {
      const path = join(disk, 'data', graphFolder(join(disk, 'data')))
      const root = open({ path, readOnly: true, noSubdir: false, maxDbs: 32 })
      const transaction = root.useReadTransaction()
      return async () => {
        transaction.done()
        await root.close()
      }
    }

    for (const isKilled of [false, true]) {
      await untilStored()
      const known = acknowledged.length
      await receiver.stop()
      const unpin = pinPages()
      for (let at = 0; at < 50; at++) expect(await captureOne()).toBe(200)
      fillDisk()
      let refused = 0
      while (refused < 5) refused = (await captureOne()) === 507 ? refused + 1 : 0
      receiver.start()
      await receiver.until(() => acknowledged.slice(known).some((one) => received().has(one)))
      for (let at = 0; at < 20; at++) {
        expect(await mayPerson(line, project, 'ann', 'wrote', 'page')).toBe(true)
        expect(await mayPerson(line, project, 'bob', 'wrote', 'page')).toBe(false)
        await Bun.sleep(50)
      }
      if (isKilled) {
        const [dispatcher] = childrenOf(fixture.server.pid).filter(({ words }) => words.includes('background'))
        process.kill(dispatcher?.pid as number, 'SIGKILL')
      }
      await unpin()
      rmSync(ballast)
      await untilAll()
      // Without another event. A kill forgets what was counted since the disk was full.
      await untilStored(isKilled ? 0 : acknowledged.length)
      expect(await captureOne()).toBe(200)
      await untilAll()
      expect(received()).toEqual(new Set(acknowledged))
      const repeated = checkOrder(receiver.accepted)
      // Only the kill forgets what was delivered and could not be stored.
      if (isKilled) expect(repeated).toBeGreaterThan(0)
      else expect(repeated).toBe(0)
    }
    line.close()
    await fixture.close()
    const errors = await fixture.server.errors()
    expect(errors).toContain('the outbox cannot be used: ')
    await receiver.stop()
  })
})
