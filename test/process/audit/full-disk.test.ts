// Sealing on a disk that is really full: a small in-memory file system, which only root can mount.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readAuditLogs } from '../../support/audit-logs.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll } from '../../support/cli-process.ts'
import { HttpConnection } from '../../support/http-connection.ts'
import { capture, makeProject, startWorkers } from '../../support/worker-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-full-audit-'))
const disk = join(folder, 'disk')
const data = join(disk, 'data')
const ballast = join(disk, 'ballast')

mkdirSync(disk)
const isMounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', disk]).exitCode === 0
if (!isMounted) console.log('skipped: this user may not mount a file system')

afterAll(async () => {
  await killAll()
  if (isMounted) Bun.spawnSync(['umount', '-l', disk])
  rmSync(folder, { recursive: true, force: true })
})

/** Writes until no block is free. */
function fillDisk(): void {
  writeFileSync(ballast, '', { flag: 'a' })
  for (let size = 1 << 20; size >= 4096; size /= 2) {
    try {
      for (;;) appendFileSync(ballast, Buffer.alloc(size))
    } catch {
      // Less than `size` is free.
    }
  }
}

/** Captures of one round. Each has one record or more. */
const RECORDS = 50

interface AuditMetrics {
  readonly unsealed: number
  readonly sealed: number
  readonly ageS: number
}

describe.skipIf(!isMounted)('sealing while the disk is full', () => {
  it('loses and repeats no record, shows the delay in metrics, logs the error once, and continues when there is space, also after a kill', async () => {
    const fixture = await startWorkers(data, 1)
    const line = await HttpConnection.to(fixture.server.url)
    const project = await makeProject(fixture, line, 'full')
    const acknowledged: string[] = []
    let sent = 0
    const captureOne = async (): Promise<number> => {
      const external_id = `p${sent++}`
      const { status } = await capture(line, project, 'nodes', { nodes: [{ type: 'Page', external_id }] })
      if (status === 200) acknowledged.push(`nodes/Page/${external_id}`)
      return status
    }
    const metrics = async (): Promise<AuditMetrics> => {
      const { body } = await line.request('GET', '/metrics', fixture.admin)
      const value = (name: string) => Number(new RegExp(`^verdigraph_audit_${name} (\\S+)$`, 'm').exec(body)?.[1])
      return {
        unsealed: value('unsealed_records'),
        sealed: value('sealed_records_total'),
        ageS: value('last_seal_age_seconds'),
      }
    }
    const until = async (condition: (found: AuditMetrics) => boolean): Promise<AuditMetrics> => {
      const end = performance.now() + 60_000
      for (;;) {
        const found = await metrics()
        if (condition(found)) return found
        if (performance.now() > end) throw new Error(`the metrics are ${JSON.stringify(found)}`)
        await Bun.sleep(100)
      }
    }
    const sealedPages = async (): Promise<string[]> => {
      const log = (await readAuditLogs(data)).get(project.id)
      expect(log?.problems).toEqual([])
      return (log?.entries ?? []).filter(({ type }) => type.endsWith('upsert.node')).map(({ subject }) => subject)
    }

    expect(await captureOne()).toBe(200)
    // The age grows also while the background process is not scheduled.
    await until(({ sealed, unsealed, ageS }) => sealed > 0 && unsealed === 0 && ageS < 3)
    let fillings = 0
    /** Captures, and fills the disk before the records are sealed: a second later. If that was too late, again. */
    const fillBeforeSealing = async (): Promise<AuditMetrics> => {
      for (;;) {
        const { sealed } = await metrics()
        for (let at = 0; at < RECORDS; at++) expect(await captureOne()).toBe(200)
        fillDisk()
        fillings += 1
        const isFull = ({ unsealed, ageS }: AuditMetrics): boolean => unsealed > 0 && ageS > 4
        const found = await until((seen) => isFull(seen) || seen.sealed >= sealed + RECORDS)
        if (isFull(found)) return found
        rmSync(ballast)
      }
    }
    for (const isKilled of [false, true]) {
      const full = await fillBeforeSealing()
      await Bun.sleep(1500)
      expect((await metrics()).sealed).toBe(full.sealed)
      if (isKilled) {
        const [background] = childrenOf(fixture.server.pid).filter(({ words }) => words.includes('background'))
        process.kill(background?.pid as number, 'SIGKILL')
      }
      rmSync(ballast)
      await until(({ unsealed }) => unsealed === 0)
      expect(await captureOne()).toBe(200)
      await until(({ sealed, unsealed, ageS }) => sealed > full.sealed && unsealed === 0 && ageS < 3)
    }
    await until(({ unsealed }) => unsealed === 0)
    const end = performance.now() + 60_000
    while ((await sealedPages()).length < acknowledged.length && performance.now() < end) await Bun.sleep(200)
    expect(await sealedPages()).toEqual(acknowledged)
    line.close()
    await fixture.close()
    const errors = await fixture.server.errors()
    const own = errors.split('\n').filter((text) => text.includes('audit records cannot be sealed'))
    // Tried several times whenever the disk was full; logged once by each process for each of the two logs. A process that is started
    // again may find the disk full, too.
    expect(own.length).toBeGreaterThanOrEqual(1)
    expect(own.length).toBeLessThanOrEqual(2 * (fillings + 1))
    expect(errors).toContain('audit records are sealed again')
  })
})
