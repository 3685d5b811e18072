// Kills a process that writes to a composite project, again and again. Every acknowledged node exists with its proxy,
// every deleted one is gone with its proxy, and no proxy is without a node once the intents are replayed.
// Run alone: bun test/stress/composite.ts [--rounds 200] [--seed N]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { mintGid } from '../../src/kernel/ids.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { Random, stressSeed } from '../generate/random.ts'

const script = fileURLToPath(new URL('../process/store/composite-writer.ts', import.meta.url))
const parts = ['default', { database: 'db1' }, { database: 'db2' }] as const

export interface CompositeOutcome {
  readonly rounds: number
  readonly acknowledged: number
  /** Rounds after which a proxy was wrong until the intents were replayed. */
  readonly repaired: number
  readonly faults: readonly string[]
}

export async function compositeRounds(rounds: number, seed: number): Promise<CompositeOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-composite-'))
  const project = mintGid(Date.now())
  const random = new Random(seed)
  const states = new Map<string, string>()
  const faults: string[] = []
  let repaired = 0
  try {
    for (let round = 0; round < rounds; round++) {
      const load = { lines: random.between(6, 150), moreMs: random.between(0, 10) }
      for (const line of await writeUntilKilled(folder, project, round, load)) {
        const [state = '', place = '', externalId = ''] = line.split(' ')
        states.set(`${place} ${externalId}`, state)
      }
      const catalog = openCatalog(folder, { clock: systemClock, sync: false })
      if ((catalog.check(project, 'global') ?? ['the global graph is missing']).length > 0) repaired += 1
      await catalog.replayIntents(project)
      for (const part of [...parts, 'global'] as const) {
        for (const finding of catalog.check(project, part) ?? ['it is missing'])
          faults.push(`round ${round}: ${finding}`)
      }
      for (const [name, state] of states) {
        const [place = '', externalId = ''] = name.split(' ')
        const snapshot = catalog.graph(project, parts[Number(place)]!)!.snapshot()
        const isThere = snapshot.findNode(snapshot.symbol('label', 'Item'), externalId) !== 0
        snapshot.close()
        if (state === 'removing') states.delete(name)
        else if (isThere !== (state === 'made'))
          faults.push(`round ${round}: ${name} was ${state}, and is it there? ${isThere}`)
      }
      await catalog.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { rounds, acknowledged: states.size, repaired, faults }
}

/**
 * Waits for this many lines, which is independent of the speed of the disk, and then a little more: the kill can hit
 * any point.
 */
interface CompositeLoad {
  readonly lines: number
  readonly moreMs: number
}

/** The complete lines of its output. */
async function writeUntilKilled(
  folder: string,
  project: string,
  round: number,
  load: CompositeLoad,
): Promise<string[]> {
  const child = Bun.spawn([process.execPath, script, folder, project, String(round)], { stderr: 'inherit' })
  let text = ''
  let isTimed = false
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk)
    if (isTimed || text.split('\n').length <= load.lines) continue
    setTimeout(() => child.kill('SIGKILL'), load.moreMs)
    isTimed = true
  }
  await child.exited
  if (child.signalCode !== 'SIGKILL') throw new Error('the writing process ended by itself')
  return text.split('\n').slice(0, -1)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } })
  const seed = values.seed === undefined ? stressSeed() : Number(values.seed)
  console.log(`seed ${seed}`)
  const { faults, ...figures } = await compositeRounds(Number(values.rounds ?? 200), seed)
  console.log(JSON.stringify(figures))
  for (const fault of faults.slice(0, 20)) console.log(fault)
  process.exit(faults.length === 0 ? 0 : 1)
}
