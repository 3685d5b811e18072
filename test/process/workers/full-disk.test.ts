// A service on a disk that is really full: a small in-memory file system, which only root can mount.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { killAll } from '../../support/cli-process.ts'
import { connectionsTo } from '../../support/http-connection.ts'
import { capture, captured, makeProject, mayPerson, policyBody, startWorkers } from '../../support/worker-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-full-'))
const disk = join(folder, 'disk')
const ballast = join(disk, 'ballast')

mkdirSync(disk)
const isMounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk]).exitCode === 0
if (!isMounted) console.log('skipped: this user may not mount a file system')

afterAll(async () => {
  await killAll()
  // Lazy: processes of a test that failed may still end.
  if (isMounted) Bun.spawnSync(['umount', '-l', disk])
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(!isMounted)('a service whose disk is full', () => {
  it('returns 507 for what it cannot store, continues deciding, and stores again when there is space', async () => {
    const fixture = await startWorkers(join(disk, 'data'), 2)
    const lanes = await connectionsTo(fixture.server.url, 2, 4)
    const lines = lanes.flat()
    const line = lines[0]!
    const project = await makeProject(fixture, line, 'full')
    const policies = '/configs/v1/authorization-policies'
    const policy = policyBody(project, 'wrote', 'MATCH (subject:Person)-[:WROTE]->(resource:Page)')
    expect((await line.request('POST', policies, fixture.admin, policy)).status).toBe(201)
    const [ann, page] = [
      { type: 'Person', external_id: 'ann' },
      { type: 'Page', external_id: 'page' },
    ]
    await captured(line, project, 'nodes', { nodes: [ann, page] })
    await captured(line, project, 'relationships', {
      relationships: [{ source: ann, type: 'WROTE', target: page }],
    })
    writeFileSync(ballast, Buffer.alloc(20 << 20))

    const text = 'x'.repeat(4000)
    const fill = (of: typeof line, name: string) =>
      capture(of, project, 'nodes', {
        nodes: Array.from({ length: 20 }, (_, i) => ({
          type: 'Page',
          external_id: `${name}-${i}`,
          properties: [{ type: 'text', value: text }],
        })),
      })
    const noRoom = [507, '{"message":"the storage is full"}']
    const refused: unknown[] = []
    // Writes of one round share a commit and its outcome.
    for (let n = 0; refused.length === 0; n++) {
      for (const reply of await Promise.all(lines.map((of, at) => fill(of, `${n}-${at}`)))) {
        if (reply.status !== 200) refused.push([reply.status, reply.body])
      }
    }
    expect(refused).toEqual(refused.map(() => noRoom))
    // What is too little for the captures may be enough for some policies.
    const condition = `MATCH (subject:Person), (resource:Page) WHERE resource.a <> "${'y'.repeat(9000)}"`
    let stored = 0
    const storeLong = () =>
      line.request('POST', policies, fixture.admin, policyBody(project, `long-${stored}`, condition))
    let reply = await storeLong()
    for (; reply.status === 201; reply = await storeLong()) stored += 1
    expect([reply.status, reply.body]).toEqual(noRoom)
    expect(await mayPerson(line, project, 'ann', 'wrote', 'page')).toBe(true)
    expect(await mayPerson(line, project, 'bob', 'wrote', 'page')).toBe(false)

    rmSync(ballast)
    expect((await fill(line, 'after')).status).toBe(200)
    expect((await storeLong()).status).toBe(201)
    for (const lane of lines) lane.close()
    await fixture.close()
  })
})
