// Applies shipped objects in order to a folder: writes pages at their places in the data files, and files below the folder. Refuses an
// object that does not follow the one before. The caller syncs the folder to disk.
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { metaTransaction } from '../../store/lmdb/consistent-cut.ts'
import {
  decodeFrames,
  FRAME,
  type Frame,
  SHIPMENT_FORMAT,
  SHIPMENT_VERSION,
  ShipmentDamagedError,
  type ShipmentHeader,
  type ShippedEnvironment,
  shipmentHeaderSchema,
  shippedFileSchema,
  uintOf,
} from './shipment.ts'
import type { ShipmentName } from './shipment-name.ts'

/** In a meta page: its page number, and the number of its transaction. */
const META_PAGE_AT = 0
const META_TRANSACTION_AT = 152

/** Builds the data files of a generation from its objects. */
export class ShipmentApplier {
  /** The last applied object; null: none was applied. */
  last: ShipmentHeader | null = null
  private readonly folder: string
  private digest: string | null = null
  /** The transaction of each environment. */
  private readonly transactions = new Map<string, number>()

  /** `folder`: empty, without a data folder that is in use. */
  constructor(folder: string) {
    this.folder = folder
  }

  /** The environments so far, as folders in the data folder. */
  get environments(): readonly string[] {
    return [...this.transactions.keys()]
  }

  /**
   * Applies the next object, which must be the base or follow the last one. After a failure the folder must be discarded. Throws
   * OperationalError that names the object.
   */
  async apply(object: ShipmentName, content: AsyncIterable<Uint8Array>): Promise<ShipmentHeader> {
    const writing = new ShipmentWriting(this.folder)
    try {
      const frames = decodeFrames(content)
      let header: ShipmentHeader | null = null
      for (;;) {
        const step = await frames.next()
        if (step.done === true) {
          if (header === null) throw new ShipmentDamagedError('has no header')
          writing.finish(header)
          this.accept(header, step.value)
          return header
        }
        if (header === null) {
          header = readHeader(step.value)
          this.requireNext(object, header)
          writing.begin(header)
        } else writing.frame(header, step.value)
      }
    } catch (failure) {
      if (!(failure instanceof ShipmentDamagedError)) throw failure
      throw new OperationalError(`the object ${object.name} ${failure.message}`)
    } finally {
      writing.close()
    }
  }

  private requireNext(object: ShipmentName, header: ShipmentHeader): void {
    const { generation, sequence, kind, previous } = header
    if (generation !== object.generation || sequence !== object.sequence || kind !== object.kind)
      throw new ShipmentDamagedError('has the content of another object: it was renamed')
    const { last } = this
    if (last === null) {
      if (kind !== 'base') throw new ShipmentDamagedError('is not the base of its generation')
      return
    }
    if (kind === 'base') throw new ShipmentDamagedError('is a second base in its generation')
    if (sequence !== last.sequence + 1)
      throw new ShipmentDamagedError(`does not follow the object ${last.sequence}: objects are missing or out of order`)
    if (previous !== this.digest)
      throw new ShipmentDamagedError(`does not follow the object ${last.sequence} of this generation, but another one`)
    for (const { path, from } of header.environments) {
      if (from !== null && this.transactions.get(path) !== from)
        throw new ShipmentDamagedError(`is a difference of \`${path}\` from another state`)
    }
  }

  private accept(header: ShipmentHeader, digest: string): void {
    for (const path of header.removed) this.transactions.delete(path)
    for (const { path, to } of header.environments) this.transactions.set(path, to)
    this.digest = digest
    this.last = header
  }
}

/** The files that are open while one object is applied. */
class ShipmentWriting {
  private readonly folder: string
  private environment: ShippedEnvironment | null = null
  private data: number | null = null
  private done = 0
  private file: { readonly path: string; readonly descriptor: number; left: number } | null = null

  constructor(folder: string) {
    this.folder = folder
  }

  begin({ removed }: ShipmentHeader): void {
    for (const path of removed) rmSync(join(this.folder, path, DATA_FILE), { force: true })
  }

  frame(header: ShipmentHeader, { type, bytes }: Frame): void {
    switch (type) {
      case FRAME.environment:
        this.openEnvironment(header, uintOf(bytes))
        return
      case FRAME.pages:
        this.pages(uintOf(bytes), bytes.subarray(8))
        return
      case FRAME.meta:
        this.meta(bytes)
        return
      case FRAME.file:
        this.openFile(bytes)
        return
      case FRAME.content:
        this.content(bytes)
        return
      default:
        throw new ShipmentDamagedError(`has a frame of the unknown type ${type}`)
    }
  }

  finish({ environments }: ShipmentHeader): void {
    this.endFile()
    if (this.environment !== null || this.done !== environments.length)
      throw new ShipmentDamagedError('does not contain all environments of its header')
  }

  close(): void {
    if (this.data !== null) closeSync(this.data)
    if (this.file !== null) closeSync(this.file.descriptor)
  }

  private openEnvironment({ environments }: ShipmentHeader, index: number): void {
    const environment = environments[index]
    if (environment === undefined || this.environment !== null || index !== this.done)
      throw new ShipmentDamagedError('has its environments out of order')
    const path = join(this.folder, environment.path, DATA_FILE)
    if (environment.from === null) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      rmSync(path, { force: true })
    }
    this.data = openSync(path, environment.from === null ? 'wx' : 'r+', 0o600)
    this.environment = environment
  }

  private pages(page: number, bytes: Uint8Array): void {
    const { environment, data } = this
    if (environment === null || data === null) throw new ShipmentDamagedError('has pages of no environment')
    const { page_bytes: pageBytes, last_page: lastPage } = environment
    const count = bytes.length / pageBytes
    if (!Number.isInteger(count) || count === 0 || page < 2 || page + count - 1 > lastPage)
      throw new ShipmentDamagedError(`has an invalid page ${page} of \`${environment.path}\``)
    writeAll(data, bytes, page * pageBytes)
  }

  /** LMDB keeps two meta pages, of consecutive transactions. The older one gets the same trees: it is the next to be replaced. */
  private meta(metaPage: Uint8Array): void {
    const { environment, data } = this
    if (environment === null || data === null) throw new ShipmentDamagedError('has a meta page of no environment')
    const { page_bytes: pageBytes, to, last_page: lastPage } = environment
    if (metaPage.length !== pageBytes || metaTransaction(metaPage) !== to)
      throw new ShipmentDamagedError(`has an invalid meta page of \`${environment.path}\``)
    const slot = uintOf(metaPage)
    if (slot > 1) throw new ShipmentDamagedError(`has an invalid meta page of \`${environment.path}\``)
    const other = Uint8Array.from(metaPage)
    const view = new DataView(other.buffer)
    view.setBigUint64(META_PAGE_AT, BigInt(1 - slot), true)
    view.setBigUint64(META_TRANSACTION_AT, BigInt(Math.max(0, to - 1)), true)
    writeAll(data, metaPage, slot * pageBytes)
    writeAll(data, other, (1 - slot) * pageBytes)
    ftruncateSync(data, (lastPage + 1) * pageBytes)
    closeSync(data)
    this.data = null
    this.environment = null
    this.done += 1
  }

  private openFile(bytes: Uint8Array): void {
    this.endFile()
    const read = shippedFileSchema.safeParse(json(bytes))
    if (!read.success || this.environment !== null) throw new ShipmentDamagedError('has an invalid name of a file')
    const path = join(this.folder, read.data.path)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    rmSync(path, { force: true, recursive: true })
    this.file = { path: read.data.path, descriptor: openSync(path, 'wx', 0o600), left: read.data.bytes }
  }

  private content(bytes: Uint8Array): void {
    const { file } = this
    if (file === null || bytes.length > file.left) throw new ShipmentDamagedError('has content of no file')
    file.left -= bytes.length
    for (let at = 0; at < bytes.length; ) at += writeSync(file.descriptor, bytes, at, bytes.length - at)
  }

  private endFile(): void {
    const { file } = this
    if (file === null) return
    this.file = null
    closeSync(file.descriptor)
    if (file.left > 0) throw new ShipmentDamagedError(`has only a part of the file \`${file.path}\``)
  }
}

function readHeader({ type, bytes }: Frame): ShipmentHeader {
  if (type !== FRAME.header) throw new ShipmentDamagedError('does not begin with a header')
  const value = json(bytes)
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown }
  if (format === SHIPMENT_FORMAT && typeof version === 'number' && version > SHIPMENT_VERSION)
    throw new ShipmentDamagedError(
      `has format version ${version}; this program reads version ${SHIPMENT_VERSION}: restore it with the program that shipped it, or a newer one`,
    )
  const read = shipmentHeaderSchema.safeParse(value)
  if (!read.success)
    throw new ShipmentDamagedError(`has a header that is wrong at \`${read.error.issues[0]?.path.join('.')}\``)
  return read.data
}

function json(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return null
  }
}

/** A write to an almost full disk may be partial; the next write then reports the error. */
function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done)
}
