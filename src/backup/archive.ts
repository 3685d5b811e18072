// The file format of a backup: a tar archive whose last entry is a manifest with the length, SHA-256 and layout version of
// each member. An archive without a manifest is truncated; a member that the manifest does not list is refused.
import { createHash } from 'node:crypto'
import { type EventEmitter, once } from 'node:events'
import { closeSync, createReadStream, createWriteStream, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { extract, pack } from 'tar-stream'
import { z } from 'zod'
import { OperationalError } from '../kernel/errors.ts'
import { diskFullReasonOf } from '../store/lmdb/disk-full.ts'
import { chunksOf, streamOf } from '../transfer/files/byte-stream.ts'
import { syncPath } from '../transfer/files/sync-path.ts'

const FORMAT = 'verdigraph-backup'
const VERSION = 1
/** The name of the last member of an archive. */
export const MANIFEST_MEMBER = 'manifest.json'
const MANIFEST_BYTES_MAX = 64 * 1024 * 1024

/**
 * Allowed member names: a database file in a folder of the data folder, the demo marker, or a file of an audit log. No other path
 * is written.
 */
const MEMBER_NAME =
  /^(?:(?:[A-Za-z0-9][A-Za-z0-9-]{0,80}\/){1,4}data\.mdb|demo\.json|audit\/logs\/[A-Za-z0-9_-]{1,80}\/[a-z]{10}\/(?:checkpoint|pruned|bodies\/[0-9a-f]{64}|tile\/(?:entries|\d{1,2})\/(?:x\d{3}\/){0,6}\d{3}(?:\.p\/\d{1,3})?))$/

const memberSchema = z.strictObject({
  name: z.string().regex(MEMBER_NAME),
  bytes: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** The content, and for a database the version of its layout. */
  kind: z.enum(['graph', 'documents', 'events', 'audit', 'file']),
  layout: z.int().min(0),
})

const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  made_by: z.string(),
  made_at: z.string(),
  /** Ids of the projects in the backup. */
  projects: z.array(z.string()),
  members: z.array(memberSchema),
})

/** The manifest of a backup. */
export type Manifest = z.infer<typeof manifestSchema>
/** A member in the manifest. */
export type ArchiveMember = Manifest['members'][number]

type ByteChunks = AsyncIterable<Uint8Array>

/** A backup that could not be read or unpacked on this machine now. It is not known whether it is damaged. */
export class UnreadableBackupError extends OperationalError {
  override readonly name = 'UnreadableBackupError'
}

/** A file to pack. */
export interface ArchiveSource {
  readonly name: string
  readonly kind: ArchiveMember['kind']
  /** Creates the file just before it is packed. Returns its path, length in bytes and layout version; null: it was removed. */
  make(): Promise<{ path: string; bytes: number; layout: number } | null>
  /** Called after the file was packed. */
  release(): void
}

/** True if a member of a backup may have this name. */
export function isMemberName(name: string): boolean {
  return MEMBER_NAME.test(name)
}

/** Receives the bytes of an archive. Resolves when they are stored, and rejects if the archive ends with an error. */
export type ArchiveSink = (archive: ReadableStream<Uint8Array>) => Promise<void>

/** Stores an archive in a file, which must not exist, and syncs it to disk. */
export function fileSink(path: string): ArchiveSink {
  return async (archive) => {
    await pipeline(chunksOf(archive), createWriteStream(path, { flags: 'wx', mode: 0o600 }))
    syncPath(path)
  }
}

/**
 * Writes an archive. Resolves to the manifest once it is stored. `progress`: called with the length of each packed part of a
 * member.
 */
export async function writeArchive(
  sink: ArchiveSink,
  about: Pick<Manifest, 'made_by' | 'made_at' | 'projects'>,
  members: readonly ArchiveSource[],
  progress: (name: string, bytes: number) => void,
): Promise<Manifest> {
  const archive = pack()
  let isComplete = false
  async function* chunks(): ByteChunks {
    for await (const chunk of archive as unknown as ByteChunks) yield chunk
    // A sink must not take the beginning of an archive for all of it.
    if (!isComplete) throw new Error('the archive was interrupted')
  }
  const written = sink(streamOf(chunks()))
  // A full disk ends the sink while a member is being packed, so the loop below must wait for both.
  const failed = written.then(
    () => new Promise<never>(() => {}),
    (error: unknown) => Promise.reject(error),
  )
  failed.catch(() => undefined)
  try {
    const manifest: Manifest = { format: FORMAT, version: VERSION, ...about, members: [] }
    for (const { name, kind, make, release } of members) {
      const made = await make()
      if (made === null) continue
      const { path: from, bytes, layout } = made
      const sha256 = await Promise.race([
        packMember(archive, name, from, bytes, (length) => progress(name, length)),
        failed,
      ])
      release()
      manifest.members.push({ name, bytes, sha256, kind, layout })
    }
    archive.entry({ name: MANIFEST_MEMBER, mode: 0o600 }, `${JSON.stringify(manifest, null, 2)}\n`)
    archive.finalize()
    isComplete = true
    await written
    return manifest
  } catch (error) {
    // A sink that fails cancels the archive. The next entry then fails before the rejection of the sink arrives, and its error tells nothing.
    const isCancelled = archive.destroying
    archive.destroy(error instanceof Error ? error : new Error(String(error)))
    const sinkError: unknown = await written.then(
      () => error,
      (failure: unknown) => failure,
    )
    throw isCancelled ? sinkError : error
  }
}

async function packMember(
  archive: ReturnType<typeof pack>,
  name: string,
  from: string,
  bytes: number,
  progress: (bytes: number) => void,
): Promise<string> {
  const hash = createHash('sha256')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // A sink that fails destroys the entry before the loop below has ended.
  promise.catch(() => undefined)
  const entry = archive.entry({ name, size: bytes, mode: 0o600 }, (error) => (error ? reject(error) : resolve()))
  for await (const chunk of createReadStream(from, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer)
    progress((chunk as Buffer).length)
    if (!entry.write(chunk)) await once(entry as unknown as EventEmitter, 'drain')
  }
  ;(entry as unknown as { end(): void }).end()
  await promise
  return hash.digest('hex')
}

/**
 * Unpacks an archive into `folder` and verifies it against the manifest. Throws OperationalError on any difference. `path`: of the
 * archive, for messages.
 */
export async function readArchive(
  path: string,
  stream: ReadableStream<Uint8Array>,
  folder: string,
  progress: (bytes: number) => void,
): Promise<Manifest> {
  const found = new Map<string, { bytes: number; sha256: string }>()
  let manifest: Manifest | null = null
  const archive = extract()
  const reading = pipeline(chunksOf(stream), archive)
  reading.catch(() => undefined)
  try {
    for await (const entry of archive) {
      const { name, type, size } = entry.header
      if (manifest !== null) throw damagedArchive(path, `\`${printableName(name)}\` comes after the manifest`)
      if (type !== 'file') throw damagedArchive(path, `\`${printableName(name)}\` is not a regular file`)
      if (name === MANIFEST_MEMBER) manifest = readManifest(path, await readText(path, entry as ByteChunks, size ?? 0))
      else if (!MEMBER_NAME.test(name))
        throw damagedArchive(path, `\`${printableName(name)}\` is not a name of a backup member`)
      else if (found.has(name)) throw damagedArchive(path, `\`${name}\` is contained twice`)
      else found.set(name, await unpackMember(entry as ByteChunks, join(folder, name), progress))
    }
    await reading
  } catch (error) {
    archive.destroy()
    await reading.catch(() => undefined)
    if (error instanceof OperationalError) throw error
    const { code, syscall, message } = error as { code?: string; syscall?: string; message: string }
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new UnreadableBackupError(`${path} cannot be read: ${message}`)
    const full = diskFullReasonOf(error)
    if (full !== null) throw new UnreadableBackupError(`${full}: ${path} cannot be unpacked`)
    // An error of the operating system does not mean that the archive is damaged.
    if (code !== undefined && syscall !== undefined) throw error
    throw damagedArchive(path, message.toLowerCase())
  }
  if (manifest === null) throw damagedArchive(path, 'its manifest is missing')
  compareWithManifest(path, manifest, found)
  return manifest
}

async function unpackMember(
  entry: ByteChunks,
  path: string,
  progress: (bytes: number) => void,
): Promise<{ bytes: number; sha256: string }> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const hash = createHash('sha256')
  const file = openSync(path, 'wx', 0o600)
  let bytes = 0
  try {
    for await (const chunk of entry) {
      hash.update(chunk)
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at, chunk.length - at)
      bytes += chunk.length
      progress(chunk.length)
    }
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return { bytes, sha256: hash.digest('hex') }
}

async function readText(path: string, entry: ByteChunks, size: number): Promise<string> {
  if (size > MANIFEST_BYTES_MAX) throw damagedArchive(path, 'its manifest is too long')
  const chunks: Uint8Array[] = []
  for await (const chunk of entry) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function readManifest(path: string, text: string): Manifest {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw damagedArchive(path, 'its manifest is not JSON')
  }
  const { format, version } = (json ?? {}) as { format?: unknown; version?: unknown }
  if (format === FORMAT && typeof version === 'number' && version > VERSION) {
    throw new OperationalError(
      `${path} is a backup of version ${version}; this program reads version ${VERSION}: restore it with the program that made it, or a newer one`,
    )
  }
  const read = manifestSchema.safeParse(json)
  if (!read.success) {
    const [issue] = read.error.issues
    throw damagedArchive(path, `its manifest is wrong at \`${issue?.path.join('.')}\``)
  }
  return read.data
}

function compareWithManifest(
  path: string,
  { members }: Manifest,
  found: ReadonlyMap<string, { bytes: number; sha256: string }>,
): void {
  const named = new Set(members.map(({ name }) => name))
  if (named.size !== members.length) throw damagedArchive(path, 'its manifest lists a member twice')
  for (const name of found.keys()) {
    if (!named.has(name)) throw damagedArchive(path, `\`${name}\` is not in its manifest`)
  }
  for (const { name, bytes, sha256 } of members) {
    const file = found.get(name)
    if (file === undefined) throw damagedArchive(path, `\`${name}\` is missing`)
    if (file.bytes !== bytes || file.sha256 !== sha256)
      throw damagedArchive(path, `\`${name}\` differs from the manifest`)
  }
}

function damagedArchive(path: string, how: string): OperationalError {
  return new OperationalError(`${path} is not a complete backup: ${how}`)
}

/** A member name from an untrusted archive, shortened and without control characters for the terminal. */
function printableName(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)
}
