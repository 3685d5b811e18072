// Ships the changes of a served data folder to a place of backups: a base at the start of each generation, then the difference from the
// object before at each interval. An object is written to a local file first, so a slow place holds no read transaction, and an object
// whose upload failed is sent again with the same bytes (docs/decisions/0060-shipping.md).
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { CONFIGURATION_FOLDER, DEMO_FILE } from '../../kernel/folder/data-folder.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { type Cut, type CutEnvironment, CutTaker, readState } from '../../store/lmdb/consistent-cut.ts'
import { auditIndexFolder, servedFolders } from '../../transfer/files/database-folders.ts'
import { claimPlace } from '../places/claim-place.ts'
import type { BackupPlace } from '../places/place.ts'
import { findFault, listShipped, restorablePeriods } from './moments.ts'
import {
  encodeShipment,
  SHIPMENT_FORMAT,
  SHIPMENT_VERSION,
  type ShipmentHeader,
  type ShippedEnvironment,
  type ShippedFile,
} from './shipment.ts'
import {
  generationName,
  OWNER_PREFIX,
  parseShipmentName,
  SHIPPED_PREFIX,
  type ShipmentName,
  shipmentName,
} from './shipment-name.ts'
import { ShippedLogs } from './shipped-logs.ts'
import { ShippingFailures, type ShippingNote } from './shipping-failures.ts'
import type { ShippingFigures } from './shipping-figures.ts'
import { type ShippedGeneration, ShippingStateFile } from './shipping-state.ts'
import { type StreamCipher, spoolBody, writeSpool } from './spool.ts'

/** The object that is being sent, and the base that is being written. */
const OUTGOING_FILE = 'outgoing'
const DRAFT_FILE = 'outgoing.next'
const BASE_FILE = 'base'

/** How often the end of an idle time is shipped: an empty object shows that nothing has changed. */
const IDLE_INTERVAL_MS = 30_000
/** A generation also ends when its segments have become much larger than its base, or too many to be applied quickly. */
const SEGMENT_BYTES_MIN = 64 * 1024 * 1024
const SEGMENTS_PER_BASE = 2
const SEQUENCE_MAX = 50_000
/** Delay before a base that failed is made again. */
const BASE_RETRY_MS = 60_000
/** The same for the first base, without which nothing can be restored. */
const FIRST_BASE_RETRY_MS = 10_000
const HOUR_MS = 3_600_000
/** How often the objects of the generation are listed. One that was lost would make all after it useless. */
const CHECK_INTERVAL_MS = HOUR_MS
/** Delay before the objects are listed again when this failed. */
const CHECK_RETRY_MS = 60_000

/** Collaborators and options of the shipping. */
export interface ShipperOptions {
  readonly dataDir: string
  /** Of the data folder. Only one organization may ship to a place. */
  readonly organizationId: string
  readonly place: BackupPlace
  readonly intervalMs: number
  /** After this time a generation is followed by another one. */
  readonly generationMs: number
  /** For how long every shipped moment can be restored. */
  readonly keepMs: number
  /** Null: objects are not encrypted. */
  readonly encrypt: StreamCipher | null
  /** Such as `verdigraph 1.0.0`. */
  readonly madeBy: string
  readonly clock: Clock
  readonly log: (note: ShippingNote) => void
  /** How often a failure with this message must be logged now as having occurred; 0: it is not logged now. */
  readonly timesOf: (message: string) => number
  readonly figures: ShippingFigures
}

/** Ships the changes of one data folder. One process of a folder may ship at a time. */
export class Shipper {
  private readonly options: ShipperOptions
  private readonly cuts: CutTaker
  private readonly logs: ShippedLogs
  private readonly state: ShippingStateFile
  private generation: ShippedGeneration | null = null
  /** An object that is written and may not have arrived. */
  private outgoing: { readonly name: string; readonly bytes: number; readonly after: ShippedGeneration } | null = null
  /** The last moment at which the state was that of the last object. */
  private unchangedUntilMs = 0
  /** The next generation, while its base is made; then the generation that it began. */
  private base: Promise<void> | null = null
  private nextGeneration: ShippedGeneration | null = null
  private baseNotBeforeMs = 0
  private checkNotBeforeMs = 0
  private readonly failures: ShippingFailures
  private isClosing = false
  private wake: () => void = () => {}
  private running: Promise<void> | null = null

  constructor(options: ShipperOptions) {
    this.options = options
    this.cuts = new CutTaker(() => servedFolders(options.dataDir), options.clock)
    this.logs = new ShippedLogs(options.dataDir)
    this.state = new ShippingStateFile(options.dataDir)
    this.failures = new ShippingFailures(options)
  }

  /** Ships at each interval until `close`. */
  start(): void {
    this.running = this.run()
  }

  private async run(): Promise<void> {
    const { intervalMs } = this.options
    let isResumed = false
    while (!this.isClosing) {
      const startMs = performance.now()
      try {
        if (!isResumed) await this.resume()
        isResumed = true
        await this.round()
      } catch (failure) {
        this.failures.report('changes', failure)
      }
      const restMs = startMs + intervalMs - performance.now()
      if (restMs > 0 && !this.isClosing) await this.pause(restMs)
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Continues the generation of the process before, if its objects are exactly those that the state knows. */
  async resume(): Promise<void> {
    const { dataDir, place, log, encrypt } = this.options
    await this.claimPlace()
    for (const file of [DRAFT_FILE, BASE_FILE]) rmSync(join(this.state.folder, file), { force: true })
    const state = this.state.read()
    if (state === null) return
    const { generation, outgoing } = state
    if (state.place !== place.address) {
      this.state.clear()
      const message = 'the place is another one than before: a new generation begins'
      log({ level: 'info', message, place: place.address })
      return
    }
    const newest = await this.newestObject(generation.name)
    const isKnown =
      generation.environments[CONFIGURATION_FOLDER]?.identity ===
        readState(join(dataDir, CONFIGURATION_FOLDER))?.identity &&
      (outgoing === null || this.hasOutgoing(outgoing.bytes)) &&
      (newest === null ||
        (newest.isEncrypted === (encrypt !== null) &&
          (newest.sequence <= generation.sequence || newest.name === outgoing?.name)))
    if (!isKnown) {
      log({
        level: 'info',
        message: 'the shipped objects are not those of this data folder: a new generation begins',
        place: place.address,
        generation: generation.name,
      })
      this.state.clear()
      return
    }
    if (!(await this.isComplete(generation))) return
    this.generation = generation
    this.outgoing = outgoing
    this.unchangedUntilMs = generation.timeMs
    this.options.figures.baseS = seconds(generation.baseTimeMs)
  }

  /**
   * False: an object of the generation is missing, or there twice, so no later one can be restored. Then the state is
   * cleared, and the figures have the newest moment that can be restored. Rejects if the place cannot be listed.
   */
  private async isComplete({ name, sequence }: ShippedGeneration): Promise<boolean> {
    const { place, clock, log, figures } = this.options
    const shipped = await listShipped(place)
    // An object after the last one may have arrived although its upload seemed to fail.
    const fault = findFault(name, shipped.get(name) ?? [], sequence)
    // When all objects are lost, that of the owner is, too.
    if (fault !== null) await this.claimPlace()
    this.checkNotBeforeMs = clock.now() + CHECK_INTERVAL_MS
    this.failures.end('check')
    if (fault === null) return true
    log({
      level: 'error',
      message: 'a shipped object is lost: a new generation begins',
      place: place.address,
      generation: name,
      reason: `${fault}: no object after it can be restored`,
    })
    this.state.clear()
    figures.failures = (figures.failures + 1) >>> 0
    figures.momentS = seconds(Math.max(0, ...restorablePeriods(shipped).map(({ toMs }) => toMs)))
    return false
  }

  /** Ends the generation if it is not complete. A place that cannot be listed now may still take objects. */
  private async checkObjects(generation: ShippedGeneration): Promise<void> {
    const nowMs = this.options.clock.now()
    if (nowMs < this.checkNotBeforeMs) return
    this.checkNotBeforeMs = nowMs + CHECK_RETRY_MS
    try {
      if (await this.isComplete(generation)) return
    } catch (failure) {
      this.failures.report('check', failure)
      return
    }
    this.generation = null
    this.outgoing = null
    this.baseNotBeforeMs = 0
  }

  /** Rejects if another organization ships to the place: a restore could not keep their changes apart. */
  private async claimPlace(): Promise<void> {
    const { place, organizationId } = this.options
    await claimPlace(place, { prefix: OWNER_PREFIX, organizationId, verb: 'ships to' })
  }

  private hasOutgoing(bytes: number): boolean {
    const path = join(this.state.folder, OUTGOING_FILE)
    return existsSync(path) && Bun.file(path).size === bytes
  }

  private async newestObject(generation: string): Promise<ShipmentName | null> {
    let newest: ShipmentName | null = null
    for await (const { name } of this.options.place.list(`${SHIPPED_PREFIX}${generation}/`)) {
      const object = parseShipmentName(name)
      if (object !== null && object.sequence >= (newest?.sequence ?? 0)) newest = object
    }
    return newest
  }

  /** Ships what has changed since the last round. Rejects if it cannot be shipped now. */
  async round(): Promise<void> {
    if (this.outgoing !== null) await this.send()
    if (this.nextGeneration !== null) this.switchGeneration(this.nextGeneration)
    if (this.generation !== null) await this.checkObjects(this.generation)
    if (this.generation === null) {
      // The base that is being made begins the next generation.
      if (this.base === null) await this.makeBase()
      return
    }
    if (this.isBaseDue(this.generation)) this.beginBase()
    await this.shipSegment(this.generation)
  }

  private switchGeneration(next: ShippedGeneration): void {
    this.nextGeneration = null
    this.generation = next
    this.unchangedUntilMs = next.timeMs
    this.state.write({ version: 1, place: this.options.place.address, generation: next, outgoing: null })
    this.options.figures.baseS = seconds(next.baseTimeMs)
    this.checkNotBeforeMs = this.options.clock.now() + CHECK_INTERVAL_MS
    this.removeOld().then(
      () => this.failures.end('removal'),
      (failure: unknown) => this.failures.report('removal', failure),
    )
  }

  private isBaseDue({ baseTimeMs, baseBytes, segmentBytes, sequence }: ShippedGeneration): boolean {
    const nowMs = this.options.clock.now()
    if (this.base !== null || nowMs < this.baseNotBeforeMs) return false
    return (
      nowMs - baseTimeMs >= this.options.generationMs ||
      segmentBytes > Math.max(SEGMENT_BYTES_MIN, SEGMENTS_PER_BASE * baseBytes) ||
      sequence >= SEQUENCE_MAX
    )
  }

  /** Segments of the present generation are shipped while the base is made. */
  private beginBase(): void {
    this.base = this.shipBase()
      .then((generation) => {
        this.nextGeneration = generation
      })
      .catch((failure: unknown) => {
        this.baseNotBeforeMs = this.options.clock.now() + BASE_RETRY_MS
        this.failures.report('base', failure)
      })
      .finally(() => {
        this.base = null
      })
  }

  private async makeBase(): Promise<void> {
    const { clock } = this.options
    if (clock.now() < this.baseNotBeforeMs) return
    try {
      this.switchGeneration(await this.shipBase())
      this.failures.end('changes')
    } catch (failure) {
      this.baseNotBeforeMs = clock.now() + FIRST_BASE_RETRY_MS
      throw failure
    }
  }

  private async shipBase(): Promise<ShippedGeneration> {
    const { place, encrypt, dataDir, figures } = this.options
    const cut = await this.cuts.take(() => null)
    const { timeMs } = cut
    const name = generationName(timeMs, randomBytes(4).toString('hex'))
    const object = shipmentName({
      generation: name,
      sequence: 0,
      kind: 'base',
      timeMs,
      unchangedUntilMs: timeMs,
      isEncrypted: encrypt !== null,
    })
    const path = join(this.state.folder, BASE_FILE)
    let spooled: { digest: string; bytes: number }
    let logs: Awaited<ReturnType<ShippedLogs['changesSince']>>
    try {
      logs = await this.logs.changesSince({}, 0)
      const files = withDemo(dataDir, logs.files)
      const content = encodeShipment(
        this.header(object, cut, null),
        pagesOf(cut, () => -1),
        files,
      )
      spooled = await writeSpool(path, content, encrypt)
    } finally {
      cut.release()
    }
    await place.put(object.name, spoolBody(path), spooled.bytes)
    rmSync(path, { force: true })
    this.count(spooled.bytes)
    this.failures.end('base')
    figures.momentS = Math.max(figures.momentS, seconds(timeMs))
    return {
      name,
      sequence: 0,
      digest: spooled.digest,
      timeMs,
      baseTimeMs: timeMs,
      baseBytes: spooled.bytes,
      segmentBytes: 0,
      environments: Object.fromEntries(cut.changed.map((one) => [this.pathOf(one.folder), stateOf(one)])),
      logs: logs.after,
    }
  }

  private async shipSegment(before: ShippedGeneration): Promise<void> {
    const { encrypt, dataDir } = this.options
    const cut = await this.cuts.take((folder) => before.environments[this.pathOf(folder)] ?? null)
    try {
      const timeMs = Math.max(cut.timeMs, before.timeMs)
      const folders = new Set(cut.folders.map((folder) => this.pathOf(folder)))
      const removed = Object.keys(before.environments).filter((path) => !folders.has(path))
      if (cut.changed.length === 0 && removed.length === 0 && timeMs - before.timeMs < IDLE_INTERVAL_MS) {
        this.unchanged(timeMs)
        return
      }
      const isIdle = cut.changed.length === 0 && removed.length === 0
      const object = shipmentName({
        generation: before.name,
        sequence: before.sequence + 1,
        kind: 'segment',
        timeMs,
        unchangedUntilMs: isIdle ? timeMs : Math.max(before.timeMs, this.unchangedUntilMs),
        isEncrypted: encrypt !== null,
      })
      const isSealed = cut.changed.some(({ folder }) => folder === auditIndexFolder(dataDir))
      const logs = isSealed ? await this.logs.changesSince(before.logs, before.timeMs) : null
      const shipped: string[] = []
      const sinceOf = (one: CutEnvironment) => this.sinceOf(before, one)
      const header = this.header(object, cut, before, removed)
      const content = encodeShipment(header, pagesOf(cut, sinceOf), noted(logs?.files ?? [], shipped))
      const draft = join(this.state.folder, DRAFT_FILE)
      const { digest, bytes } = await writeSpool(draft, content, encrypt)
      this.logs.markShipped(shipped)
      const after: ShippedGeneration = {
        ...before,
        sequence: object.sequence,
        digest,
        timeMs,
        segmentBytes: before.segmentBytes + bytes,
        environments: environmentsAfter(before, cut, removed, (folder) => this.pathOf(folder)),
        logs: logs?.after ?? before.logs,
      }
      renameSync(draft, join(this.state.folder, OUTGOING_FILE))
      this.outgoing = { name: object.name, bytes, after }
      this.state.write({
        version: 1,
        place: this.options.place.address,
        generation: before,
        outgoing: this.outgoing,
      })
    } finally {
      cut.release()
    }
    await this.send()
  }

  /** Sends the object that is written. It has the same name and bytes each time. */
  private async send(): Promise<void> {
    const { outgoing } = this
    if (outgoing === null) return
    const { place, figures } = this.options
    const { name, bytes, after } = outgoing
    await place.put(name, spoolBody(join(this.state.folder, OUTGOING_FILE)), bytes)
    this.outgoing = null
    this.generation = after
    this.unchangedUntilMs = after.timeMs
    this.state.write({ version: 1, place: place.address, generation: after, outgoing: null })
    this.count(bytes)
    figures.momentS = seconds(after.timeMs)
    this.failures.end('changes')
  }

  private unchanged(timeMs: number): void {
    this.unchangedUntilMs = timeMs
    this.options.figures.momentS = seconds(timeMs)
  }

  private count(bytes: number): void {
    const { figures } = this.options
    figures.objects = (figures.objects + 1) >>> 0
    figures.kibibytes = (figures.kibibytes + Math.ceil(bytes / 1024)) >>> 0
  }

  private header(
    { generation, sequence, kind, timeMs, unchangedUntilMs }: ShipmentName,
    cut: Cut,
    before: ShippedGeneration | null,
    removed: readonly string[] = [],
  ): ShipmentHeader {
    return {
      format: SHIPMENT_FORMAT,
      version: SHIPMENT_VERSION,
      made_by: this.options.madeBy,
      generation,
      sequence,
      kind,
      previous: before === null ? null : before.digest,
      time: new Date(timeMs).toISOString(),
      unchanged_until: new Date(unchangedUntilMs).toISOString(),
      environments: cut.changed.map((one): ShippedEnvironment => {
        const since = before === null ? -1 : this.sinceOf(before, one)
        return {
          path: this.pathOf(one.folder),
          page_bytes: one.meta.pageBytes,
          from: since === -1 ? null : since,
          to: one.transaction,
          last_page: one.meta.lastPage,
        }
      }),
      removed: [...removed],
    }
  }

  /** -1: the environment is shipped whole, because its file is another one than before. */
  private sinceOf({ environments }: ShippedGeneration, { folder, identity, transaction }: CutEnvironment): number {
    const known = environments[this.pathOf(folder)]
    return known?.identity === identity && known.transaction <= transaction ? known.transaction : -1
  }

  private pathOf(folder: string): string {
    return relative(this.options.dataDir, folder).split(sep).join('/')
  }

  /** Removes generations that are not needed for the moments to keep, the newest object of each first. */
  private async removeOld(): Promise<void> {
    const { place, clock, keepMs } = this.options
    const objects: ShipmentName[] = []
    for await (const { name } of place.list(SHIPPED_PREFIX)) {
      const object = parseShipmentName(name)
      if (object !== null) objects.push(object)
    }
    const bases = objects.filter(({ kind }) => kind === 'base').sort((a, b) => a.timeMs - b.timeMs)
    const firstKept = bases.findLast(({ timeMs }) => timeMs <= clock.now() - keepMs)
    if (firstKept === undefined) return
    const old = objects.filter(({ generation }) => generation < firstKept.generation)
    for (const { name } of old.sort((a, b) => (a.name < b.name ? 1 : -1))) await place.remove(name)
  }

  /** Removes readers of killed processes from the reader tables of open environments. */
  clearStaleReaders(): void {
    this.cuts.clearStaleReaders()
  }

  /** Stops shipping at intervals, and ships the last changes. A base that is being made is abandoned when the process exits. */
  async finish(): Promise<void> {
    this.isClosing = true
    this.wake()
    await this.running
    if (this.generation === null) return
    await this.round().catch((failure: unknown) => this.failures.report('last changes', failure))
  }

  /** Stops shipping at intervals, without the last changes, and closes all files. */
  async close(): Promise<void> {
    this.isClosing = true
    this.wake()
    await this.running
    await this.base
    await this.logs.close()
    await this.cuts.close()
  }
}

/** The length of an hour in milliseconds times `hours`. */
export function hoursMs(hours: number): number {
  return hours * HOUR_MS
}

function stateOf({ identity, transaction }: CutEnvironment): { identity: string; transaction: number } {
  return { identity, transaction }
}

function environmentsAfter(
  { environments }: ShippedGeneration,
  { changed }: Cut,
  removed: readonly string[],
  pathOf: (folder: string) => string,
): ShippedGeneration['environments'] {
  const after = { ...environments }
  for (const path of removed) delete after[path]
  for (const one of changed) after[pathOf(one.folder)] = stateOf(one)
  return after
}

function pagesOf({ changed }: Cut, sinceOf: (environment: CutEnvironment) => number) {
  return changed.map((environment) => ({
    metaPage: environment.metaPage,
    pages: () => environment.pages(sinceOf(environment)),
  }))
}

async function* withDemo(dataDir: string, files: AsyncIterable<ShippedFile>): AsyncIterable<ShippedFile> {
  const demo = join(dataDir, DEMO_FILE)
  if (existsSync(demo)) yield { path: DEMO_FILE, bytes: readFileSync(demo) }
  yield* files
}

async function* noted(
  files: AsyncIterable<ShippedFile> | Iterable<ShippedFile>,
  paths: string[],
): AsyncIterable<ShippedFile> {
  for await (const file of files) {
    yield file
    paths.push(file.path)
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
