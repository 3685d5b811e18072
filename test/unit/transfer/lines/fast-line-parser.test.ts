// The fast line parser returns the same as the general one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mintGid } from '../../../../src/kernel/ids.ts'
import { FastLineParser } from '../../../../src/transfer/lines/fast-line-parser.ts'
import { LineError } from '../../../../src/transfer/lines/line-fields.ts'
import { type ExportLine, nodeLine, relationshipLine } from '../../../../src/transfer/lines/line-format.ts'
import { parseLine } from '../../../../src/transfer/lines/parse-line.ts'
import { testSeed } from '../../../generate/random.ts'

const name = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('Person', 'Group', 'AB', '_x9') },
  { weight: 1, arbitrary: fc.constantFrom('Ärger', 'A', 'A b', '9a') },
)
const externalId = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('person-1', 'a b', '~') },
  { weight: 1, arbitrary: fc.string({ minLength: 0, maxLength: 12 }) },
  fc.constantFrom('a'.repeat(1024), 'a'.repeat(1025), 'ü', '"', '\\', '\n'),
)
const key = fc.record({ type: name, externalId })
const ms = fc.integer({ min: 0, max: 4e12 })
const common = { gid: ms.map(mintGid), createdMs: ms, updatedMs: ms, properties: fc.constant([]) }
const written = fc.oneof(
  fc
    .record({ type: name, externalId, labels: fc.constantFrom([], ['L1']), isIdentity: fc.boolean(), ...common })
    .map((node) => nodeLine({ ...node, location: null })),
  fc.record({ source: key, target: key, type: name, ...common }).map(relationshipLine),
)
const bare = fc.oneof(
  key.map(({ type, externalId }) => JSON.stringify({ node: { type, external_id: externalId } })),
  fc.tuple(key, name, key).map(([source, type, target]) => {
    const end = (of: { type: string; externalId: string }) => ({ type: of.type, external_id: of.externalId })
    return JSON.stringify({ relationship: { source: end(source), type, target: end(target) } })
  }),
)
/** A few bytes moved or replaced. */
const bent = fc
  .tuple(fc.oneof(written, bare), fc.array(fc.tuple(fc.nat(400), fc.nat(127), fc.boolean()), { maxLength: 2 }))
  .map(([line, changes]) => {
    const bytes = [...Buffer.from(line.trimEnd())]
    for (const [at, byte, isMore] of changes) bytes.splice(at % bytes.length, isMore ? 0 : 1, byte)
    return Buffer.from(bytes)
  })

function carefully(text: string, isExport: boolean): ExportLine | null {
  try {
    return parseLine(text, isExport)
  } catch (fault) {
    if (fault instanceof LineError) return null
    throw fault
  }
}

test('the fast parser returns what the general parser returns', () => {
  let read = 0
  fc.assert(
    fc.property(bent, fc.boolean(), (line, isExport) => {
      // Among others, as in a block.
      const bytes = Buffer.concat([Buffer.from('}}\n'), line, Buffer.from('\n{"node"')])
      const plain = new FastLineParser().parse(bytes, 3, 3 + line.length, isExport)
      if (plain === null) return
      read += 1
      expect(plain).toEqual(carefully(line.toString('utf8'), isExport))
    }),
    { seed: testSeed(), numRuns: 4000 },
  )
  expect(read).toBeGreaterThan(400)
})

test('elements without properties are parsed from their bytes, written by an export or by hand', () => {
  const given = { gid: mintGid(5), createdMs: 1000, updatedMs: 2000, properties: [] }
  const node = nodeLine({ type: 'Person', externalId: 'p 1', labels: [], isIdentity: false, location: null, ...given })
  const ends = { source: { type: 'Person', externalId: 'a' }, target: { type: 'Car', externalId: 'b' } }
  const joined = relationshipLine({ ...ends, type: 'OWNS', ...given, updatedMs: 1000 })
  for (const line of [node, joined, '{"node":{"type":"Person","external_id":"1"}}\n']) {
    const bytes = Buffer.from(line)
    expect(new FastLineParser().parse(bytes, 0, bytes.length - 1, false)).toEqual(parseLine(line, false))
  }
})
