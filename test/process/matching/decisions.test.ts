// Decisions of persons about pairs: they take effect at once, later runs keep them, and backups and exports contain them. The report in
// its three forms.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { backup } from '../../../src/backup/backup.ts'
import { restore } from '../../../src/backup/restore.ts'
import { MASTER_KEY_FILE } from '../../../src/kernel/folder/data-folder.ts'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import { importFile } from '../../../src/transfer/import/import.ts'
import { type MatchingService, nodesOf, property, startMatchingService } from '../../support/matching-service.ts'

let setup: MatchingService
let id: string
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-decisions-'))
  setup = await startMatchingService()
  await capture([...nodesOf('Person', 'p', 0, 40), ...nodesOf('Customer', 'c', 10, 50)])
  id = await setup.addPipeline('people')
  await setup.service.app.matchEntities()
  await setup.match(id)
})
afterAll(async () => {
  await setup?.stop()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(async () => {
  for (const { id: decision } of await decisions()) await setup.ask(id, `decisions/${decision}`, undefined, 'DELETE')
  await setup.match(id)
})

async function capture(nodes: readonly object[], path = 'nodes'): Promise<void> {
  const { status, text } = await setup.capture(path, { nodes })
  if (status !== 200) throw new Error(text)
}

const decide = (source: string, target: string, decision: string) =>
  setup.ask(id, 'decisions', { source_external_id: source, target_external_id: target, decision })
const decisions = async (query = ''): Promise<{ readonly id: string }[]> =>
  (await setup.ask(id, `decisions${query}`)).body.decisions as { id: string }[]
const pairs = async (): Promise<string[]> =>
  (await setup.matches(id)).map(({ source, target }) => `${source} ${target}`)
const same = Array.from({ length: 30 }, (_, i) => `p${i + 10} c${i + 10}`)

describe('a decision', () => {
  it('takes effect at once, and is kept over all later runs', async () => {
    const made = await decide('p10', 'c10', 'NOT_SAME')
    expect([made.status, made.body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^gid:/),
        source_external_id: 'p10',
        target_external_id: 'c10',
        decision: 'NOT_SAME',
        decided_by: expect.stringMatching(/^gid:/),
        decided_time: new Date(setup.clock.now()).toISOString(),
        comment: '',
      },
    ])
    await decide('p1', 'c45', 'SAME')
    const expected = ['p1 c45', ...same.slice(1)]
    expect(await pairs()).toEqual(expected)
    const [first] = await setup.matches(id)
    expect(first?.properties).toEqual({
      score: 1,
      decision: 'SAME',
      decided_by: made.body.decided_by,
      decided_time: made.body.decided_time,
    })
    for (let i = 0; i < 3; i++) {
      await setup.match(id, { similarity_score_cutoff: [0.1, 0.99, 0.5][i] })
      expect(await pairs()).toEqual(expect.arrayContaining(['p1 c45']))
      expect(await pairs()).not.toContain('p10 c10')
    }
    expect((await setup.ask(id, 'report')).body).toMatchObject({ decisions: { same: 1, not_same: 1 } })
  })

  it('replaces an earlier one, and the next run decides after it is deleted', async () => {
    const { body: first } = await decide('p10', 'c10', 'NOT_SAME')
    const { body: second } = await decide('p10', 'c10', 'SAME')
    expect([second.id, (await decisions()).length, (await pairs()).includes('p10 c10')]).toEqual([first.id, 1, true])
    const deleted = await setup.ask(id, `decisions/${first.id}`, undefined, 'DELETE')
    expect([deleted.status, deleted.body]).toEqual([200, { id: first.id }])
    expect(await pairs()).not.toContain('p10 c10')
    await setup.match(id)
    expect(await pairs()).toEqual(same)
    expect((await setup.ask(id, `decisions/${first.id}`, undefined, 'DELETE')).status).toBe(404)
  })

  it('outlives its nodes: a node that is captured again is decided', async () => {
    await decide('p10', 'c10', 'NOT_SAME')
    await decide('p2', 'c46', 'SAME')
    for (const [type, external_id] of [
      ['Person', 'p10'],
      ['Person', 'p2'],
    ])
      await capture([{ type, external_id }], 'nodes/delete')
    expect(await pairs()).toEqual(same.slice(1))
    await capture([...nodesOf('Person', 'p', 10, 11), ...nodesOf('Person', 'p', 2, 3)])
    await setup.match(id)
    expect((await pairs()).sort()).toEqual(['p2 c46', ...same.slice(1)].sort())
  })

  it('is refused for nodes that do not exist, and for bad bodies', async () => {
    const missing = await decide('p10', 'absent', 'SAME')
    expect([missing.status, missing.body.errors]).toEqual([
      422,
      ['target_external_id: the node `Customer` `absent` does not exist'],
    ])
    expect((await decide('p10', 'c10', 'PERHAPS')).status).toBe(400)
    expect((await decide('', 'c10', 'SAME')).status).toBe(400)
    expect(await decisions()).toEqual([])
  })

  it('is listed in pages', async () => {
    for (let i = 10; i < 15; i++) await decide(`p${i}`, `c${i}`, 'SAME')
    const found: unknown[] = []
    for (let query = '?page_size=2'; ; ) {
      const { body } = await setup.ask(id, `decisions${query}`)
      found.push(...(body.decisions as { source_external_id: string }[]).map((one) => one.source_external_id))
      if (body.next_page_token === '') break
      query = `?page_size=2&page_token=${encodeURIComponent(body.next_page_token as string)}`
    }
    expect(found).toEqual(['p10', 'p11', 'p12', 'p13', 'p14'])
    expect((await setup.ask(id, 'decisions?page_size=0')).status).toBe(422)
    for (const token of ['', 'abc', '0']) {
      const refused = await setup.ask(id, `decisions?page_token=${token}`)
      expect([refused.status, refused.body.errors]).toEqual([422, ['page_token: expected a `next_page_token`']])
    }
  })

  it('is in backups and exports with its relationship', async () => {
    await decide('p10', 'c10', 'NOT_SAME')
    await decide('p3', 'c47', 'SAME')
    const expected = ['p3 c47', ...same.slice(1)].sort()
    const { dataDir } = setup.service
    const progress = (): void => undefined
    const restored = join(folder, 'restored')
    const file = join(folder, 'backup')
    await backup({ dataDir, out: file, madeBy: 'test', nowMs: setup.clock.now(), progress })
    await restore({ from: file, dataDir: restored, progress })
    const imported = join(folder, 'imported')
    const lines = join(folder, 'export')
    await exportFolder({ dataDir, out: lines, progress })
    await importFile({ dataDir: imported, from: lines, dryRun: false, resume: false, progress })
    for (const dir of [restored, imported]) {
      // No copy contains the key.
      copyFileSync(join(dataDir, MASTER_KEY_FILE), join(dir, MASTER_KEY_FILE))
      const app = await createApp({ ...defaultSettings, dataDir: dir, lanes: 0 }, { clock: setup.clock })
      try {
        const caller = {
          kind: 'service-account',
          serviceAccountId: app.serviceAccountId,
          organizationId: app.organizationId,
          role: 'all_editor',
        } as const
        const found = app.matching.decisions(caller, id, new URLSearchParams())
        expect(found).toMatchObject({ value: { decisions: [{ decision: 'NOT_SAME' }, { decision: 'SAME' }] } })
        await app.matching.requestRun(caller, id, { similarity_score_cutoff: 0.5 }, noOrigin)
        await app.matchEntities()
        const report = app.matching.report(caller, id)
        expect(report).toMatchObject({ value: { matched_pairs: expected.length, relationships_written: 0 } })
      } finally {
        await app.close()
      }
    }
  })
})

describe('the report', () => {
  const read = (accept: string) =>
    setup.service.send(`/entity-matching/v1/pipelines/${id}/report`, {
      headers: { 'x-svc-clientkey': setup.matchingKey, accept },
    })

  it('has the numbers and the pairs to review, with the evidence for each', async () => {
    await setup.match(id, {
      similarity_score_cutoff: 0.5,
      labelled_pairs: [
        { source_external_id: 'p10', target_external_id: 'c10', same: true },
        { source_external_id: 'p11', target_external_id: 'c11', same: false },
        { source_external_id: 'p1', target_external_id: 'c41', same: true },
        { source_external_id: 'p2', target_external_id: 'c42', same: false },
      ],
    })
    const { status, body } = await read('application/json')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      pipeline_id: id,
      source_node_type: 'Person',
      target_node_type: 'Customer',
      source_nodes: 40,
      target_nodes: 40,
      matched_pairs: 30,
      matched_entities: 60,
      evaluation: {
        labelled_pairs: 4,
        true_positives: 1,
        false_positives: 1,
        false_negatives: 1,
        precision: 0.5,
        recall: 0.5,
        f1: 0.5,
      },
    })
    const deciles = body.deciles as { pairs: number }[]
    expect(deciles.reduce((sum, { pairs: count }) => sum + count, 0)).toBe(30)
    const review = body.pairs_to_review as { score: number; properties: { weight: number }[] }[]
    expect(review.map(({ score }) => score)).toEqual(review.map(({ score }) => score).sort((a, b) => a - b))
    expect(review.every(({ properties }) => properties.some(({ weight }) => weight > 0))).toBe(true)
    // Without labelled pairs nothing is measured.
    await setup.match(id)
    expect((await read('application/json')).body.evaluation).toBeNull()
  })

  it('is a page for browsers that loads nothing, and escapes what comes from the graph', async () => {
    const evil = '<script>alert(1)</script>'
    await capture([{ type: 'Customer', external_id: evil, properties: [property('email', 'evil@example.org')] }])
    await capture([{ type: 'Person', external_id: 'q1', properties: [property('email', 'evil@example.org')] }])
    await decide('q1', evil, 'SAME')
    await decide('p10', evil, 'SAME')
    await setup.match(id, { similarity_score_cutoff: 0.01 })
    const { status, text, headers } = await read('text/html,application/xhtml+xml')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('vary')).toContain('Accept')
    expect(text).toContain('<h1>Entity matching: Person and Customer</h1>')
    expect(text).not.toContain('<script')
    expect(text).not.toMatch(/(?:src|href)="(?!data:)/)
    await capture([{ type: 'Customer', external_id: evil }], 'nodes/delete')
    await capture([{ type: 'Person', external_id: 'q1' }], 'nodes/delete')
  })
})
