// Export and import: the imported graph equals the exported one; an error in a line is reported with line number and
// field.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseLayout } from '../../../src/config/db-connection.ts'
import { construct } from '../../../src/engine/value/temporal/construct.ts'
import type { PropertyValue } from '../../../src/engine/value/value.ts'
import { Float } from '../../../src/kernel/float.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { constituentFolderName } from '../../../src/store/tenancy/project-folders.ts'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import { type ImportRequest, importFile } from '../../../src/transfer/import/import.ts'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(killAll)

const progress = (): void => {}

async function exported(dataDir: string): Promise<string> {
  const out = join(temporaryFolder(), 'lines')
  await exportFolder({ dataDir, out, progress })
  return readFileSync(out, 'utf8')
}

function importInto(dataDir: string, text: string | Buffer, more: Partial<ImportRequest> = {}) {
  const from = more.from ?? join(temporaryFolder(), 'lines')
  writeFileSync(from, text)
  return importFile({ dataDir, from, dryRun: false, resume: false, progress, ...more })
}

/** A folder with one project and an empty graph. */
async function emptyProject(): Promise<{ data: string; project: string }> {
  const data = join(temporaryFolder(), 'data')
  const project = mintGid(systemClock.now())
  const documents = openCollections(join(data, 'config'), { sync: false })
  await documents.transact((changes) => {
    changes.put('configuration', project, {
      id: project,
      kind: 'projects',
      project_id: '',
      fields: { ikg_status: 'ACTIVE', key: 'sb1.AAAAAAAAAAA.b.c' },
    })
  })
  await documents.close()
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  await catalog.create(project)
  await catalog.close()
  return { data, project }
}

async function checkOf(data: string, project: string): Promise<string[] | null> {
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  const findings = catalog.check(project, 'default')
  await catalog.close()
  return findings
}

const values: Record<string, PropertyValue> = {
  integer: 42,
  negative: -7,
  large: 9_007_199_254_740_993n,
  float: new Float(1),
  small: new Float(-0.5),
  minusZero: new Float(-0),
  huge: new Float(1e300),
  nan: new Float(Number.NaN),
  endless: new Float(Number.NEGATIVE_INFINITY),
  text: 'naïve \u2028 "quoted" \ud83e\udd93 \u0000',
  empty: '',
  yes: true,
  list: [1, 2, 3],
  floats: [new Float(1), new Float(2.5)],
  none: [],
  date: construct('date', '2026-11-20') as PropertyValue,
  moment: construct('datetime', '2026-11-20T21:55:32.123456789+01:00') as PropertyValue,
  span: construct('duration', 'P1Y2M3DT4H5.5S') as PropertyValue,
}

test('an exported graph is imported, and exported again, byte by byte', async () => {
  const { data, project } = await emptyProject()
  const clock = new ManualClock(1_700_000_000_123)
  const catalog = openCatalog(data, { clock, sync: false })
  const graph = catalog.graph(project, 'default')!
  await graph.write((batch) => {
    batch.upsertNode({ type: 'Gone', externalId: 'gone' })
    batch.upsertNode({
      type: 'Zebra',
      externalId: 'z/ü \ud83e\udd93',
      labels: ['Wild', 'Animal'],
      isIdentity: true,
      properties: Object.entries(values).map(([name, value]) => ({ name, value })),
    })
    batch.upsertNode({
      type: 'Animal',
      externalId: 'a',
      properties: [
        { name: 'resolved', externalValue: 'resolver-1' },
        {
          name: 'known',
          value: 1,
          metadata: {
            source: 'hr',
            assuranceLevel: 2,
            verifiedTime: '2026-01-02T03:04:05.678Z',
            custom: { deep: { list: [1.5, 2, null, '1.0', new Float(1), 9_007_199_254_740_993n] } },
          },
        },
      ],
    })
  })
  clock.advance(5)
  await graph.write((batch) => {
    batch.deleteNode({ type: 'Gone', externalId: 'gone' })
    const source = { type: 'Animal', externalId: 'a' }
    const target = { type: 'Zebra', externalId: 'z/ü \ud83e\udd93' }
    batch.upsertRelationship({ source, type: 'KNOWS', target, properties: [{ name: 'since', value: new Float(2) }] })
    batch.upsertRelationship({ source, type: 'KNOWS', target: source })
    batch.upsertNode({ ...source, properties: [{ name: 'later', value: 'x' }] })
  })
  await catalog.close()

  const first = await exported(data)
  expect(first).toContain('"float","value":1.0}')
  expect(first).toContain('"custom_metadata":{"deep":{"list":[1.5,2,null,"1.0",1.0,9007199254740993]}}')
  const target = join(temporaryFolder(), 'copy')
  expect(await importInto(target, first, { dryRun: true })).toMatchObject({ nodes: 2, relationships: 2 })
  expect(existsSync(target)).toBe(false)
  expect(await importInto(target, first)).toMatchObject({ configuration: 1, nodes: 2, relationships: 2, skipped: 0 })
  expect(await exported(target)).toBe(first)
  expect(await checkOf(target, project)).toEqual([])
  // Nothing changes if it is imported again.
  await importInto(target, first)
  expect(await exported(target)).toBe(first)
})

test('the parts of a composite graph are restored, and the next start provisions them again', async () => {
  const { data, project } = await emptyProject()
  const documents = openCollections(join(data, 'config'), { sync: false })
  const document = documents.get('configuration', project) as { fields: object }
  const fields = { ...document.fields, db_connection: { alias_mapping: 'eu=one' } }
  await documents.transact((changes) => changes.put('configuration', project, { ...document, fields }))
  await documents.close()
  const eu = { database: 'one' }
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  await catalog.create(project, { isComposite: true, locations: new Map([['eu', eu]]) })
  const ann = { type: 'Person', externalId: 'ann' }
  await catalog.graph(project, eu)!.write((batch) => batch.upsertNode({ ...ann, location: 'eu' }))
  await catalog.graph(project, 'default')!.write((batch) => batch.upsertNode({ type: 'Person', externalId: 'bob' }))
  await catalog.graph(project, 'global')!.write((batch) => {
    batch.upsertRelationship({ source: ann, type: 'KNOWS', target: { type: 'Person', externalId: 'bob' } })
  })
  await catalog.close()
  const text = await exported(data)
  expect(text.match(/"graph"/g)).toHaveLength(3)
  expect(text).toContain('"nodes":4,"relationships":1')
  const target = join(temporaryFolder(), 'copy')
  await importInto(target, text)
  expect(await exported(target)).toBe(text.replace('"ACTIVE"', '"PENDING"'))
  // For one part of a composite project alone, its proxies must still be created.
  await importInto(data, JSON.stringify({ node: { type: 'Person', external_id: 'cid' } }), { projectId: project })
  expect(await exported(data)).toContain('"PENDING"')
})

test('a node is imported into the part where a capture would put it, and into no other', async () => {
  const { data, project } = await emptyProject()
  const documents = openCollections(join(data, 'config'), { sync: false })
  const document = documents.get('configuration', project) as { fields: object }
  const alias_mapping = 'eu=one&uk=one&us=two&home=main&all=joined'
  const connection = { name: 'main', composite_db_name: 'joined', alias_mapping }
  const put = (fields: object) =>
    documents.transact((changes) => changes.put('configuration', project, { ...document, fields }))
  await put({ ...document.fields, db_connection: connection })
  const layout = parseLayout({ db_connection: connection })
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  await catalog.create(project, layout)
  const [one, two] = ['eu', 'us'].map((location) => constituentFolderName(layout.locations.get(location)!))
  await catalog.graph(project, layout.locations.get('eu')!)!.write((batch) => {
    batch.upsertNode({ type: 'Person', externalId: 'ann', location: 'uk' })
  })
  await catalog.graph(project, 'default')!.write((batch) => {
    batch.upsertNode({ type: 'Person', externalId: 'bob', location: 'home' })
  })
  await catalog.close()
  const text = await exported(data)
  expect(text).toContain('"nodes":4')

  const into = (part: string | undefined, location?: string) => {
    const node = { type: 'Person', external_id: 'cid', ...(location === undefined ? {} : { location }) }
    return `${JSON.stringify({ graph: { project, part } })}\n${JSON.stringify({ node })}\n`
  }
  const keepsNone = 'is the composite database, which stores no nodes'
  const refused: [string | undefined, string | undefined, string][] = [
    ['default', 'mars', 'node.location: unknown location mars'],
    ['default', 'eu', `node.location: nodes of eu are stored in \`${one}\``],
    ['default', 'all', `node.location: all ${keepsNone}`],
    [one, 'us', `node.location: nodes of us are stored in \`${two}\``],
    [one, 'home', 'node.location: nodes of home are stored in `default`'],
    [one, 'one', 'node.location: unknown location one'],
    [
      one,
      undefined,
      'node.location: expected a string, found nothing: a node without a location is stored in `default`',
    ],
    ['global', undefined, `node: \`global\` ${keepsNone}`],
    ['global', 'eu', `node: \`global\` ${keepsNone}`],
  ]
  const from = join(temporaryFolder(), 'lines')
  const fault = async (lines: string, more: Partial<ImportRequest> = {}) =>
    (await importInto(data, lines, { from, ...more }).then(
      () => null,
      (failure: Error) => failure.message,
    )) as string | null
  for (const [part, location, message] of refused) {
    for (const dryRun of [true, false]) expect(await fault(into(part, location), { dryRun })).toBe(`line 2: ${message}`)
  }
  expect(await exported(data)).toBe(text)
  for (const [part, location] of [[one, 'eu'], [one, 'uk'], [two, 'us'], [undefined, 'home'], ['default']])
    expect(await fault(into(part, location)), location).toBe(null)

  // An export is checked against the configuration that it contains, or against that of the target project.
  const target = join(temporaryFolder(), 'copy')
  await importInto(target, text)
  expect(await exported(target)).toBe(text.replace('"ACTIVE"', '"PENDING"'))
  const other = join(temporaryFolder(), 'other')
  const unmapped = text.replaceAll('"location":"uk"', '"location":"mars"')
  await expect(importInto(other, unmapped)).rejects.toThrow(/^line \d: node\.location: unknown location mars$/)
  const untold = text.replace(`"alias_mapping":"${alias_mapping}"`, '"alias_mapping":7')
  await expect(importInto(other, untold)).rejects.toThrow(
    'line 2: configuration.fields.db_connection.alias_mapping: expected a string, found number',
  )
  await put(document.fields)
  await documents.close()
  expect(await fault(text, { projectId: project })).toMatch(
    /^line \d: node\.location: unknown location (home|uk): the project has no composite database$/,
  )
})

test('lines without ids and times are new data, merged with the existing graph', async () => {
  const { data, project } = await emptyProject()
  const lines = [
    { node: { type: 'Person', external_id: 'ann', properties: [{ type: 'age', value: 3 }] } },
    { node: { type: 'Person', external_id: 'ann', properties: [{ type: 'name', value: 'Ann' }] } },
    { relationship: { source: person('ann'), type: 'KNOWS', target: person('ann') } },
  ].map((line) => JSON.stringify(line))
  await importInto(data, `\ufeff${lines.join('\r\n\r\n')}`, { projectId: project })
  const text = await exported(data)
  expect(text.match(/"node"/g)).toHaveLength(1)
  expect(text.replace(/,"update_time":"[^"]*"/g, '')).toContain(
    '{"type":"age","value":3},{"type":"name","value":"Ann"}',
  )
  expect(await checkOf(data, project)).toEqual([])
})

function person(external_id: string): object {
  return { type: 'Person', external_id }
}

test('an invalid line is reported with its number and its field, and its batch is not written', async () => {
  const { data, project } = await emptyProject()
  const before = await exported(data)
  const good = JSON.stringify({ node: { type: 'Person', external_id: 'ann' } })
  const of = (members: object): string => JSON.stringify({ node: { type: 'Person', external_id: 'x', ...members } })
  const cases: [string, string][] = [
    ['{"node":', 'malformed JSON at column 9'],
    ['[]', 'expected an object, found array'],
    ['{"knot":{}}', 'expected a node, a relationship, a configuration or a graph'],
    ['{"node":{},"relationship":{}}', 'relationship: unknown field'],
    ['{"node":{"type":"A B","external_id":"x"}}', 'node.type: expected'],
    ['{"node":{"type":"Person"}}', 'node.external_id: expected a string, found nothing'],
    [of({ external_id: 'x'.repeat(1025) }), 'node.external_id: expected 1 to 1024 characters, found 1025'],
    [of({ colour: 1 }), 'node.colour: unknown field'],
    [of({ labels: ['Ok', 7] }), 'node.labels[1]: expected a string, found number'],
    [of({ id: 'gid:short' }), 'node.id: expected an id of this service'],
    [of({ create_time: 'yesterday' }), 'node.create_time: expected an RFC 3339 timestamp'],
    [of({ properties: [{ type: 'id', value: 1 }] }), 'node.properties[0].type: `id` is a protected name'],
    [of({ properties: [{ type: 'p' }] }), 'node.properties[0]: expected exactly one of'],
    [of({ properties: [{ type: 'p', value: { a: 1 } }] }), 'node.properties[0].value: expected a string, a number'],
    [
      of({ properties: [{ type: 'p', value: [1, 'a'] }] }),
      'node.properties[0].value: expected a string, a finite number',
    ],
    [of({ properties: [{ type: 'p', value: { date: 'never' } }] }), 'node.properties[0].value: '],
    [of({ properties: [{ type: 'p', value: 1, metadata: { assurance_level: 4 } }] }), 'metadata.assurance_level'],
    [
      of({ properties: [{ type: 'p', value: 1, metadata: { custom_metadata: { n: 1 } } }] }).replace(
        '"n":1',
        `"n":${'9'.repeat(30)}`,
      ),
      'metadata.custom_metadata: the integer 9',
    ],
    [of({ create_time: '' }), 'node.create_time: expected 1 to 64 characters, found 0'],
    ['{"node":{"type":"Person","external_id":"x","external_id":"y"}}', 'is given twice'],
    [
      JSON.stringify({ relationship: { source: person('ann'), type: 'KNOWS', target: person('bob') } }),
      'relationship.target: the node `Person` `bob` does not exist',
    ],
    ['{"past":{"id":"x","kind":"x"}}', 'past.revision: expected a revision number, found nothing'],
    ['{"past":{"id":"x","kind":"x","revision":1}}', 'past.id: no current document with this id precedes it'],
    ['{"configuration":{"id":"x","kind":"x"},"past":{}}', 'past: unknown field'],
    ['{"graph":{"project":"gid:01ABCDEFGHJKMNPQRSTVWXYZ01","part":"../../etc"}}', 'graph.part: expected a constituent'],
    ['{"graph":{"part":"global","project":"gid:01ABCDEFGHJKMNPQRSTVWXYZ01"}}', 'graph.part: the project has no'],
    [`{"format":"verdigraph-export","version":1}`, 'a header is allowed only in the first line'],
    ['{"end":{"configuration":0,"nodes":7,"relationships":0}}', 'the end counts 7 nodes'],
  ]
  const from = join(temporaryFolder(), 'lines')
  for (const [line, message] of cases) {
    for (const dryRun of [true, false]) {
      const outcome = importInto(data, `${good}\n${line}\n`, { from, projectId: project, dryRun, batchWeight: 4000 })
      await expect(outcome, line).rejects.toThrow(message)
      await expect(outcome, line).rejects.toThrow(/^line 2: /)
    }
  }
  // The last two cases end a batch, and the batch of the valid line is written then.
  await importInto(data, '', { from, projectId: project })
  const after = await exported(data)
  expect(after.replaceAll(/\{"node".*\n|"nodes":1/g, '')).toBe(before.replace('"nodes":0', ''))
})

test('bytes that are not UTF-8 are refused, and never replaced', async () => {
  const { data, project } = await emptyProject()
  const line = (bytes: number[]): Buffer =>
    Buffer.concat([Buffer.from('{"node":{"type":"Person","external_id":"x'), Buffer.from(bytes), Buffer.from('"}}\n')])
  // The second is that character itself, which is valid in a name.
  const lines = [[0x41], [0xef, 0xbf, 0xbd], [0xff]].map(line)
  for (const dryRun of [true, false])
    await expect(importInto(data, Buffer.concat(lines), { projectId: project, dryRun })).rejects.toThrow(
      'line 3: expected UTF-8 text',
    )
  await importInto(data, Buffer.concat(lines.slice(0, 2)), { projectId: project })
  expect(await exported(data)).toContain('"x\ufffd"')
})

test('everything that captures can create is imported: lengths count characters, and several bodies may add up', async () => {
  const { data, project } = await emptyProject()
  const zebras = '\ud83e\udd93'.repeat(1024)
  const value = 'x'.repeat(3 * 2 ** 20)
  const properties = Array.from({ length: 6 }, (_, i) => ({ type: `p${i}`, value }))
  const sourced = { type: '\ud83e\udd93'.repeat(128), value: 1, metadata: { source: 'y'.repeat(100_000) } }
  const node = { type: 'Person', external_id: zebras, properties: [...properties, sourced] }
  await importInto(data, JSON.stringify({ node }), { projectId: project })
  const copy = join(temporaryFolder(), 'copy')
  const text = await exported(data)
  await importInto(copy, text)
  expect((await exported(copy)) === text).toBe(true)
  await expect(
    importInto(data, JSON.stringify({ node: { ...person(`${zebras}a`) } }), { projectId: project }),
  ).rejects.toThrow('node.external_id: expected 1 to 1024 characters, found 1025')
})

test('a dry run finds the nodes that the graph already has', async () => {
  const { data, project } = await emptyProject()
  const node = JSON.stringify({ node: { type: 'Person', external_id: 'ann' } })
  const relationship = JSON.stringify({
    relationship: { source: person('ann'), type: 'KNOWS', target: person('ann') },
  })
  await importInto(data, node, { projectId: project })
  const before = await exported(data)
  expect(await importInto(data, relationship, { projectId: project, dryRun: true })).toMatchObject({ relationships: 1 })
  expect(await exported(data)).toBe(before)
})

test('an import that is killed again and again resumes each time, and its folder is not served until it is complete', async () => {
  const { data, project } = await emptyProject()
  const nodes = 2000
  const lines = Array.from({ length: nodes }, (_, i) =>
    JSON.stringify({ node: { type: 'Person', external_id: `p${i}`, properties: [{ type: 'n', value: i }] } }),
  )
  for (let i = 0; i < nodes * 2; i++) {
    const ends = { source: person(`p${i % nodes}`), target: person(`p${(i * 7919 + 13) % nodes}`) }
    lines.push(JSON.stringify({ relationship: { ...ends, type: i < nodes ? 'KNOWS' : 'LIKES' } }))
  }
  const from = join(temporaryFolder(), 'lines')
  const graph = JSON.stringify({ graph: { project, part: 'default' } })
  writeFileSync(from, `${graph}\n${lines.join('\n')}\n`)
  let kills = 0
  let isServed = true
  for (let ended = false; !ended; ) {
    // The first reported batch may have been written before; a few more are not.
    const batches = 10 + kills * 15
    // It does not get far beyond them before the kill, even on a fast disk.
    const script = join(import.meta.dirname, 'importing-process.ts')
    const child = Bun.spawn([process.execPath, script, data, from, '250', String(batches + 5)], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const reader = child.stdout.getReader()
    let told = 0
    while (told < batches && !ended) {
      const { value, done } = await reader.read()
      told += value === undefined ? 0 : Buffer.from(value).toString().split('\n').length - 1
      ended = done
    }
    if (!ended) {
      child.kill('SIGKILL')
      kills += 1
    }
    await child.exited
    if (kills === 1) isServed = (await runCommand(['serve', '--data', data, '--port', '0'])).exitCode === 0
  }
  expect(kills).toBeGreaterThan(1)
  expect(isServed).toBe(false)
  expect(await checkOf(data, project)).toEqual([])
  const text = await exported(data)
  expect(text).toContain(`"nodes":${nodes},"relationships":${nodes * 2}`)
  // Written once: a second write would have a change time after its creation time.
  expect(text).not.toContain('"update_time"')
})

test('a truncated export is not accepted as complete', async () => {
  const { data } = await emptyProject()
  const whole = await exported(data)
  const target = join(temporaryFolder(), 'copy')
  const lines = whole.trimEnd().split('\n')
  await expect(importInto(target, lines.slice(0, -1).join('\n'))).rejects.toThrow(
    'the last line of the export is missing',
  )
  const served = await runCommand(['serve', '--data', target, '--port', '0'])
  expect(served.stderr).toContain('was interrupted: finish it with')
  // A complete file repairs it.
  await importInto(target, whole)
  expect(await exported(target)).toBe(whole)
})

test('an interrupted import stays so when another file is imported', async () => {
  const { data, project } = await emptyProject()
  const cut = join(temporaryFolder(), 'cut')
  const line = (external_id: string): string => `${JSON.stringify({ node: { type: 'Person', external_id } })}\n`
  const importCut = () =>
    importFile({ dataDir: data, from: cut, projectId: project, dryRun: false, resume: true, batchWeight: 4, progress })
  writeFileSync(cut, `${line('ann')}nonsense\n`)
  await expect(importCut()).rejects.toThrow('line 2: malformed JSON')
  await importInto(data, line('bob'), { projectId: project })
  await expect(importInto(data, 'nonsense', { projectId: project })).rejects.toThrow('line 1: ')
  await expect(exported(data)).rejects.toThrow(`an import of ${cut} into the folder`)
  writeFileSync(cut, line('ann'))
  await importCut()
  expect(await exported(data)).toContain('"nodes":2')
})

test('an error of the system is reported in one line', async () => {
  const { data } = await emptyProject()
  for (const [args, sentence] of [
    [['import', '--in', data], `${data} is a folder: name a file`],
    [['export', '--out', join('/proc', 'x')], 'cannot be used: it does not exist; create it, or correct the path'],
  ] as const) {
    const { exitCode, stderr } = await runCommand([...args, '--data', data])
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^\S*error:\S* .*\n$/)])
    expect(stderr).toContain(sentence)
  }
})

test('a configuration is never merged with another one', async () => {
  const one = await emptyProject()
  const other = await emptyProject()
  const text = await exported(one.data)
  await expect(importInto(other.data, text)).rejects.toThrow('has another configuration')
  expect(await importInto(other.data, text, { projectId: other.project })).toMatchObject({ configuration: 1 })
  await expect(importInto(join(temporaryFolder(), 'x'), text, { projectId: one.project })).rejects.toThrow(
    'has no project',
  )
})

test('older revisions are exported too, with their project alone if it is exported alone', async () => {
  const from = await startService()
  const draft = { status: 'DRAFT', policy: '{}' }
  const named = { project_id: from.projectId, name: 'drive', description: 'first' }
  const id = (await from.configure('POST', 'authorization-policies', { ...draft, ...named })).body.id as string
  await from.configure('PUT', `authorization-policies/${id}`, { ...draft, description: 'second' })
  const other = await from.configure('POST', 'projects', {
    organization_id: from.app.organizationId,
    name: 'other',
    region: 'local',
    description: 'first',
  })
  await from.configure('PUT', `projects/${other.body.id as string}`, { description: 'second' })
  const metadata = { custom_metadata: { share: 1.0, list: [1, 2.5] } }
  const captured = await from.send('/capture/v1/nodes', {
    headers: { 'x-svc-clientkey': from.key },
    raw: JSON.stringify({
      nodes: [{ external_id: 'ann', type: 'Person', properties: [{ type: 'age', value: 3, metadata }] }],
    }).replace('"share":1', '"share":1.0,"count":9007199254740993'),
  })
  expect(captured.status).toBe(200)

  const text = await exported(from.dataDir)
  expect(text).toContain('"custom_metadata":{"share":1.0,"count":9007199254740993,"list":[1,2.5]}')
  const alone = join(temporaryFolder(), 'lines')
  await exportFolder({ dataDir: from.dataDir, out: alone, projectId: from.projectId, progress })
  expect(readFileSync(alone, 'utf8').match(/^\{"past".*/gm)).toContainEqual(
    expect.stringContaining('"kind":"authorization-policies"'),
  )
  expect(readFileSync(alone, 'utf8')).not.toContain(other.body.id)
  expect(text.match(/^\{"past".*"first"/gm)).toHaveLength(2)
  await from.stop()

  const data = join(temporaryFolder(), 'copy')
  await importInto(data, text)
  expect(await exported(data)).toBe(text)
  // The same again, and then another history of the same documents.
  await importInto(data, text)
  await expect(importInto(data, text.replaceAll('"first"', '"1st"'))).rejects.toThrow('has another configuration')
})

test('the commands move the demo data to another folder, which then has the same responses', async () => {
  const folder = temporaryFolder()
  const data = join(folder, 'data')
  const server = await startServer(['--data', data, '--demo'])
  const key = /KEY=(\S+)/.exec(await server.printed('claude mcp add'))?.[1] as string
  const made = await runCommand(['export', '--data', data, '--out', '-'])
  expect(made.stderr).toContain('secrets are encrypted')
  const busy = await runCommand(['import', '--data', data, '--in', '/dev/null'])
  expect(busy.stderr).toContain('is served by process')
  await server.kill('SIGTERM')
  const file = join(folder, 'lines')
  writeFileSync(file, made.stdout)
  const copy = join(folder, 'copy')
  mkdirSync(copy)
  writeFileSync(join(copy, 'master.key'), readFileSync(join(data, 'master.key')))
  const imported = await runCommand(['import', '--data', copy, '--in', file])
  // Everything that was exported, which was the complete demo data.
  const [counts = '', nodes] = /\d+ configuration documents, (\d+) nodes, \d+ relationships/.exec(made.stderr) ?? []
  expect(Number(nodes)).toBeGreaterThan(60)
  expect(imported.stderr).toContain(counts)
  const again = await startServer(['--data', copy])
  const body = {
    subject: { type: 'Person', id: 'dara' },
    action: { name: 'tow' },
    resource: { type: 'Car', id: 'bramble' },
    context: { input_params: { load_kg: 1800 } },
  }
  const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
  const url = `${again.url}/access/v1/evaluation`
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(await answer.text()).toBe('{"decision":true}')
  await again.kill('SIGTERM')
})
