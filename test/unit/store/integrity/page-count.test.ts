// A corrupted page can hide keys from LMDB, which then reports them as missing. Any result that depends on them must be
// an error.
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { Graph } from '../../../../src/engine/graph.ts'
import { DataCorruptionError } from '../../../../src/kernel/errors.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { openStore } from '../../../../src/store/graph/open-store.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { PageFile, type PageTree, TreePage } from '../../../../src/store/pages/page-file.ts'
import { Random, testSeed } from '../../../generate/random.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const PERSONS = 1500
const name = (i: number): string => `person-${String(i).padStart(5, '0')}`

let folder: string
let path: string

beforeEach(async () => {
  folder = temporaryFolder()
  path = join(folder, 'data.mdb')
  const store = openStore(folder, { sync: false })
  await store.write((batch) => {
    for (let i = 0; i < PERSONS; i++) {
      const properties = [{ name: 'email', value: `${name(i)}@example.com` }]
      batch.upsertNode({ type: 'Person', externalId: name(i), properties })
    }
    for (let i = 1; i < PERSONS; i++) {
      const source = { type: 'Person', externalId: name(i) }
      batch.upsertRelationship({ source, type: 'BANNED', target: { type: 'Person', externalId: name(i - 1) } })
    }
  })
  await store.close()
})

interface LocatedPage {
  readonly number: number
  readonly page: TreePage
}

/** Pages of a named database at the given depth, from the leaves up. */
function pagesOf(database: string, height: number): LocatedPage[] {
  const file = new PageFile(path)
  const load = (number: number): TreePage => {
    const page = new TreePage(file.pageBytes)
    expect(page.load(file, number)).toBeNull()
    return page
  }
  const main = load(file.metas()![0].main.root!)
  let tree: PageTree | null = null
  for (let i = 0; i < main.count; i++) if (main.name(i) === database) tree = main.tree(i)
  let level: LocatedPage[] = [{ number: tree!.root!, page: load(tree!.root!) }]
  for (let depth = 1; depth < tree!.depth - height; depth++) {
    level = level.flatMap(({ page }) =>
      Array.from({ length: page.count }, (_, i) => ({ number: page.child(i), page: load(page.child(i)) })),
    )
  }
  file.close()
  return level
}

function write(at: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, bytes.length, at)
  closeSync(file)
}

/** The page header counts one entry less: the last one is hidden, and LMDB cannot detect it. */
function hideLastEntry({ number }: LocatedPage): void {
  const bytes = readFileSync(path)
  const at = number * 4096 + 20
  bytes.writeUInt16LE(bytes.readUInt16LE(at) - 2, at)
  writeFileSync(path, bytes)
}

/** `damage`: changes the file after its check. */
async function asked<T>(ask: (graph: Graph) => T, damage: () => void = () => {}): Promise<T> {
  const store = openStore(folder, { readOnly: true })
  try {
    damage()
    return ask(new Graph(store))
  } finally {
    await store.close()
  }
}

const notBanned = 'MATCH (subject:Person), (resource:Person) WHERE NOT (subject)-[:BANNED]->(resource)'

async function isPermitted(i: number, damage?: () => void): Promise<boolean> {
  return asked(
    (graph) => graph.prepare(notBanned).exists({ subject: ['Person', name(i)], resource: ['Person', name(i - 1)] }),
    damage,
  )
}

describe('a page that hides a key', () => {
  test('of a list is not a permit', async () => {
    expect(await isPermitted(700)).toBe(false)
    // The last list on the page is that of a node's outgoing relationships of the first type.
    const hidden = pagesOf('adjacency', 0).find(({ page }) => page.key(page.count - 1).readUInt32BE(4) === 1)!
    const node = hidden.page.key(hidden.page.count - 1).readUInt32BE(0)
    // Nodes are numbered from 1.
    expect(await isPermitted(node - 1)).toBe(false)
    await expect(isPermitted(node - 1, () => hideLastEntry(hidden))).rejects.toThrow(DataCorruptionError)
    expect(await verifyFolder(folder, () => {})).toEqual([
      expect.stringContaining(`adjacency: page ${hidden.number} has gaps or overlaps between its entries`),
    ])
  })

  test('of a node, or of the index, is not reported as missing', async () => {
    for (const [database, question] of [
      [
        'upsert-keys',
        (key: string) =>
          `MATCH (subject:Person), (resource:Person) WHERE NOT EXISTS { MATCH (p:Person {external_id: '${key}'}) }`,
      ],
      [
        'index',
        (key: string) =>
          `MATCH (subject:Person), (resource:Person) WHERE NOT EXISTS { MATCH (p:Person {email: '${key}'}) }`,
      ],
    ] as const) {
      const leaves = pagesOf(database, 0)
      const hidden = leaves[Math.floor(leaves.length / 3)]!
      const text = hidden.page.key(hidden.page.count - 1).toString('latin1')
      const key = /person-\d+(@example\.com)?/.exec(text)![0]
      const whole = readFileSync(path)
      const ask = (damage?: () => void) =>
        asked(
          (graph) =>
            graph.prepare(question(key)).exists({ subject: ['Person', name(1)], resource: ['Person', name(2)] }),
          damage,
        )
      expect(await ask()).toBe(false)
      await expect(ask(() => hideLastEntry(hidden))).rejects.toThrow(
        `page ${hidden.number} has gaps or overlaps between its entries`,
      )
      writeFileSync(path, whole)
    }
  })

  test('by a wrong child page is found, although every page is valid by itself', async () => {
    const branch = pagesOf('adjacency', 1).find(({ page }) => page.count > 3)!
    const at = (i: number): number => branch.number * 4096 + branch.page.keyStart(i) - 8
    const [second, third] = [
      branch.page.bytes.subarray(branch.page.keyStart(1) - 8, branch.page.keyStart(1) - 2),
      branch.page.bytes.subarray(branch.page.keyStart(2) - 8, branch.page.keyStart(2) - 2),
    ].map((bytes) => Uint8Array.from(bytes))
    const leaf = pagesOf('adjacency', 0).find(({ number }) => number === branch.page.child(1))!
    const node = leaf.page.key(2).readUInt32BE(0)
    write(at(1), third!)
    write(at(2), second!)
    await expect(isPermitted(node)).rejects.toThrow(DataCorruptionError)
    expect((await verifyFolder(folder, () => {})).join()).toMatch(/^adjacency: the keys of page \d+ are out of order$/)
  })

  test('is found if it is corrupted after the page was checked', async () => {
    const leaves = pagesOf('upsert-keys', 0)
    const hidden = leaves[Math.floor(leaves.length / 2)]!
    const lastKey = /person-\d+/.exec(hidden.page.key(hidden.page.count - 1).toString('latin1'))![0]
    const environment = openEnvironment(folder, { clock: systemClock, readOnly: true, cacheBytes: 0 })
    try {
      const find = (externalId: string): number => {
        const snapshot = environment.snapshot()
        try {
          return snapshot.findNode(snapshot.symbol('label', 'Person'), externalId)
        } finally {
          snapshot.close()
        }
      }
      expect(find(lastKey)).toBeGreaterThan(0)
      expect(find(`${lastKey}-absent`)).toBe(0)
      hideLastEntry(hidden)
      expect(() => find(lastKey)).toThrow(DataCorruptionError)
    } finally {
      await environment.close()
    }
  })

  test('above the leaves is found when the folder is opened', async () => {
    hideLastEntry(pagesOf('adjacency', 1)[0]!)
    await expect(isPermitted(3)).rejects.toThrow(
      /data\.mdb is damaged: adjacency: page \d+ has gaps or overlaps between its entries/,
    )
  })

  test('of a label gives no smaller search result', async () => {
    const everybody = (damage?: () => void) =>
      asked(
        (graph) =>
          graph.prepare('MATCH (subject:Person), (resource:Person)').find('subject', { resource: ['Person', name(1)] })
            .length,
        damage,
      )
    expect(await everybody()).toBe(PERSONS)
    const last = pagesOf('labels', 0).at(-1)!
    await expect(everybody(() => hideLastEntry(last))).rejects.toThrow(DataCorruptionError)
  })
})

test('a meta page that restores an earlier commit is refused', async () => {
  const bytes = readFileSync(path)
  const file = new PageFile(path)
  const newest = file.metas()![0].transaction
  file.close()
  // The newer page has a lower transaction number than the older one.
  const at = (newest & 1) * 4096 + 152
  bytes.writeBigUInt64LE(bytes.readBigUInt64LE(at) - 4n, at)
  writeFileSync(path, bytes)
  await expect(isPermitted(3)).rejects.toThrow('its meta pages are not from consecutive commits')
})

test('existing and missing nodes are distinguished after each of many commits, from checked pages and new ones', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const random = new Random(seed)
  const environment = openEnvironment(temporaryFolder(), { clock: systemClock, sync: false, cacheBytes: 0 })
  const there = new Set<string>()
  const key = (): string => `node-${random.between(0, 1500)}`
  for (let commit = 0; commit < 150; commit++) {
    await environment.write((batch) => {
      for (let change = random.between(1, 40); change > 0; change--) {
        const externalId = key()
        if (random.between(0, 3) === 0) {
          batch.deleteNode({ type: 'A', externalId })
          there.delete(externalId)
        } else {
          batch.upsertNode({ type: 'A', externalId })
          there.add(externalId)
        }
      }
    })
    const snapshot = environment.snapshot()
    const label = snapshot.symbol('label', 'A')
    for (let question = 0; question < 60; question++) {
      const externalId = key()
      expect(snapshot.findNode(label, externalId) !== 0, `${externalId} after ${commit}, seed ${seed}`).toBe(
        there.has(externalId),
      )
    }
    snapshot.close()
  }
  await environment.close()
})

test('a missing node is known to be missing while commits are being written to disk', async () => {
  const environment = openStore(temporaryFolder())
  await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: 'there' }))
  // Writes until enough reads happened, on a disk of any speed, and reads while a commit is in progress.
  const QUESTIONS = 40
  let asked = 0
  const writes = (async () => {
    for (let i = 0; asked < QUESTIONS; i++) {
      await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: `${i}` }))
    }
  })()
  while (asked < QUESTIONS) {
    const snapshot = environment.snapshot()
    expect(snapshot.findNode(snapshot.symbol('label', 'A'), `absent ${asked++}`)).toBe(0)
    snapshot.close()
    // Not after every commit: a state that was checked is not checked again.
    await Bun.sleep(asked % 23)
  }
  await writes
  await environment.close()
})
