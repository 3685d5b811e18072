// The writers other than the library: HTTP, the authorizer, `import`, `copy` and the batch of a database server. Each refuses elements
// that no graph can hold, with the place, and stores equal numbers as one value.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { RemoteBatch } from '../../../src/bolt/remote-batch.ts'
import { SharedSymbols } from '../../../src/bolt/shared-symbols.ts'
import { TouchedElements } from '../../../src/bolt/touched-elements.ts'
import { Graph } from '../../../src/engine/graph.ts'
import { InvalidElementError, OperationalError } from '../../../src/kernel/errors.ts'
import { Float } from '../../../src/kernel/float.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import type { NodeRecord } from '../../../src/store/format/records.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { graphFolder } from '../../../src/transfer/import/graph-importer.ts'
import { importFile } from '../../../src/transfer/import/import.ts'
import { COPY_END } from '../../../src/transfer/servers/copy-target.ts'
import { FolderTargets } from '../../../src/transfer/servers/folder-target.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Elements that each writer refuses: type, external id, value of a property, and a part of the message. */
const refused: readonly [string, string, unknown, string][] = [
  ['Car:Bus', 'a', 1, 'a letter or'],
  ['Car', '', 1, 'character'],
  ['Car', 'a\0b', 1, 'U+0000'],
  ['Car', '\ud800', 1, ''],
  ['Car', 'a', '\ud800', ''],
  ['Car', 'a', [1, 'x'], 'number'],
]

const LEVELS = 'MATCH (n:Pass) WITH DISTINCT n.level AS level RETURN level ORDER BY level'

describe('HTTP', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({}, { sync: false })
  })
  afterAll(() => service.stop())

  test.each(refused)('refuses %j %j %j', async (type, external_id, value, message) => {
    const { status, body } = await service.ask('/capture/v1/nodes', {
      nodes: [{ type, external_id, properties: [{ type: 'level', value }] }],
    })
    expect([400, 422]).toContain(status)
    expect(JSON.stringify(body)).toContain(message)
  })
})

describe('the authorizer', () => {
  const write = async (type: string, external_id: string, value: unknown) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'verdigraph.yaml'), 'name: cars\n')
    const authorizer = await openAuthorizer({ memory: true, project: folder })
    try {
      return await authorizer.write({ nodes: [{ type, external_id, properties: [{ type: 'level', value }] }] } as never)
    } finally {
      await authorizer.close()
    }
  }

  test.each([...refused, ['Car', 'a', new Date(0), 'Date']] as typeof refused)(
    'refuses %j %j %j',
    async (type, external_id, value, message) => {
      await expect(write(type, external_id, value)).rejects.toThrow(message)
    },
  )

  test('takes a fraction and a bigint', async () => {
    await write('Car', 'a', 1.5)
    await write('Car', 'a', 1n)
  })
})

const project = 'gid:AAAAAmBcdefghijklmnopqrstuv'

async function emptyProject(): Promise<string> {
  const dataDir = temporaryFolder()
  await openEnvironment(graphFolder(dataDir, { project, part: 'default' }), { clock: systemClock, sync: false }).close()
  return dataDir
}

async function levelsIn(dataDir: string): Promise<unknown> {
  const folder = graphFolder(dataDir, { project, part: 'default' })
  const environment = openEnvironment(folder, { clock: systemClock, readOnly: true })
  const { rows } = new Graph(environment).query(LEVELS)
  await environment.close()
  return rows
}

describe('import', () => {
  const load = async (dataDir: string, lines: readonly string[]) => {
    const from = join(dataDir, 'lines')
    writeFileSync(from, lines.map((line) => `${line}\n`).join(''))
    return await importFile({ dataDir, from, projectId: project, dryRun: false, resume: false, progress: () => {} })
  }
  const lineOf = (type: string, external_id: string, value: unknown) =>
    JSON.stringify({ node: { type, external_id, properties: [{ type: 'level', value }] } })

  test.each(refused)('refuses %j %j %j with the line', async (type, external_id, value, message) => {
    const loading = load(await emptyProject(), [lineOf('Car', 'fine', 1), lineOf(type, external_id, value)])
    const failure = await loading.catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(OperationalError)
    expect(String(failure)).toContain('line 2: ')
    expect(String(failure)).toContain(message)
  })

  test('stores a fraction as a float, and one integer once', async () => {
    const dataDir = await emptyProject()
    await load(dataDir, [lineOf('Pass', 'a', 1), lineOf('Pass', 'b', 1), lineOf('Pass', 'c', 1.5)])
    expect(await levelsIn(dataDir)).toEqual([[1], [new Float(1.5)]])
  })
})

describe('copy to a data folder', () => {
  const copy = async (dataDir: string, type: string, externalId: string, labels: readonly string[], value: unknown) => {
    const layout = { isComposite: false, locations: new Map() }
    const targets = await FolderTargets.open({ dataDir, id: project, layout }, ['default'], 'neo4j://graph')
    const target = await targets.open(0)
    const symbols = new SharedSymbols()
    const property = { value: value as number, externalValue: null, updatedMs: 1, metadata: null }
    const node: NodeRecord = {
      type: symbols.intern('label', type),
      externalId,
      labels: [type, ...labels].map((name) => symbols.intern('label', name)).sort((a, b) => a - b),
      isIdentity: false,
      location: null,
      gid: mintGid(1),
      createdMs: 1,
      updatedMs: 1,
      properties: new Map([[symbols.intern('property', 'level'), property]]),
    }
    try {
      await target.writeNodes([node], symbols, COPY_END)
      await target.complete(() => {})
    } finally {
      await target.close()
    }
  }

  test.each(refused)('refuses %j %j %j and names the element', async (type, externalId, value, message) => {
    const failure = await copy(await emptyProject(), type, externalId, [], value).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(OperationalError)
    expect(String(failure)).toMatch(/a data folder cannot hold an element of the source: the .*node/)
    expect(String(failure)).toContain(message)
  })

  test('names the label that no graph of a folder can hold, and the way on', async () => {
    const copying = copy(await emptyProject(), 'Car', 'c1', ['Sports Car'], 1)
    await expect(copying).rejects.toThrow(
      /the node `Car` `c1`: a label: expected .*, found "Sports Car"\. Change it there; to begin again, delete the folder .* and copy again from neo4j:\/\/graph/,
    )
  })

  test('stores a bigint as the number', async () => {
    const dataDir = await emptyProject()
    await copy(dataDir, 'Pass', 'a', [], 1n)
    expect(await levelsIn(dataDir)).toEqual([[1]])
  })
})

describe('a batch for a database server', () => {
  const batch = () => {
    const symbols = new SharedSymbols()
    return new RemoteBatch(symbols, new TouchedElements(symbols), 1, () => {
      throw new Error('no view')
    })
  }
  const upsert = (type: string, externalId: string, value: unknown) => {
    const written = batch()
    written.upsertNode({ type, externalId, properties: [{ name: 'level', value: value as number }] })
    return [...written.nodes.values()].flatMap(({ now }) =>
      [...now!.properties.values()].map(({ value: stored }) => stored),
    )
  }

  test.each([...refused, ['Car', 'a', new Date(0), 'Date']] as typeof refused)(
    'refuses %j %j %j',
    (type, externalId, value, message) => {
      expect(() => upsert(type, externalId, value)).toThrow(InvalidElementError)
      expect(() => upsert(type, externalId, value)).toThrow(message)
    },
  )

  test('stores a bigint as the number, and a fraction as a float', () => {
    expect(upsert('Car', 'a', 1n)).toEqual([1])
    expect(upsert('Car', 'a', 1.5)).toEqual([new Float(1.5)])
  })
})
