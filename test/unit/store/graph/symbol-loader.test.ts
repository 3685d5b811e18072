// Names that another environment object adds, as another process does, to an environment that reads them in the background.
import { afterEach, describe, expect, test } from 'vitest'
import { LaneRequiredError } from '../../../../src/kernel/request/lane-required.ts'
import {
  type EnvironmentOptions,
  type LmdbEnvironment,
  openEnvironment,
} from '../../../../src/store/graph/environment.ts'
import { SymbolLoader } from '../../../../src/store/graph/symbol-loader.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

/** More than one map of the table, and more than one slice. */
const NAMES = 40_000
/** More than a snapshot reads on the event loop. */
const MANY = 257

const options: EnvironmentOptions = { clock: new ManualClock(1_750_000_000_000), sync: false }
const opened: { close(): void | Promise<void> }[] = []

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

function open(folder: string, symbolLoader?: SymbolLoader): LmdbEnvironment {
  const environment = openEnvironment(folder, { ...options, ...(symbolLoader !== undefined && { symbolLoader }) })
  opened.push(environment)
  return environment
}

function newLoader(): SymbolLoader {
  const loader = new SymbolLoader()
  opened.push(loader)
  return loader
}

/** Stores the names `p<from>` to `p<to - 1>`, each with its number as the value on node `n`. */
function addNames(environment: LmdbEnvironment, from: number, to: number): Promise<unknown> {
  const properties = Array.from({ length: to - from }, (_, i) => ({ name: `p${from + i}`, value: from + i }))
  return environment.write((batch) => batch.upsertNode({ type: 'N', externalId: 'n', properties }))
}

/** The value of a property of node `n`; null if the name is unknown. */
function read(environment: LmdbEnvironment, name: string): unknown {
  const snapshot = environment.snapshot()
  try {
    const node = snapshot.findNode(snapshot.symbol('label', 'N'), 'n')
    return snapshot.nodeProperty(node, snapshot.symbol('property', name))
  } finally {
    snapshot.close()
  }
}

/** Waits until a snapshot succeeds, and returns how many were refused before. */
async function untilRead(environment: LmdbEnvironment): Promise<number> {
  for (let refused = 0; ; refused++) {
    try {
      environment.snapshot().close()
      return refused
    } catch (fault) {
      if (!(fault instanceof LaneRequiredError)) throw fault
      await Bun.sleep(1)
    }
  }
}

describe('an environment with a symbol loader', () => {
  test('refuses snapshots until all names of another process are read, and then finds each of them', async () => {
    const folder = temporaryFolder()
    const writer = open(folder)
    await addNames(writer, 0, NAMES)
    const reader = open(folder, newLoader())
    expect(await untilRead(reader)).toBeGreaterThan(1)
    const snapshot = reader.snapshot()
    const node = snapshot.findNode(snapshot.symbol('label', 'N'), 'n')
    const names = [...snapshot.symbolNames('property')]
    for (let i = 0; i < NAMES; i++) {
      const symbol = snapshot.symbol('property', `p${i}`)
      expect(snapshot.symbolName('property', symbol)).toBe(`p${i}`)
      expect(names[symbol - 1]).toBe(`p${i}`)
    }
    for (const i of [0, 16_383, 16_384, NAMES - 1]) {
      expect(snapshot.nodeProperty(node, snapshot.symbol('property', `p${i}`))).toBe(i)
    }
    expect(names).toHaveLength(NAMES)
    expect(snapshot.symbol('property', `p${NAMES}`)).toBe(0)
    snapshot.close()
  })

  test('reads a few new names in the snapshot that needs them', async () => {
    const folder = temporaryFolder()
    const writer = open(folder)
    const reader = open(folder, newLoader())
    await addNames(writer, 0, MANY - 2)
    expect(read(reader, `p${MANY - 3}`)).toBe(MANY - 3)
    await addNames(writer, MANY, MANY + 256)
    expect(read(reader, `p${MANY + 255}`)).toBe(MANY + 255)
  })

  test('never returns a snapshot with a part of the names, also while more are added', async () => {
    const folder = temporaryFolder()
    const writer = open(folder)
    const reader = open(folder, newLoader())
    let written = 0
    for (const size of [MANY, 5000, 300, 9000, 1, 4000]) {
      await addNames(writer, written, written + size)
      written += size
      // The snapshot after a commit has its last name, or is refused.
      for (let tries = 0; tries < 3; tries++) {
        try {
          expect(read(reader, `p${written - 1}`)).toBe(written - 1)
        } catch (fault) {
          expect(fault).toBeInstanceOf(LaneRequiredError)
        }
        await Bun.sleep(1)
      }
    }
    await untilRead(reader)
    expect(read(reader, `p${written - 1}`)).toBe(written - 1)
  })

  test('reads all names at once for work that no lane can repeat', async () => {
    const folder = temporaryFolder()
    await addNames(open(folder), 0, 5000)
    const reader = open(folder, newLoader())
    expect(() => reader.snapshot()).toThrow(LaneRequiredError)
    const snapshot = reader.wholeSnapshot()
    expect(snapshot.symbol('property', 'p4999')).not.toBe(0)
    snapshot.close()
    expect(read(reader, 'p4999')).toBe(4999)
  })

  test('takes turns with other environments, and stops when it is closed', async () => {
    const loader = newLoader()
    const folders = [temporaryFolder(), temporaryFolder()]
    for (const folder of folders) await addNames(open(folder), 0, 20_000)
    const [first, second] = folders.map((folder) => open(folder, loader)) as [LmdbEnvironment, LmdbEnvironment]
    for (const reader of [first, second]) expect(() => reader.snapshot()).toThrow(LaneRequiredError)
    await first.close()
    await untilRead(second)
    expect(read(second, 'p19999')).toBe(19_999)
  })

  test('reports names that are missing in the database where it reads them at once', async () => {
    const folder = temporaryFolder()
    const writer = open(folder)
    await addNames(writer, 0, 5000)
    // The second half of the names is lost.
    await writer.write(() => {
      for (let symbol = 2501; symbol <= 5000; symbol++) writer.databases.symbols.remove({ kind: 2, symbol })
    })
    const reader = open(folder, newLoader())
    for (let tries = 0; tries < 20; tries++) {
      expect(() => reader.snapshot()).toThrow(LaneRequiredError)
      await Bun.sleep(2)
    }
    expect(() => reader.wholeSnapshot()).toThrow('symbols')
  })
})

test('an environment without a symbol loader reads all names in the first snapshot', async () => {
  const folder = temporaryFolder()
  await addNames(open(folder), 0, 5000)
  expect(read(open(folder), 'p4999')).toBe(4999)
})
