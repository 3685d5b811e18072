// Compares the files of audit logs with the index: the right edge of each tree, and the published checkpoint. It reads a few tiles of
// each log, so it is fast also for large logs.
import { join } from 'node:path'
import { AUDIT_INDEX_FOLDER, AUDIT_LOGS_FOLDER } from '../../kernel/folder/data-folder.ts'
import { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditGeneration } from '../../store/audit/audit-types.ts'
import { decodeEntries } from '../log/entry-bundle.ts'
import { equalBytes, leafHash } from '../log/merkle.ts'
import { TileFolder } from '../log/tile-folder.ts'
import { partialTile, tilePath } from '../log/tile-path.ts'
import { hashesOf, TileTree } from '../log/tile-tree.ts'

/**
 * Returns all differences as sentences. `folder`: the folder of the audit trail. It may be in use. `lost`: generations whose end was lost,
 * as `log/generation`; of these, only the published part is compared.
 */
export async function auditLogFindings(folder: string, lost: ReadonlySet<string> = new Set()): Promise<string[]> {
  const index = AuditIndex.existing(join(folder, AUDIT_INDEX_FOLDER))
  if (index === null) return []
  const findings: string[] = []
  try {
    for (const { id, generations, checkpoint } of index.logs()) {
      for (const generation of generations) {
        const name = `${id}/${generation.name}`
        const path = join(folder, AUDIT_LOGS_FOLDER, name)
        for (const finding of await edgeFindings(path, lost.has(name) ? await leftOf(path, generation) : generation))
          findings.push(`${name}: ${finding}`)
      }
      const last = generations.at(-1)
      if (checkpoint === 0 || last === undefined || isFirstOfGeneration(index, id)) continue
      if (lost.has(`${id}/${last.name}`)) continue
      const published = await new TileFolder(join(folder, AUDIT_LOGS_FOLDER, id, last.name)).checkpoint()
      if (published === null) findings.push(`${id}/${last.name}: the file \`checkpoint\` does not exist`)
    }
    return findings
  } finally {
    await index.close()
  }
}

/**
 * Whether the newest checkpoint is the first one of its generation. If its process was killed after the transaction, its file does not
 * exist yet: the next start publishes it. Every later one replaces a file.
 */
export function isFirstOfGeneration(index: AuditIndex, id: string): boolean {
  const [newest, previous] = index.checkpoints(id, Number.POSITIVE_INFINITY, 2)
  return newest?.number === 1 || (previous !== undefined && previous.generation !== newest?.generation)
}

/** The log that the folder of a generation has published, if its end was lost. */
async function leftOf(path: string, generation: AuditGeneration): Promise<AuditGeneration> {
  const files = new TileFolder(path)
  const published = (await files.hasTiles()) ? await files.published() : null
  if (published !== null && published.size >= generation.size) return generation
  const { size, root } = published ?? { size: 0, root: new Uint8Array() }
  return { ...generation, size, root: Buffer.from(root).toString('base64') }
}

async function edgeFindings(path: string, { size, root, prunedTo }: AuditGeneration): Promise<readonly string[]> {
  if (size === 0) return []
  const folder = new TileFolder(path)
  const missing: string[] = []
  const tree = new TileTree(async (tile) => {
    const bytes = await folder.read(tile)
    if (bytes !== null) return bytes
    missing.push(`${tilePath(tile)} does not exist, or is too short`)
    throw new Error('a tile is missing')
  })
  const computed = await tree.rootAt(size, size).catch(() => null)
  if (computed === null) return missing.length > 0 ? missing : ['the tiles cannot be read']
  if (!equalBytes(computed, Buffer.from(root, 'base64')))
    return [`the tiles do not have the root hash of ${size} entries`]
  const [tile, name] = [partialTile(0, size), partialTile('entries', size)]
  if (tile === null || name === null || prunedTo === size) return []
  const [leaves, bundle] = [await folder.read(tile), await folder.read(name)]
  if (bundle === null) return [`${tilePath(name)} does not exist, or is too short`]
  const hashes = hashesOf(leaves ?? new Uint8Array())
  const isEqual = decodeEntries(bundle).entries.every((entry, at) => equalBytes(leafHash(entry), hashes[at] ?? bundle))
  return isEqual ? [] : [`${tilePath(name)} does not have the hashes of its tile`]
}
