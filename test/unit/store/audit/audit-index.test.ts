import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AuditIndex } from '../../../../src/store/audit/audit-index.ts'
import { hashOfTerm } from '../../../../src/store/audit/audit-terms.ts'
import {
  AUDIT_DIMENSION,
  type AuditBatch,
  type AuditCheckpoint,
  type AuditGeneration,
  type AuditLog,
} from '../../../../src/store/audit/audit-types.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { migrateFolder } from '../../../../src/store/lmdb/migrate-folder.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = { sync: false }

function generation(number: number, more: Partial<AuditGeneration> = {}): AuditGeneration {
  const origin = `verdigraph/projects/P/${number}`
  return {
    number,
    name: `g${number}`,
    origin,
    openedMs: 0,
    firstBatch: 1,
    size: 0,
    root: '',
    edge: [],
    prunedTo: 0,
    ...more,
  }
}

function log(id: string, more: Partial<AuditLog> = {}): AuditLog {
  return {
    id,
    owner: `gid:${id}`,
    kind: 'project',
    generations: [generation(1)],
    sequence: 0,
    headHash: '',
    checkpoint: 0,
    hashKey: '',
    deletedMs: null,
    mustReopen: false,
    sealedMs: 0,
    ...more,
  }
}

function batch(sequence: number, more: Partial<AuditBatch> = {}): AuditBatch {
  const prevHash = sequence === 1 ? '' : `head ${sequence - 1}`
  return {
    sequence,
    batchId: `b${sequence}`,
    generation: 1,
    from: sequence - 1,
    to: sequence,
    hash: '',
    prevHash,
    headHash: `head ${sequence}`,
    signature: '',
    manifestId: '',
    manifestSignature: '',
    kid: 'k',
    createdMs: 0,
    ...more,
  }
}

function checkpoint(number: number): AuditCheckpoint {
  return {
    number,
    checkpointId: `c${number}`,
    generation: 1,
    sequence: number,
    headHash: '',
    size: number,
    root: '',
    note: '',
    signature: '',
    kid: 'k',
    createdMs: 0,
  }
}

describe('the index of the audit logs', () => {
  test('returns logs, batches in order, checkpoints newest first, cursors and keys, also after it was opened again', async () => {
    const folder = temporaryFolder()
    const written = new AuditIndex(folder, options)
    await written.write((edits) => {
      for (const id of ['A', 'AB']) {
        edits.putLog(
          log(id, { sequence: 5, headHash: 'head 5', checkpoint: 5, generations: [generation(1, { size: 5 })] }),
        )
        edits.putCursor(id, 'activity', { origin: 'abc', next: 4 })
        for (let i = 1; i <= 5; i++) {
          edits.putBatch(id, batch(i, { batchId: `${id}${i}` }))
          edits.putCheckpoint(id, checkpoint(i))
        }
      }
      edits.putKey({ kid: 'z', spki: '', sealedPrivate: '', createdMs: 1, retiredMs: 2 })
      edits.putKey({ kid: 'a', spki: '', sealedPrivate: '', createdMs: 2, retiredMs: null })
      edits.putSource('graph', 'state')
    })
    await written.close()
    const index = new AuditIndex(folder, options)
    expect(index.logs().map(({ id }) => id)).toEqual(['A', 'AB'])
    expect(index.state('A')?.sequence).toBe(5)
    expect(index.state('B')).toBeNull()
    expect(index.batches('A', 2, 2).map(({ batchId }) => batchId)).toEqual(['A3', 'A4'])
    expect(index.batches('A', 4, 10).map(({ batchId }) => batchId)).toEqual(['A5'])
    expect(index.batch('AB', 1)?.batchId).toBe('AB1')
    expect(index.checkpoints('A', Number.POSITIVE_INFINITY, 2).map(({ number }) => number)).toEqual([5, 4])
    expect(index.checkpoints('AB', 3, 10).map(({ number }) => number)).toEqual([2, 1])
    expect(index.newestCheckpoint('A')?.number).toBe(5)
    expect(index.newestCheckpoint('none')).toBeNull()
    expect(index.cursors('A')).toEqual(new Map([['activity', { origin: 'abc', next: 4 }]]))
    expect(index.keys().map(({ kid }) => kid)).toEqual(['z', 'a'])
    expect(index.sources()).toEqual(new Map([['graph', 'state']]))
    await index.write((edits) => edits.removeLog('A'))
    expect([index.logs().length, index.batches('A', 0, 10).length, index.batches('AB', 0, 10).length]).toEqual([
      1, 0, 5,
    ])
    await index.close()
    expect(await verifyFolder(folder, () => {})).toEqual([])
    expect(await migrateFolder(folder)).toBe(false)
  })

  test('is damaged if a batch is missing, the hash chain is broken or the log does not end with its last batch', async () => {
    for (const [batches, finding] of [
      [[batch(1), batch(3)], 'batches before it are missing'],
      [[batch(1), batch(2, { prevHash: 'other' })], 'does not continue the hash chain'],
      [[batch(1), batch(2, { from: 0 })], 'does not begin where the batch before it ends'],
      [[batch(1)], 'does not end with its last batch'],
    ] as const) {
      const folder = temporaryFolder()
      const index = new AuditIndex(folder, options)
      await index.write((edits) => {
        edits.putLog(log('A', { sequence: 2, headHash: 'head 2' }))
        for (const each of batches) edits.putBatch('A', each)
      })
      await index.close()
      expect((await verifyFolder(folder, () => {})).join('\n')).toContain(finding)
    }
  })

  test('finds exactly the bundles that contain a value of each dimension, in both orders and in parts', async () => {
    const values = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 2 })
    const bundles = fc.array(
      fc.record({
        generation: fc.constantFrom(7, 8, 9),
        bundle: fc.nat(40),
        types: values,
        actors: values,
        resources: values,
        fromMs: fc.nat(50),
      }),
      { maxLength: 30 },
    )
    const filters = fc.record({
      types: values,
      actors: values,
      resources: values,
      fromMs: fc.nat(50),
      toMs: fc.nat(60),
    })
    await fc.assert(
      fc.asyncProperty(bundles, filters, fc.integer({ min: 1, max: 5 }), async (all, filter, limit) => {
        const distinct = [...new Map(all.map((each) => [`${each.generation} ${each.bundle}`, each])).values()]
        const index = new AuditIndex(temporaryFolder(), options)
        await index.write((edits) => {
          edits.putLog(log('A', { generations: [generation(7), generation(9)] }))
          for (const { generation: number, bundle, types, actors, resources, fromMs } of distinct) {
            edits.putBundle({ generation: number, bundle, fromMs, toMs: fromMs + 5 })
            const lists = [
              [AUDIT_DIMENSION.type, types],
              [AUDIT_DIMENSION.actor, actors],
              [AUDIT_DIMENSION.resource, resources],
            ] as const
            for (const [dimension, list] of lists)
              for (const value of new Set(list))
                edits.putPosting({ generation: number, bundle, ...hashOfTerm({ dimension, value }) })
          }
        })
        const overlaps = (found: readonly string[], wanted: readonly string[]): boolean =>
          wanted.length === 0 || wanted.some((value) => found.includes(value))
        const expected = distinct
          .filter((each) => each.generation !== 8)
          .filter((each) => overlaps(each.types, filter.types) && overlaps(each.actors, filter.actors))
          .filter((each) => overlaps(each.resources, filter.resources))
          .filter(({ fromMs }) => fromMs + 5 >= filter.fromMs && fromMs < filter.toMs)
          .sort((x, y) => x.generation - y.generation || x.bundle - y.bundle)
          .map(({ generation: number, bundle }) => [number, bundle])
        for (const order of ['oldest first', 'newest first'] as const) {
          const found: number[][] = []
          let position = null
          for (;;) {
            const part = index.find('A', filter, position, limit + 1, order)
            found.push(...part.slice(0, limit).map(({ generation: number, bundle }) => [number, bundle]))
            const next = part[limit]
            if (next === undefined) break
            position = next
          }
          expect(found).toEqual(order === 'oldest first' ? expected : [...expected].reverse())
        }
        await index.close()
      }),
      { numRuns: 60 },
    )
  })

  test('forgets bundles that were removed, with their postings, and keeps the others', async () => {
    const index = new AuditIndex(temporaryFolder(), options)
    const term = hashOfTerm({ dimension: AUDIT_DIMENSION.type, value: 'a' })
    await index.write((edits) => {
      edits.putLog(log('A', { generations: [generation(1), generation(2)] }))
      for (const number of [1, 2])
        for (let bundle = 0; bundle < 6000; bundle++) {
          edits.putBundle({ generation: number, bundle, fromMs: 0, toMs: 0 })
          edits.putPosting({ generation: number, bundle, ...term })
        }
    })
    await index.removeBundles(1, 5990)
    for (const filter of [{}, { types: ['a'] }]) {
      const found = index.find('A', filter, null, 10_000)
      expect(found.length).toBe(6010)
      expect(found[0]).toMatchObject({ generation: 1, bundle: 5990 })
    }
    await index.close()
  })
})
