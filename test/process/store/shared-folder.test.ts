// One data folder in two processes: each sees the writes of the other, also while the other writes.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { GraphStore } from '../../../src/engine/store.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../src/store/integrity/check-graph.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { constituentFolderName } from '../../../src/store/tenancy/project-folders.ts'
import type { GraphLayout } from '../../../src/store/tenancy/project-graphs.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const options = { clock: new ManualClock(1_750_000_000_000), sync: false }

function countNodes(store: GraphStore | null): number | null {
  if (store === null) return null
  const snapshot = store.snapshot()
  const count = snapshot.nodeCount(null)
  snapshot.close()
  return count
}

async function addNode(store: GraphStore | null): Promise<void> {
  await store!.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))
}

/** A location for each database, with the same name. */
function compositeOf(...databases: string[]): GraphLayout {
  return { isComposite: true, locations: new Map(databases.map((database) => [database, { database }])) }
}

test('an environment written by another process shows its nodes and its new names, and survives its kill', async () => {
  const folder = temporaryFolder()
  const environment = openEnvironment(folder, { clock: systemClock })
  await environment.write((batch) => batch.upsertNode({ type: 'Ours', externalId: 'a' }))
  const script = join(import.meta.dirname, 'writing-process.ts')
  expect(existsSync(script)).toBe(true)
  const child = Bun.spawn([process.execPath, script, folder], { stdout: 'pipe', stderr: 'inherit' })
  const reader = child.stdout.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let acknowledged = 0
  while (acknowledged < 30) {
    const { value, done } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
    acknowledged = text.split('\n').length - 1
    if (acknowledged === 0) continue
    // An acknowledged write of the other process is visible at once, its names resolved.
    const snapshot = environment.snapshot()
    const label = snapshot.symbol('label', `Theirs_${acknowledged - 1}`)
    expect(snapshot.findNode(label, `${acknowledged - 1}`)).toBeGreaterThan(0)
    snapshot.close()
    // Names of both processes are numbered in one sequence.
    await environment.write((batch) => batch.upsertNode({ type: `Ours_${acknowledged}`, externalId: 'b' }))
  }
  child.kill('SIGKILL')
  await child.exited
  expect(acknowledged).toBeGreaterThanOrEqual(30)
  expect(checkGraph(environment)).toEqual([])
  await environment.close()
  const again = openEnvironment(folder, { clock: systemClock })
  const snapshot = again.snapshot()
  for (let number = 0; number < acknowledged; number++) {
    expect(snapshot.findNode(snapshot.symbol('label', `Theirs_${number}`), `${number}`)).toBeGreaterThan(0)
  }
  snapshot.close()
  expect(checkGraph(again)).toEqual([])
  await again.close()
})

test('a catalog opens a project that another process has created since, while that one writes to it', async () => {
  const folder = temporaryFolder()
  const project = mintGid(1)
  const first = openCatalog(folder, options)
  await first.create(project, compositeOf('eu'))
  const catalog = openCatalog(folder, options)
  await catalog.openAll(project)
  await first.create(project, compositeOf('eu', 'us'))
  await addNode(first.graph(project, { database: 'us' }))
  await first.close()
  const made = join(folder, 'projects', project.slice('gid:'.length), constituentFolderName({ database: 'us' }))
  const script = join(import.meta.dirname, 'opening-process.ts')
  const other = Bun.spawn([process.execPath, script, made, 'write until told'], { stdin: 'pipe', stdout: 'pipe' })
  try {
    await other.stdout.getReader().read()
    let isWritten = false
    const written = addNode(catalog.graph(project, 'default')).finally(() => {
      isWritten = true
    })
    await Bun.sleep(100)
    expect([isWritten, countNodes(catalog.graph(project, 'default'))]).toEqual([false, 1])
    other.stdin.write('end\n')
    await written
    expect(catalog.check(project, 'global')).toEqual([])
  } finally {
    other.kill('SIGKILL')
    await other.exited
    await catalog.close()
  }
})
