// Reads the audit logs of a data folder and checks everything that was sealed: trees, signatures, batches and their chain.
import { createHash, createPublicKey, verify } from 'node:crypto'
import { join } from 'node:path'
import { checkpointText } from '../../src/audit/log/checkpoint.ts'
import { folderFiles } from '../../src/audit/log/log-files.ts'
import { emptyTree, extendTree, leafHash, rootOf } from '../../src/audit/log/merkle.ts'
import { openNote, parseVerifierKey, verifierKey } from '../../src/audit/log/signed-note.ts'
import { TileFolder } from '../../src/audit/log/tile-folder.ts'
import { verifyLog } from '../../src/audit/log/verify-log.ts'
import { OperationalError } from '../../src/kernel/errors.ts'
import { AuditIndex } from '../../src/store/audit/audit-index.ts'
import type { AuditBatch, AuditCheckpoint, AuditLog } from '../../src/store/audit/audit-types.ts'

/** An entry of a log, as JSON. */
export interface ReadEntry {
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly source: string
  readonly time: string
  readonly dataref?: string
  readonly data: Readonly<Record<string, unknown>>
}

/** One log with everything that is sealed. */
export interface ReadLog {
  readonly log: AuditLog
  /** Of all generations, in order. Entries that were removed are missing. */
  readonly entries: readonly ReadEntry[]
  readonly batches: readonly AuditBatch[]
  /** Oldest first. */
  readonly checkpoints: readonly AuditCheckpoint[]
  /** One sentence for each fault; empty if the log is sound. */
  readonly problems: readonly string[]
}

/** Far longer than a busy machine takes to create the index, or to store a checkpoint. Only for a test that hangs. */
const WAIT_MAX_MS = 60_000

/** Reads all logs of a data folder, by owner. The folder may be in use: waits for the process that creates the index. */
export async function readAuditLogs(dataDir: string): Promise<ReadonlyMap<string, ReadLog>> {
  const index = await openIndex(join(dataDir, 'audit/index'))
  try {
    const logs = new Map<string, ReadLog>()
    for (const { id } of index.logs()) logs.set(...(await readLog(dataDir, index, id)))
    return logs
  } finally {
    await index.close()
  }
}

/** After `WAIT_MAX_MS` it throws why the index cannot be opened. */
async function openIndex(path: string): Promise<AuditIndex> {
  for (const endMs = performance.now() + WAIT_MAX_MS; ; await Bun.sleep(20)) {
    try {
      return new AuditIndex(path, { readOnly: true })
    } catch (failure) {
      if (!(failure instanceof OperationalError) || performance.now() > endMs) throw failure
    }
  }
}

/** A running sealer commits entries before it publishes their checkpoint. After `WAIT_MAX_MS` the caller reports that it is missing. */
async function untilPublished(folder: TileFolder, size: number): Promise<void> {
  const endMs = performance.now() + WAIT_MAX_MS
  while (((await folder.published())?.size ?? 0) < size && performance.now() < endMs) await Bun.sleep(20)
}

async function readLog(dataDir: string, index: AuditIndex, id: string): Promise<[string, ReadLog]> {
  // The log may grow: what is read first is the older state.
  const checkpoints = [...index.checkpoints(id, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)].reverse()
  const log = index.state(id) as AuditLog
  const batches = index.batches(id, 0, Number.POSITIVE_INFINITY)
  // A running sealer may create a key at any time: those that have signed the above are there now.
  const keys = index.keys()
  const problems: string[] = []
  const entries: ReadEntry[] = []
  const isSigned = (kid: string, text: string, signature: string): boolean => {
    const key = keys.find((each) => each.kid === kid)
    if (key === undefined) return false
    const publicKey = createPublicKey({ key: Buffer.from(key.spki, 'base64'), format: 'der', type: 'spki' })
    return verify('sha256', Buffer.from(text), publicKey, Buffer.from(signature, 'base64'))
  }
  const { firstSequence = 1 } = log
  // Of the first batch that retention has left, the batch before is not known.
  let prevHash = firstSequence === 1 ? '' : (batches[0]?.prevHash ?? '')
  batches.forEach((batch, at) => {
    const { sequence, batchId, hash, headHash, kid } = batch
    const name = `batch ${sequence}`
    if (sequence !== firstSequence + at) problems.push(`${name} follows batch ${firstSequence + at - 1}`)
    if (batch.prevHash !== prevHash) problems.push(`${name} does not continue the chain`)
    const head = [log.owner, sequence, prevHash, hash, batchId].join('|')
    if (createHash('sha256').update(head).digest('hex') !== headHash) problems.push(`${name} has a wrong head hash`)
    if (!isSigned(kid, hash, batch.signature)) problems.push(`${name} is not signed`)
    if (!isSigned(kid, headHash, batch.manifestSignature)) problems.push(`the manifest of ${name} is not signed`)
    prevHash = headHash
  })
  for (const { number, name, origin, size, prunedTo } of log.generations) {
    const path = join(dataDir, 'audit/logs', id, name)
    const folder = new TileFolder(path)
    const own = await folder.entries(prunedTo, size)
    entries.push(...own.map((entry) => JSON.parse(Buffer.from(entry).toString()) as ReadEntry))
    for (const batch of batches) {
      if (batch.generation !== number || batch.from < prunedTo || batch.to > size) continue
      const texts = own.slice(batch.from - prunedTo, batch.to - prunedTo).map((entry) => Buffer.from(entry).toString())
      if (createHash('sha256').update(texts.join('\n')).digest('hex') !== batch.hash)
        problems.push(`batch ${batch.sequence} has a wrong hash`)
    }
    const verifiers = keys.flatMap(({ spki }) => {
      const parsed = parseVerifierKey(verifierKey(origin, Buffer.from(spki, 'base64')))
      return parsed.ok ? [parsed.value] : []
    })
    if (size > 0) {
      await untilPublished(folder, size)
      const { faults, entries: read } = await verifyLog(folderFiles(path), { verifiers, origin, against: null })
      for (const { kind, index: at, message } of faults) problems.push(`${name}: ${kind} at ${at}: ${message}`)
      if (read < size - prunedTo) problems.push(`${name}: ${read} of ${size - prunedTo} entries were verified`)
    }
    const ofGeneration = checkpoints.filter((each) => each.generation === number)
    // With all entries the trees are computed again, otherwise the consistency of checkpoints is proven by `verifyLog`.
    let tree = emptyTree
    for (const checkpoint of ofGeneration) {
      const what = `checkpoint ${checkpoint.number}`
      if (prunedTo === 0) {
        if (checkpoint.size < tree.size) problems.push(`${what} has fewer entries than the one before`)
        tree = extendTree(tree, own.slice(tree.size, checkpoint.size).map(leafHash))
        if (tree.size !== checkpoint.size || !Buffer.from(rootOf(tree)).equals(Buffer.from(checkpoint.root, 'base64')))
          problems.push(`${what} has a wrong root`)
      }
      const opened = openNote(checkpoint.note, verifiers)
      if (!opened.ok) problems.push(`${what}: ${opened.error}`)
      const text = checkpointText({ origin, size: checkpoint.size, root: Buffer.from(checkpoint.root, 'base64') })
      if (opened.ok && opened.value.text !== text) problems.push(`${what} has another text than its note`)
      if (!isSigned(checkpoint.kid, checkpoint.headHash, checkpoint.signature)) problems.push(`${what} is not signed`)
      const last = batches[checkpoint.sequence - firstSequence]
      if (checkpoint.sequence >= firstSequence && last?.headHash !== checkpoint.headHash)
        problems.push(`${what} has another head hash than its batch`)
    }
    const isPublishedKnown = async (): Promise<boolean> => {
      const published = await folder.checkpoint()
      const known = index.checkpoints(id, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
      return published === null || known.some((each) => each.generation === number && each.note === published)
    }
    // A signature may be added to it between the two reads, and another one between the next two.
    let isKnown = false
    for (let tries = 0; tries < 20 && !isKnown; tries++) isKnown = await isPublishedKnown()
    if (!isKnown) problems.push(`the published checkpoint of ${name} is unknown`)
  }
  return [log.owner, { log, entries, batches, checkpoints, problems }]
}
