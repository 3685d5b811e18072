// Lines with a relationship of the same source, type and target: an import never merges two that differ without a word.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { readRelationship } from '../../../src/store/format/records.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { graphFolder } from '../../../src/transfer/import/graph-importer.ts'
import { type ImportRequest, importFile } from '../../../src/transfer/import/import.ts'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(killAll)

const PROJECT = 'gid:00000000000000000000000000'
const section = { project: PROJECT, part: 'default' }
const ann = { type: 'Person', external_id: 'ann' }
const acme = { type: 'Org', external_id: 'acme' }
const nodes = [{ node: ann }, { node: acme }]

function role(properties: object): object {
  const list = Object.entries(properties).map(([type, value]) => ({ type, value }))
  return { relationship: { source: ann, type: 'ROLE', target: acme, properties: list } }
}

/** A folder with an empty graph, and a file. `existing`: lines that are in the graph already. */
async function prepared(lines: readonly object[], existing: readonly object[] = []) {
  const dataDir = join(temporaryFolder(), 'data')
  await openEnvironment(graphFolder(dataDir, section), { clock: systemClock }).close()
  const run = (path: string, more: Partial<ImportRequest> = {}) =>
    importFile({ dataDir, from: path, projectId: PROJECT, dryRun: false, resume: false, progress() {}, ...more })
  if (existing.length > 0) await run(fileOf(existing))
  const path = fileOf(lines)
  return { dataDir, path, run: (more: Partial<ImportRequest> = {}) => run(path, more) }
}

function fileOf(lines: readonly object[]): string {
  const path = join(temporaryFolder(), 'lines.ndjson')
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return path
}

/** The properties of the only relationship; null: the graph has no relationship. */
async function stored(dataDir: string): Promise<Record<string, unknown> | null> {
  const environment = openEnvironment(graphFolder(dataDir, section), { clock: systemClock, readOnly: true })

  try {
    return environment.inspect(({ relationships }) => {
      const all = [...relationships.entries({ start: 1, end: undefined })]
      if (all.length === 0) return null
      expect(all.length).toBe(1)
      const { properties } = readRelationship(all[0]!.valueView)
      return Object.fromEntries([...properties].map(([name, { value }]) => [name, value]))
    })
  } finally {
    await environment.close()
  }
}

const values = async (dataDir: string): Promise<unknown> => Object.values((await stored(dataDir)) ?? {}).sort()
const differ = [...nodes, role({ name: 'admin', since: 1 }), role({ name: 'viewer' })]

describe.each([
  ['a new graph', []],
  ['a graph with relationships', [...nodes, { relationship: { source: acme, type: 'HAS', target: ann } }]],
])('into %s', (_, existing) => {
  test('two lines that differ are refused with both line numbers, and the batch is not written', async () => {
    const { run } = await prepared(differ, existing)
    await expect(run()).rejects.toThrow(
      /^line 4: relationship: line 3 has the same source, type and target, with other properties\. .*--on-duplicate merge/,
    )
    await expect(run({ dryRun: true })).rejects.toThrow(/^line 4: relationship: line 3 has the same source/)
  })

  test('two lines that differ are refused across batches; the import goes on with another mode', async () => {
    const { run } = await prepared(differ, existing)
    await expect(run({ batchWeight: 1 })).rejects.toThrow(
      /(ROLE from Person `ann` to Org `acme`|line 4: .* an earlier line)/,
    )
    const resumed = await run({ resume: true, onDuplicate: 'merge' })
    expect(resumed.merged.relationships).toBe(1)
  })

  test('equal lines are one relationship, and are counted apart', async () => {
    const { run } = await prepared([...nodes, role({ a: 1, b: 2 }), role({ b: 2, a: 1 })], existing)
    const { relationships, merged } = await run()
    expect([relationships, merged.relationships]).toEqual([2, 1])
  })
})

test.each([
  [undefined, 'merge', [1, 'viewer']],
  [1, 'merge', [1, 'viewer']],
  [undefined, 'last', ['viewer']],
  [1, 'last', ['viewer']],
] as const)('batches of weight %s, --on-duplicate %s', async (batchWeight, onDuplicate, expected) => {
  const { run, dataDir } = await prepared(differ)
  await run({ onDuplicate, ...(batchWeight === undefined ? {} : { batchWeight }) })
  expect(await values(dataDir)).toEqual(expected)
})

test('a line updates a relationship of the graph; a second line that differs is refused', async () => {
  const existing = [...nodes, role({ name: 'admin', since: 1 })]
  const one = await prepared([role({ name: 'viewer' }), role({ name: 'viewer' })], existing)
  expect((await one.run()).merged.relationships).toBe(2)
  expect(await values(one.dataDir)).toEqual([1, 'viewer'])
  for (const batchWeight of [1, 1000]) {
    const two = await prepared([role({ name: 'viewer' }), role({ name: 'editor' })], existing)
    await expect(two.run({ batchWeight })).rejects.toThrow('line 2: relationship: ')
  }
})

test('a dry run reports every line at fault, the first 20 in full', async () => {
  const bad = { node: { type: 'Person', external_id: 7 } }
  const { run, dataDir } = await prepared([bad, ...nodes, role({ a: 1 }), bad, role({ a: 2 })])
  const error = (await run({ dryRun: true }).catch((failure: unknown) => failure)) as Error
  expect(error.message.split('\n').slice(0, 4)).toEqual([
    '3 lines are not valid:',
    '  line 1: node.external_id: expected a string, found number',
    '  line 5: node.external_id: expected a string, found number',
    '  line 6: relationship: line 4 has the same source, type and target, with other properties',
  ])
  expect(await stored(dataDir)).toBe(null)
  const many = await prepared(Array.from({ length: 30 }, () => bad))
  await expect(many.run({ dryRun: true })).rejects.toThrow(
    /^30 lines are not valid:\n( {2}line \d+: .*\n){20} {2}and 10 more$/,
  )
})

test('the command prints new and merged elements apart, also as JSON', async () => {
  const { dataDir } = await prepared(differ)
  const flags = ['import', '--data', dataDir, '--in', fileOf([{ graph: section }, ...differ])]
  const { stdout, stderr } = await runCommand([...flags, '--on-duplicate', 'last', '--dry-run', '--json'])
  expect(stderr).toContain(
    'new: 2 nodes, 1 relationships; merged with existing ones or earlier lines: 0 nodes, 1 relationships',
  )
  expect(JSON.parse(stdout)).toMatchObject({
    new: { nodes: 2, relationships: 1 },
    merged: { nodes: 0, relationships: 1 },
  })
})
