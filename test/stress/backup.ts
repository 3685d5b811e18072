// Backs up a project while another process writes to it continuously, restores each backup, and checks that the result
// is a state that existed: in each environment, and in both at the same time.
// Run alone: bun test/stress/backup.ts [--rounds 50]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backup } from '../../src/backup/backup.ts'
import { restore } from '../../src/backup/restore.ts'
import { mintGid } from '../../src/kernel/ids.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openCollections } from '../../src/store/documents/collections.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { numberAfter } from './flags.ts'

export interface BackupOutcome {
  readonly rounds: number
  /** Batches in the first and in the last backup. */
  readonly from: number
  readonly to: number
  readonly secondsPerBackup: number
  readonly faults: readonly string[]
}

export async function backupRounds(rounds: number, pauseMs = 20): Promise<BackupOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-backup-'))
  const data = join(folder, 'data')
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
  const written = follow(writer.stdout)
  const faults: string[] = []
  const counts: number[] = []
  let spentMs = 0
  try {
    for (let round = 0; round < rounds; round++) {
      // Each backup contains more than the previous one, also on a slow disk.
      await written.beyond(counts.at(-1) ?? 0)
      const out = join(folder, `${round}.backup`)
      const restored = join(folder, `${round}`)
      const start = performance.now()
      await backup({ dataDir: data, out, madeBy: 'test', nowMs: systemClock.now(), progress: () => {} })
      spentMs += performance.now() - start
      await restore({ from: out, dataDir: restored, progress: () => {} })
      const found = await stateOf(restored, project)
      faults.push(...found.faults.map((fault) => `round ${round}: ${fault}`))
      const [first = 0, second = 0] = found.counts
      // The writer writes to the first environment first.
      if (first !== second && first !== second + 1)
        faults.push(`round ${round}: ${first} batches in one environment when there were ${second} in the other`)
      if (first < (counts.at(-1) ?? 0)) faults.push(`round ${round}: fewer batches than in the backup before`)
      counts.push(first)
      rmSync(out)
      rmSync(restored, { recursive: true })
      await Bun.sleep(pauseMs)
    }
  } finally {
    writer.kill('SIGKILL')
    await writer.exited
    rmSync(folder, { recursive: true, force: true })
  }
  return { rounds, from: counts[0] ?? 0, to: counts.at(-1) ?? 0, secondsPerBackup: spentMs / rounds / 1000, faults }
}

/** Reads the numbers that a process prints. */
function follow(lines: ReadableStream<Uint8Array>) {
  let last = 0
  let rest = ''
  let ended = false
  void (async () => {
    for await (const bytes of lines) {
      const parts = (rest + new TextDecoder().decode(bytes)).split('\n')
      rest = parts.pop() ?? ''
      last = Number(parts.at(-1) ?? last)
    }
    ended = true
  })()
  return {
    async beyond(count: number): Promise<void> {
      while (last <= count) {
        if (ended) throw new Error('the writing process ended by itself')
        await Bun.sleep(1)
      }
    },
  }
}

/** The counts of both environments of a project that `counting-process.ts` writes to, and what is inconsistent in them. */
export async function stateOf(data: string, project: string): Promise<{ counts: number[]; faults: string[] }> {
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  const faults: string[] = []
  const counts: number[] = []
  try {
    for (const part of ['default', { database: 'eu' }] as const) {
      faults.push(...(catalog.check(project, part) ?? [`${JSON.stringify(part)} is missing`]))
      const snapshot = catalog.graph(project, part)!.snapshot()
      const shows = snapshot.symbol('property', 'shows')
      const [left, right] = ['left', 'right'].map((id) => {
        const node = snapshot.findNode(snapshot.symbol('label', 'Hand'), id)
        return node === 0 ? null : snapshot.nodeProperty(node, shows)
      })
      const item = snapshot.symbol('label', 'Item')
      const items = snapshot.nodeCount(item)
      const last = snapshot.findNode(item, `${items}`)
      const joined = snapshot.relationshipCount(null)
      snapshot.close()
      if (left !== items || right !== items || last === 0 || joined !== items)
        faults.push(`${items} items up to ${last}, ${joined} relationships, hands at ${left} and ${right}`)
      counts.push(items)
    }
  } finally {
    await catalog.close()
  }
  return { counts, faults }
}

if (import.meta.main) {
  const outcome = await backupRounds(numberAfter('--rounds', 50))
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.faults.length === 0 ? 0 : 1)
}
