// Ships the changes of environments with random content and of a project that another process writes to, and checks each restored
// state. Prints its seed.
// Run alone: bun test/stress/shipping.ts [--seed 1] [--rounds 400] [--moments 50]
import { closeSync, copyFileSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { FolderPlace } from '../../src/backup/places/folder-place.ts'
import { listShipped } from '../../src/backup/shipping/moments.ts'
import { restoreShipped } from '../../src/backup/shipping/restore-shipped.ts'
import { mintGid } from '../../src/kernel/ids.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openCollections } from '../../src/store/documents/collections.ts'
import { changedPages } from '../../src/store/pages/page-difference.ts'
import { PageFile } from '../../src/store/pages/page-file.ts'
import { findTreeDamage } from '../../src/store/pages/page-walk.ts'
import { Random } from '../generate/random.ts'
import { shipperOf } from '../support/shipped-folder.ts'
import { stateOf } from './backup.ts'
import { numberAfter } from './flags.ts'

const options = { encoding: 'binary', noSubdir: false, overlappingSync: false, noSync: true, maxDbs: 16 } as const
/** How often the content is compared, and the copy is written to and compacted: LMDB counts every page then. */
const COMPARED_EVERY = 10
const KEYS = 3000

export interface DifferenceOutcome {
  readonly seed: number
  readonly rounds: number
  readonly pagesPerRound: number
  readonly filePages: number
  readonly faults: readonly string[]
}

/** Random transactions on several databases; after some of them the changed pages are applied to a copy. */
export async function differenceRounds(rounds: number, seed: number): Promise<DifferenceOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-pages-'))
  const source = join(folder, 'source')
  const copy = join(folder, 'copy')
  for (const path of [source, copy]) mkdirSync(path)
  const random = new Random(seed)
  const root = open({ path: source, ...options })
  const writer = new RandomWriter(root, random)
  const target = openSync(join(copy, 'data.mdb'), 'w')
  const faults: string[] = []
  let since = -1
  let pages = 0
  let filePages = 0
  try {
    for (let round = 1; round <= rounds && faults.length === 0; round++) {
      for (let left = random.between(1, 6); left > 0; left--) await writer.write(round)
      const file = new PageFile(join(source, 'data.mdb'))
      const [meta] = file.metas()!
      for (const { page, bytes } of changedPages(file, meta, since)) {
        writeSync(target, bytes, 0, bytes.length, page * meta.pageBytes)
        pages += bytes.length / meta.pageBytes
      }
      const metas = new Uint8Array(2 * meta.pageBytes)
      file.read(0, metas)
      writeSync(target, metas, 0, metas.length, 0)
      ftruncateSync(target, (meta.lastPage + 1) * meta.pageBytes)
      file.close()
      since = meta.transaction
      filePages = meta.lastPage + 1
      const damage = damageIn(join(copy, 'data.mdb'))
      if (damage !== null) faults.push(`round ${round}: ${damage}`)
      else if (round % COMPARED_EVERY === 0)
        faults.push(
          ...(await differencesOf(writer, copy, join(folder, `${round}`))).map((fault) => `round ${round}: ${fault}`),
        )
    }
  } finally {
    closeSync(target)
    await root.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { seed, rounds, pagesPerRound: Math.round(pages / rounds), filePages, faults }
}

function damageIn(path: string): string | null {
  const file = new PageFile(path)
  try {
    return findTreeDamage(file, file.metas()![0], { leaves: 'by key' })
  } finally {
    file.close()
  }
}

interface RawRange {
  put(key: Buffer, value: Buffer): unknown
  remove(key: Buffer): unknown
  dropSync(): void
  getRange(range: object): Iterable<{ key: Buffer; value: Buffer }>
}

class RandomWriter {
  readonly databases = new Map<string, RawRange>()
  private readonly root: RootDatabase
  private readonly random: Random

  constructor(root: RootDatabase, random: Random) {
    this.root = root
    this.random = random
  }

  async write(round: number): Promise<void> {
    const { random } = this
    const name = `database${random.between(1, 5)}`
    const database = this.databases.get(name) ?? openRaw(this.root, name)
    this.databases.set(name, database)
    if (random.odds(0.02)) {
      database.dropSync()
      this.databases.delete(name)
      return
    }
    const changes = random.odds(0.05) ? random.between(1000, 3000) : random.between(1, 50)
    const bytesMax = random.odds(0.1) ? Math.ceil(1_500_000 / changes) : 200
    await this.root.transaction(() => {
      for (let left = changes; left > 0; left--) {
        const key = Buffer.from(`key ${random.between(1, KEYS)}`)
        if (random.odds(0.4)) database.remove(key)
        else database.put(key, Buffer.alloc(random.between(0, bytesMax), round))
      }
    })
  }
}

function openRaw(root: RootDatabase, name: string): RawRange {
  return root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' }) as unknown as RawRange
}

function contentOf(database: RawRange): string {
  const range = { start: Buffer.from([0]), end: Buffer.from([255]) }
  return Array.from(database.getRange(range), ({ key, value }) => `${key} ${Bun.hash(value)}`).join('\n')
}

async function differencesOf(writer: RandomWriter, copy: string, opened: string): Promise<string[]> {
  mkdirSync(join(opened, 'compacted'), { recursive: true })
  copyFileSync(join(copy, 'data.mdb'), join(opened, 'data.mdb'))
  const root = open({ path: opened, ...options })
  try {
    const faults = [...writer.databases].flatMap(([name, database]) =>
      contentOf(openRaw(root, name)) === contentOf(database) ? [] : [`the content of ${name} differs`],
    )
    const added = openRaw(root, 'added')
    for (let time = 0; time < 20; time++)
      await root.transaction(() => {
        for (let at = 0; at < 200; at++) added.put(Buffer.from(`${at * time}`), Buffer.alloc(100))
      })
    await root.backup(join(opened, 'compacted'), true)
    return faults
  } catch (failure) {
    return [`the copy cannot be used: ${(failure as Error).message}`]
  } finally {
    await root.close()
    rmSync(opened, { recursive: true })
  }
}

export interface ShippingOutcome {
  readonly seed: number
  readonly objects: number
  readonly moments: number
  readonly kills: number
  readonly faults: readonly string[]
}

/** Another process writes to two environments; moments are shipped, sometimes by a successor of a killed shipper, and restored. */
export async function shippingMoments(moments: number, seed: number): Promise<ShippingOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-shipping-'))
  const data = join(folder, 'data')
  const random = new Random(seed)
  const project = mintGid(systemClock.now())
  const documents = openCollections(join(data, 'config'), {})
  await documents.transact((changes) =>
    changes.put('configuration', project, { kind: 'projects', id: project, project_id: '' }),
  )
  await documents.close()
  const writer = Bun.spawn(
    [process.execPath, join(import.meta.dirname, '..', 'process', 'transfer', 'counting-process.ts'), data, project],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const written: { readonly batch: number; readonly readMs: number }[] = []
  const reading = (async () => {
    let rest = ''
    for await (const bytes of writer.stdout) {
      const parts = (rest + new TextDecoder().decode(bytes)).split('\n')
      rest = parts.pop() ?? ''
      const batch = Number(parts.at(-1) ?? Number.NaN)
      if (!Number.isNaN(batch)) written.push({ batch, readMs: Date.now() })
    }
  })()
  const place = new FolderPlace(join(folder, 'place'))
  const faults: string[] = []
  let kills = 0
  let shipper = shipperOf(data, systemClock, { generationMs: 2000 })
  const abandoned: (typeof shipper)[] = []
  try {
    while (written.length === 0) await Bun.sleep(10)
    for (let object = 0; object < moments * 2; object++) {
      await shipper.round()
      if (random.odds(0.1)) {
        // As after a kill: the successor has the files only.
        kills += 1
        abandoned.push(shipper)
        shipper = shipperOf(data, systemClock, { generationMs: 2000 })
        await shipper.resume()
      }
      await Bun.sleep(random.between(1, 60))
    }
    writer.kill('SIGKILL')
    await writer.exited
    await reading
    await shipper.round()
    const objects = [...(await listShipped(place)).values()].flat()
    let before = 0
    for (const { timeMs } of choose(objects, moments, random).sort((a, b) => a.timeMs - b.timeMs)) {
      const restored = join(folder, 'restored')
      await restoreShipped({ place, dataDir: restored, atMs: timeMs, decrypt: null, progress: () => {} })
      const found = await stateOf(restored, project)
      rmSync(restored, { recursive: true })
      const moment = new Date(timeMs).toISOString()
      faults.push(...found.faults.map((fault) => `${moment}: ${fault}`))
      const [first = 0, second = 0] = found.counts
      const due = written.findLast(({ readMs }) => readMs < timeMs)?.batch ?? 0
      if (first !== second && first !== second + 1) faults.push(`${moment}: ${first} and ${second} batches`)
      if (second < due) faults.push(`${moment}: ${second} batches, and ${due} were acknowledged before`)
      if (first < before) faults.push(`${moment}: fewer batches than at an earlier moment`)
      before = first
    }
    return { seed, objects: objects.length, moments, kills, faults }
  } finally {
    writer.kill('SIGKILL')
    await writer.exited
    for (const one of [...abandoned, shipper]) await one.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function choose<T>(items: readonly T[], count: number, random: Random): T[] {
  const left = [...items]
  const chosen: T[] = []
  while (left.length > 0 && chosen.length < count) chosen.push(...left.splice(random.between(0, left.length - 1), 1))
  return chosen
}

if (import.meta.main) {
  const seed = numberAfter('--seed', Math.floor(Math.random() * 2 ** 31))
  console.log(`seed ${seed}`)
  const pages = await differenceRounds(numberAfter('--rounds', 400), seed)
  const moments = await shippingMoments(numberAfter('--moments', 50), seed)
  console.log(JSON.stringify({ pages, moments }, null, 2))
  process.exit(pages.faults.length + moments.faults.length === 0 ? 0 : 1)
}
