// The files of an audit log in a backup: exactly those of the state in the index. While the backup is written, the log may grow; tiles
// and bundles then contain more, and only the part of that state is taken.
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PRUNED_FILE } from '../audit/log/pruned-note.ts'
import { BODIES_FOLDER, CHECKPOINT_FILE, TileFolder } from '../audit/log/tile-folder.ts'
import { hashesAtLevel, levelsOf, TILE_WIDTH, type TileLevel, type TileName, tilePath } from '../audit/log/tile-path.ts'
import { AUDIT_FOLDER, AUDIT_LOGS_FOLDER } from '../kernel/folder/data-folder.ts'
import type { AuditCheckpoint, AuditGeneration, AuditLog } from '../store/audit/audit-types.ts'
import type { ArchiveSource } from './archive.ts'

/** Lists the files of a log. `checkpoint`: its newest one in the index. `staging`: for parts of files. */
export async function filesOfLog(
  dataDir: string,
  { id, generations }: AuditLog,
  checkpoint: AuditCheckpoint | null,
  staging: string,
): Promise<ArchiveSource[]> {
  return generations.flatMap((generation) => {
    const path = [AUDIT_FOLDER, AUDIT_LOGS_FOLDER, id, generation.name].join('/')
    const folder = join(dataDir, path)
    const published = checkpoint?.generation === generation.number ? checkpoint.note : null
    return [
      ...tilesOf(generation).map((tile) => tileSource(folder, path, tile, staging)),
      ...bodiesIn(folder).map((body) => fileSource(folder, path, `${BODIES_FOLDER}/${body}`)),
      published === null
        ? fileSource(folder, path, CHECKPOINT_FILE)
        : textSource(path, CHECKPOINT_FILE, published, staging),
      fileSource(folder, path, PRUNED_FILE),
    ]
  })
}

/** All tiles and bundles of a log of this size. */
function tilesOf({ size, prunedTo }: AuditGeneration): readonly TileName[] {
  const levels: TileLevel[] = ['entries', ...Array.from({ length: levelsOf(size) }, (_, level) => level)]
  return levels.flatMap((level) => {
    const hashes = hashesAtLevel(level, size)
    const first = level === 'entries' ? prunedTo / TILE_WIDTH : 0
    const count = Math.ceil(hashes / TILE_WIDTH) - first
    return Array.from({ length: Math.max(0, count) }, (_, at): TileName => {
      const index = first + at
      return { level, index, width: Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH) }
    })
  })
}

function tileSource(folder: string, path: string, tile: TileName, staging: string): ArchiveSource {
  const name = tilePath(tile)
  if (tile.width === TILE_WIDTH) return fileSource(folder, path, name)
  return source(path, name, async () => {
    const bytes = await new TileFolder(folder).read(tile)
    return bytes === null ? null : staged(staging, path, name, bytes)
  })
}

function textSource(path: string, name: string, text: string, staging: string): ArchiveSource {
  return source(path, name, async () => staged(staging, path, name, Buffer.from(text)))
}

/** A file that is replaced in one step or never changes; it may not exist. */
function fileSource(folder: string, path: string, name: string): ArchiveSource {
  return source(path, name, async () => (existsSync(join(folder, name)) ? join(folder, name) : null))
}

function source(path: string, name: string, make: () => Promise<string | null>): ArchiveSource {
  return {
    name: `${path}/${name}`,
    kind: 'file',
    async make() {
      const file = await make()
      return file === null ? null : { path: file, bytes: statSync(file).size, layout: 0 }
    },
    release: () => undefined,
  }
}

function staged(staging: string, path: string, name: string, bytes: Uint8Array): string {
  const file = join(staging, path, name)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, bytes, { mode: 0o600 })
  return file
}

function bodiesIn(folder: string): readonly string[] {
  const bodies = join(folder, BODIES_FOLDER)
  return existsSync(bodies) ? readdirSync(bodies).filter((name) => /^[0-9a-f]{64}$/.test(name)) : []
}
