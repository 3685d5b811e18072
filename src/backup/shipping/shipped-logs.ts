// Which files of the audit logs a shipment contains: the tiles and bundles of the entries that were sealed since the one before, new
// payloads, and the small files that changed. Files may be ahead of the index in the same shipment, as after a crash: a restore takes
// exactly what the restored index lists.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PRUNED_FILE } from '../../audit/log/pruned-note.ts'
import { BODIES_FOLDER, CHECKPOINT_FILE, TileFolder } from '../../audit/log/tile-folder.ts'
import { hashesAtLevel, levelsOf, TILE_WIDTH, type TileLevel, tileAt, tilePath } from '../../audit/log/tile-path.ts'
import { AUDIT_FOLDER, AUDIT_LOGS_FOLDER, DATA_FILE } from '../../kernel/folder/data-folder.ts'
import { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditGeneration } from '../../store/audit/audit-types.ts'
import { openWhenUnwritten } from '../../store/lmdb/open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'
import { auditIndexFolder } from '../../transfer/files/database-folders.ts'
import type { ShippedFile } from './shipment.ts'
import type { ShippedGeneration } from './shipping-state.ts'

type LogStates = ShippedGeneration['logs']

/** A payload is written before the entry that refers to it is sealed, at most this long. */
const BODY_AGE_MAX_MS = 3_600_000

/** The audit logs of a data folder, as a shipment sees them. */
export class ShippedLogs {
  private readonly dataDir: string
  private index: AuditIndex | null = null
  /** Payloads that this process has seen, by the folder of their log: each file never changes. */
  private readonly bodies = new Map<string, Set<string>>()

  constructor(dataDir: string) {
    this.dataDir = dataDir
  }

  /** Call it after a cut. `files`: what a shipment after the state `before` contains; `after`: the state with them. */
  async changesSince(
    before: LogStates,
    beforeMs: number,
  ): Promise<{ readonly files: AsyncIterable<ShippedFile>; readonly after: LogStates }> {
    const index = await this.openIndex()
    const after: LogStates = {}
    const parts: AsyncIterable<ShippedFile>[] = []
    for (const { id, generations } of index?.logs() ?? []) {
      for (const generation of generations) {
        const path = [AUDIT_FOLDER, AUDIT_LOGS_FOLDER, id, generation.name].join('/')
        const known = before[path] ?? { size: 0, files: {} }
        const isNew = before[path] === undefined
        const changedFiles = this.replacedFiles(path, known.files)
        const bodies = this.newBodies(path, isNew ? 0 : beforeMs - BODY_AGE_MAX_MS)
        after[path] = { size: generation.size, files: { ...known.files, ...changedFiles } }
        parts.push(this.filesOf(path, generation, known.size, [...Object.keys(changedFiles), ...bodies]))
      }
    }
    return { files: chained(parts), after }
  }

  private async *filesOf(
    path: string,
    generation: AuditGeneration,
    from: number,
    others: readonly string[],
  ): AsyncIterable<ShippedFile> {
    const folder = join(this.dataDir, path)
    const tiles = new TileFolder(folder)
    for (const tile of newTiles(generation, from)) {
      const bytes = await tiles.read(tile)
      // Null: pruned since.
      if (bytes !== null) yield { path: `${path}/${tilePath(tile)}`, bytes }
    }
    for (const name of others) {
      const file = join(folder, name)
      if (existsSync(file)) yield { path: `${path}/${name}`, bytes: readFileSync(file) }
    }
  }

  /** Files that are replaced in one step, with their present state. */
  private replacedFiles(path: string, known: Readonly<Record<string, string>>): Record<string, string> {
    const changed: Record<string, string> = {}
    for (const name of [CHECKPOINT_FILE, PRUNED_FILE]) {
      const found = statSync(join(this.dataDir, path, name), { throwIfNoEntry: false })
      if (found === undefined) continue
      const state = `${found.ino} ${found.size} ${found.mtimeMs}`
      if (known[name] !== state) changed[name] = state
    }
    return changed
  }

  private newBodies(path: string, sinceMs: number): readonly string[] {
    const folder = join(this.dataDir, path, BODIES_FOLDER)
    if (!existsSync(folder)) return []
    const known = this.bodies.get(path) ?? new Set<string>()
    this.bodies.set(path, known)
    return readdirSync(folder)
      .filter((name) => /^[0-9a-f]{64}$/.test(name) && !known.has(name))
      .filter((name) => {
        const found = statSync(join(folder, name), { throwIfNoEntry: false })
        if (found === undefined) return false
        if (found.mtimeMs < sinceMs) known.add(name)
        return found.mtimeMs >= sinceMs
      })
      .map((name) => `${BODIES_FOLDER}/${name}`)
  }

  /** Call it when the files of `changesSince` are shipped: their payloads are not shipped again. */
  markShipped(paths: Iterable<string>): void {
    for (const path of paths) {
      const [, folder, body] = /^(.*)\/bodies\/([0-9a-f]{64})$/.exec(path) ?? []
      if (folder !== undefined && body !== undefined) this.bodies.get(folder)?.add(body)
    }
  }

  private async openIndex(): Promise<AuditIndex | null> {
    const folder = auditIndexFolder(this.dataDir)
    if (this.index !== null || !existsSync(join(folder, DATA_FILE))) return this.index
    this.index = await openWhenUnwritten(folder, () => AuditIndex.existing(folder), COMMAND_LOCK_TIMEOUT_MS)
    return this.index
  }

  /** Closes the index. */
  async close(): Promise<void> {
    await this.index?.close()
  }
}

/** The tiles and bundles that have entries from `from` on, as wide as they are now. */
function newTiles({ size, prunedTo }: AuditGeneration, from: number) {
  const levels: TileLevel[] = ['entries', ...Array.from({ length: levelsOf(size) }, (_, level) => level)]
  return levels.flatMap((level) => {
    const start = level === 'entries' ? Math.max(from, prunedTo) : hashesAtLevel(level, from)
    const end = hashesAtLevel(level, size)
    if (start >= end) return []
    const first = Math.floor(start / TILE_WIDTH)
    const count = Math.ceil(end / TILE_WIDTH) - first
    return Array.from({ length: count }, (_, at) => tileAt(level, (first + at) * TILE_WIDTH, size))
  })
}

async function* chained<T>(parts: readonly AsyncIterable<T>[]): AsyncIterable<T> {
  for (const part of parts) yield* part
}
