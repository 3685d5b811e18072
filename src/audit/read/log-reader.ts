// Reads the sealed state of the logs: generations with their files, and checkpoints by size. Files may have more than is sealed, which
// nothing here reads.
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditCheckpoint, AuditGeneration, AuditLog } from '../../store/audit/audit-types.ts'
import { TileFolder } from '../log/tile-folder.ts'

/** Generations whose tiles are cached. */
const FOLDERS_MAX = 16

/** The files of the logs of a data folder, for reading. */
export class LogReader {
  private readonly path: string
  private readonly folders = new LRUCache<string, TileFolder>({ max: FOLDERS_MAX })

  /** `path`: the folder with one folder per log. */
  constructor(path: string) {
    this.path = path
  }

  /** The files of a generation. */
  files(log: Pick<AuditLog, 'id'>, { name }: Pick<AuditGeneration, 'name'>): TileFolder {
    const path = join(this.path, log.id, name)
    let folder = this.folders.get(path)
    if (folder === undefined) {
      folder = new TileFolder(path)
      this.folders.set(path, folder)
    }
    return folder
  }
}

/** A generation by its name; the newest one without a name. Null: it does not exist. */
export function generationOf(log: AuditLog, name: string | null): AuditGeneration | null {
  if (name === null) return log.generations.at(-1) ?? null
  return log.generations.find((each) => each.name === name) ?? null
}

/**
 * The newest checkpoint of a generation, or the newest one with this size. Null: it does not exist. Numbers of checkpoints grow
 * with generations and sizes.
 */
export function checkpointOf(
  index: AuditIndex,
  log: AuditLog,
  generation: number,
  size: number | null,
): AuditCheckpoint | null {
  const order = new Map(log.generations.map(({ number }, at) => [number, at]))
  const wanted = [order.get(generation) ?? -1, size ?? Number.POSITIVE_INFINITY] as const
  // The last number whose checkpoint is not after the wanted one.
  let [low, high] = [0, log.checkpoint]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [found] = index.checkpoints(log.id, middle + 1, 1)
    const place = order.get(found?.generation ?? -1) ?? -1
    const isAfter = place > wanted[0] || (place === wanted[0] && (found?.size ?? 0) > wanted[1])
    if (isAfter) high = middle - 1
    else low = middle
  }
  const [found] = index.checkpoints(log.id, low + 1, 1)
  if (found === undefined || found.generation !== generation) return null
  return size === null || found.size === size ? found : null
}
