// Compares the audit logs of a data folder with their newest states in the configuration.
import { join } from 'node:path'
import { TileFolder } from '../../audit/log/tile-folder.ts'
import { isFirstOfGeneration } from '../../audit/seal/check-log-files.ts'
import {
  AUDIT_FOLDER,
  AUDIT_INDEX_FOLDER,
  AUDIT_LOGS_FOLDER,
  CONFIGURATION_FOLDER,
} from '../../kernel/folder/data-folder.ts'
import { type AcknowledgedLoss, acknowledgedLosses } from '../../store/audit/acknowledged-losses.ts'
import { auditHeads, continuesHead, lostEndsWith } from '../../store/audit/audit-heads.ts'
import { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditGeneration, AuditLog, LostLogEnd } from '../../store/audit/audit-types.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { holdsEnvironment } from '../../store/lmdb/environment-folder.ts'
import type { LmdbFileOptions } from '../../store/lmdb/open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'

/** Entries of an audit log that the configuration or the log itself knows, and that are not where they should be. */
export interface LostLog extends LostLogEnd {
  /** The id of the log, which is the name of its folder. */
  readonly id: string
  /** The number of its entries that the folder of the log still has. */
  readonly left: number
  /** False: the folder of the log has the entries, and only the index does not have them. */
  readonly isMissing: boolean
  /** Null: the loss was not acknowledged, or it is larger than the one that was. */
  readonly acknowledged: AcknowledgedLoss | null
}

/** The losses of a data folder as sentences, for `verify` and `doctor`. */
interface LostLogFindings {
  readonly findings: readonly string[]
  /** The names of the ends of logs with missing entries. */
  readonly missing: ReadonlySet<string>
  /** The losses that were acknowledged. */
  readonly acknowledged: readonly string[]
}

/**
 * Returns the losses of the audit logs: entries that the configuration knows and the index does not, because the folder of the audit trail
 * was removed or replaced by an older one; also those after which the log continues already, and generations without their folder. Each
 * end of a log is listed once. The folder may be in use.
 */
export async function lostLogs(dataDir: string): Promise<LostLog[]> {
  const options = { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS }
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), options)
  // Read before the index: a head is written after the state that it describes.
  const { heads, known } = collections.read((reading) => ({
    heads: new Map(auditHeads(reading).map((head) => [head.id, head])),
    known: acknowledgedLosses(reading),
  }))
  await collections.close()
  const folder = join(dataDir, AUDIT_FOLDER)
  const logs = await readLogs(join(folder, AUDIT_INDEX_FOLDER), options)
  const losses: LostLog[] = []
  for (const id of new Set([...heads.keys(), ...logs.keys()])) {
    const [head, { log, published: generations } = unknownLog] = [heads.get(id), logs.get(id)]
    const isBehind = head !== undefined && !continuesHead(log, head)
    const ends = lostEndsWith(log?.lost ?? [], [...(head?.lost ?? []), ...(isBehind ? [head.generation] : [])])
    const removed: LostLogEnd[] = []
    for (const { name, origin, size } of generations)
      if (!(await new TileFolder(join(folder, AUDIT_LOGS_FOLDER, id, name)).hasTiles()))
        removed.push({ name, origin, size })
    for (const end of lostEndsWith(ends, removed)) {
      const files = new TileFolder(join(folder, AUDIT_LOGS_FOLDER, id, end.name))
      const published = (await files.hasTiles()) ? await files.published() : null
      const left = published?.size ?? 0
      const isMissing = left < end.size
      if (!isMissing && !(isBehind && end.origin === head.generation.origin)) continue
      const acknowledged =
        known.get(id)?.find((one) => one.origin === end.origin && one.size >= end.size && left >= one.left) ?? null
      losses.push({ ...end, id, left, isMissing, acknowledged })
    }
  }
  return losses
}

/** Returns `lostLogs` as sentences. */
export async function lostLogFindings(dataDir: string): Promise<LostLogFindings> {
  const losses = await lostLogs(dataDir)
  return {
    missing: new Set(losses.filter(({ isMissing }) => isMissing).map(lossName)),
    findings: losses.filter(({ acknowledged }) => acknowledged === null).map(lossText),
    acknowledged: losses.flatMap((loss) =>
      loss.acknowledged === null ? [] : [`${lossText(loss)}; ${acknowledgementText(loss.acknowledged)}`],
    ),
  }
}

/** The name of the end of a log, as findings have it and `audit acknowledge-loss` takes it. */
export function lossName({ id, name }: Pick<LostLog, 'id' | 'name'>): string {
  return `${id}/${name}`
}

function lossText(loss: LostLog): string {
  const { origin, size, isMissing } = loss
  const what = isMissing
    ? `entries of ${origin} are missing, of which ${size} were sealed: the folder was removed, or replaced by an older one`
    : `the index does not have ${size} sealed entries of ${origin}: it was removed, or replaced by an older one; the log continues after them when the service starts`
  return `${lossName(loss)}: ${what}`
}

function acknowledgementText({ by, timeMs, reason }: AcknowledgedLoss): string {
  return `acknowledged by ${by} on ${new Date(timeMs).toISOString()}: ${reason}`
}

/** A log in the index, and its generations that must have a folder. */
interface IndexedLog {
  readonly log: AuditLog | null
  readonly published: readonly AuditGeneration[]
}

const unknownLog: IndexedLog = { log: null, published: [] }

async function readLogs(path: string, options: LmdbFileOptions): Promise<ReadonlyMap<string, IndexedLog>> {
  if (!holdsEnvironment(path)) return new Map()
  const index = AuditIndex.existing(path, options)
  if (index === null) return new Map()
  try {
    return new Map(
      index.logs().map((log) => {
        const { id, generations } = log
        const published = isFirstOfGeneration(index, id) ? generations.slice(0, -1) : generations
        return [id, { log, published: published.filter(({ size, prunedTo }) => size > prunedTo) }]
      }),
    )
  } finally {
    await index.close()
  }
}
