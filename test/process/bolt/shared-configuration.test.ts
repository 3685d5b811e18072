// The configuration that instances share, in Neo4j: changes of several instances follow each other, a copy contains each change and its
// events once, and a folder is a copy of one configuration only. Needs Java and Maven.
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { BoltServer } from '../../../src/bolt/bolt-server.ts'
import { ConfigurationStore } from '../../../src/bolt/configuration-store.ts'
import { SharedConfiguration } from '../../../src/config/shared/shared-configuration.ts'
import { ThrownServiceError } from '../../../src/kernel/errors.ts'
import type { DocumentTransaction } from '../../../src/kernel/folder/document-store.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { type Collections, openCollections } from '../../../src/store/documents/collections.ts'
import { endCopy, openOwnCollections } from '../../../src/store/documents/document-copy.ts'
import { CommitWaiter } from '../../../src/store/process/commit-waiter.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { startCutProxy } from '../../support/cut-proxy.ts'
import { clearServer, runOnServer } from '../../support/graph-servers.ts'
import { patientBoltLimits } from '../../support/remote-projects.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let neo4j: Neo4jServer | null = null

beforeAll(async () => {
  try {
    neo4j = await startNeo4j()
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: a shared configuration in Neo4j: ${failure.message}`)
  }
}, 600_000)
beforeEach(async () => {
  if (neo4j !== null) await clearServer(neo4j.url)
})
afterAll(async () => {
  await neo4j?.stop()
})

/** A busy machine must not change what a test finds. */
const patientSettings = { ...defaultSettings, databaseConnectTimeMs: 60_000, databaseTimeMs: 60_000 }

interface Instance {
  readonly dataDir: string
  readonly collections: Collections
  readonly shared: SharedConfiguration
  readonly reports: readonly string[]
  close(): Promise<void>
}

async function startInstance(dataDir = join(temporaryFolder(), 'data'), configStore = neo4j!.url): Promise<Instance> {
  const collections = openCollections(join(dataDir, 'config'), { sync: false })
  const settings = { ...patientSettings, dataDir, configStore }
  const reports: string[] = []
  let shared: SharedConfiguration
  try {
    const signal = new CommitWaiter(dataDir)
    shared = await SharedConfiguration.open(collections, settings, (line) => reports.push(line), signal)
  } catch (failure) {
    await collections.close()
    throw failure
  }
  const close = async (): Promise<void> => {
    await shared.close()
    await collections.close()
  }
  return { dataDir, collections, shared, reports, close }
}

const documentsOf = (instance: Instance): readonly (readonly [string, unknown])[] => instance.collections.all('numbers')
/** The bytes of the records in the stream, in order. */
const eventsOf = ({ collections }: Instance): readonly number[] =>
  collections.outbox.read('sink', 1, { events: 1000, bytes: 2 ** 20 }).map(({ bytes }) => bytes[0]!)

/** Repeats a change that has ended at its time limit, as on a busy machine, and has written nothing. */
async function change<T>({ shared }: Instance, edit: (transaction: DocumentTransaction) => T): Promise<T> {
  for (;;) {
    try {
      return await shared.transact(edit)
    } catch (error) {
      if (!(error instanceof ThrownServiceError) || !error.message.endsWith('ms is reached')) throw error
      if (error.error.kind !== 'unavailable' || error.error.message?.includes('not known') !== false) throw error
      console.log(`once more: ${error.message}`)
    }
  }
}

const add = (instance: Instance, key: string): Promise<number> =>
  change(instance, (transaction) => {
    const next = ((transaction.get('numbers', key) as number | null) ?? 0) + 1
    transaction.put('numbers', key, next)
    transaction.appendEvents('sink', new Uint8Array([next]), 1, 0)
    return next
  })

test('changes of three instances follow each other, and each copy becomes equal', async (context) => {
  if (neo4j === null) return context.skip()
  const instances = [await startInstance(), await startInstance(), await startInstance()]
  const results = await Promise.all(
    instances.map((instance) =>
      Promise.all(Array.from({ length: 20 }, (_, i) => add(instance, i % 2 === 0 ? 'even' : 'odd'))),
    ),
  )
  const all = results.flat().toSorted((a, b) => a - b)
  expect(all).toEqual(Array.from({ length: 60 }, (_, i) => Math.floor(i / 2) + 1))
  for (const [number, instance] of instances.entries()) {
    await expect
      .poll(() => documentsOf(instance))
      .toEqual([
        ['even', 30],
        ['odd', 30],
      ])
    // Each instance has the events of its own changes.
    expect(eventsOf(instance).toSorted((a, b) => a - b)).toEqual(results[number]!.toSorted((a, b) => a - b))
    // A loaded machine may be late.
    expect(instance.reports.filter((line) => !/time limit|read again/.test(line))).toEqual([])
  }
  await expect.poll(() => instances.filter(({ shared }) => shared.isLeading()).length).toBe(1)
  await change(instances[0]!, ({ delete: remove }) => remove('numbers', 'odd'))
  for (const instance of instances) {
    await expect.poll(() => documentsOf(instance)).toEqual([['even', 30]])
  }
  const failing = change(instances[1]!, ({ put }) => {
    put('numbers', 'even', 99)
    throw new Error('refused')
  })
  await expect(failing).rejects.toThrow('refused')
  expect(documentsOf(instances[1]!)).toEqual([['even', 30]])
  for (const { close } of instances) await close()
})

test('an instance that ended between the server and its copy stores its change and its events once', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  await add(first, 'even')
  const { instance } = first.shared
  await first.close()
  const server = new BoltServer({ url: neo4j.url, username: null, password: null }, { limits: patientBoltLimits })
  const events = [2, 3].map((byte) => ({ stream: 'sink', record: new Uint8Array([byte]), count: 1, timeMs: 5 }))
  await new ConfigurationStore(server, null).write(instance, async () => ({
    value: null,
    edits: { documents: [{ collection: 'numbers', key: 'even', json: '7' }], events },
  }))
  await server.close()
  const other = await startInstance()
  expect(documentsOf(other)).toEqual([['even', 7]])
  expect(eventsOf(other)).toEqual([])
  const again = await startInstance(first.dataDir)
  await expect.poll(() => eventsOf(again)).toEqual([1, 2, 3])
  expect(await add(again, 'even')).toBe(8)
  expect(eventsOf(again)).toEqual([1, 2, 3, 8])
  const left = await runOnServer(neo4j.url, 'MATCH (e:_VerdigraphEvents) RETURN count(e) AS left')
  // Those of the last change: they are removed with the next one.
  expect(left).toEqual([{ left: 1n }])
  for (const { close } of [other, again]) await close()
})

test('another instance takes over the lease', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  await expect.poll(() => first.shared.isLeading()).toBe(true)
  const second = await startInstance()
  const leading = (): Instance[] => [first, second].filter(({ shared }) => shared.isLeading())
  // The lease of an instance that is late lapses, and the other one takes it: then there is another leader, and never two.
  const until = performance.now() + 1500
  while (performance.now() < until) {
    expect(leading().length).toBeLessThan(2)
    await Bun.sleep(20)
  }
  let leader: Instance | undefined
  await expect
    .poll(() => {
      leader = leading()[0]
      return leader
    })
    .toBeDefined()
  await leader!.close()
  const other = leader === first ? second : first
  await expect.poll(() => other.shared.isLeading()).toBe(true)
  await other.close()
})

test('a lease belongs to one instance until it ends or is given up', async (context) => {
  if (neo4j === null) return context.skip()
  const server = new BoltServer({ url: neo4j.url, username: null, password: null }, { limits: patientBoltLimits })
  const store = new ConfigurationStore(server, null)
  await store.prepare()
  expect(await store.takeLease('first', 600_000)).toBe(true)
  expect(await store.takeLease('second', 600_000)).toBe(false)
  await store.leaveLease('second')
  expect(await store.takeLease('second', 600_000)).toBe(false)
  expect(await store.takeLease('first', 600_000)).toBe(true)
  await store.leaveLease('first')
  expect(await store.takeLease('second', 1)).toBe(true)
  await expect.poll(() => store.takeLease('first', 600_000)).toBe(true)
  await server.close()
})

test('a folder is a copy of one configuration only', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  await add(first, 'even')
  await first.close()
  const folder = join(first.dataDir, 'config')
  expect(() => openOwnCollections(folder, {})).toThrow('only the service changes it')
  // A folder with a configuration of its own is not mixed with another one.
  const own = join(temporaryFolder(), 'data')
  const collections = openCollections(join(own, 'config'), { sync: false })
  await collections.transact(({ put }) => put('numbers', 'own', 1))
  await collections.close()
  await expect(startInstance(own)).rejects.toThrow('has a configuration of its own')
  // The database was replaced by another one, and then by an older state of the first.
  const [head] = await runOnServer(
    neo4j.url,
    "MATCH (h:_VerdigraphState {key: 'configuration'}) RETURN h.store AS store",
  )
  const setHead = (store: unknown, version: bigint): Promise<unknown> =>
    runOnServer(
      neo4j!.url,
      "MATCH (h:_VerdigraphState {key: 'configuration'}) SET h.store = $store, h.version = $version",
      {
        store,
        version,
      },
    )
  for (const [store, version] of [
    ['another', 1n],
    [head!.store, 0n],
  ] as const) {
    await setHead(store, version)
    const again = await startInstance(first.dataDir)
    await expect.poll(() => again.reports.join()).toContain('is not the one of which this data folder')
    await expect(again.shared.recent()).rejects.toThrow()
    await expect(add(again, 'even')).rejects.toThrow('is not the one of which')
    await again.close()
  }
})

test('a folder with a configuration of its own moves it to an empty server', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  await add(first, 'even')
  await first.close()
  // As `restore` does with a backup of an instance.
  await endCopy(join(first.dataDir, 'config'))
  await clearServer(neo4j.url)
  const moved = await startInstance(first.dataDir)
  expect(moved.reports).toContainEqual(`the configuration was moved to ${neo4j.url}`)
  const other = await startInstance()
  expect(documentsOf(other)).toEqual([['even', 1]])
  expect(await add(other, 'even')).toBe(2)
  await expect.poll(() => documentsOf(moved)).toEqual([['even', 2]])
  for (const { close } of [moved, other]) await close()
})

test('a folder whose move was interrupted is recognized at the next start', async (context) => {
  if (neo4j === null) return context.skip()
  const dataDir = join(temporaryFolder(), 'data')
  const collections = openCollections(join(dataDir, 'config'), { sync: false })
  await collections.transact(({ put }) => put('numbers', 'even', 1))
  await collections.close()
  const moved = await startInstance(dataDir)
  await moved.close()
  // As if the process had ended after the server had the documents, and before the folder was a copy.
  await endCopy(join(dataDir, 'config'))
  const other = await startInstance()
  expect(await add(other, 'even')).toBe(2)
  const again = await startInstance(dataDir)
  expect(documentsOf(again)).toEqual([['even', 2]])
  await again.close()
  // Its documents are others now.
  await endCopy(join(dataDir, 'config'))
  await expect(startInstance(dataDir)).rejects.toThrow('has a configuration of its own')
  await other.close()
})

test('a copy does not continue with another history of the same configuration', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  await add(first, 'even')
  const [head] = await runOnServer(
    neo4j.url,
    "MATCH (h:_VerdigraphState {key: 'configuration'}) RETURN h.version AS version, h.commits AS commits",
  )
  await add(first, 'odd')
  await first.close()
  // The database is restored from a backup without the last change, and other changes follow.
  await runOnServer(neo4j.url, "MATCH (d:_VerdigraphDocument {document: 'odd'}) DETACH DELETE d")
  await runOnServer(
    neo4j.url,
    "MATCH (h:_VerdigraphState {key: 'configuration'}) SET h.version = $version, h.commits = $commits",
    head,
  )
  const second = await startInstance()
  // As many changes, and then more.
  for (const _ of [1, 2]) {
    await add(second, 'even')
    const again = await startInstance(first.dataDir)
    await expect.poll(() => again.reports.join()).toContain('is not the one of which')
    await expect(again.shared.recent()).rejects.toThrow()
    await expect(add(again, 'even')).rejects.toThrow('is not the one of which')
    await again.close()
  }
  expect(documentsOf(second)).toEqual([['even', 3]])
  await second.close()
})

test('what deleted documents leave is removed, and a copy that is far behind is made again', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  await add(first, 'even')
  await add(first, 'odd')
  await first.close()
  const second = await startInstance()
  await change(second, ({ delete: remove }) => remove('numbers', 'odd'))
  for (let number = 0; number < 330; number++) {
    await change(second, (transaction) => {
      transaction.put('numbers', `made ${number}`, number)
      transaction.delete('numbers', `made ${number - 1}`)
      transaction.appendEvents('sink', new Uint8Array([1]), 1, 0)
    })
  }
  const [{ left } = {}] = await runOnServer(
    neo4j.url,
    'MATCH (d:_VerdigraphDocument) WHERE d.json IS NULL RETURN count(d) AS left',
  )
  expect(Number(left)).toBeLessThan(330)
  const again = await startInstance(first.dataDir)
  const expected = [
    ['even', 1],
    ['made 329', 329],
  ]
  for (const instance of [again, second]) {
    await expect.poll(() => documentsOf(instance)).toEqual(expected)
  }
  // Its own events are not repeated.
  expect(eventsOf(again)).toEqual([1, 1])
  for (const { close } of [again, second]) await close()
}, 300_000)

test('an unreachable server is reported once, and when it answers again', async (context) => {
  if (neo4j === null) return context.skip()
  const proxy = await startCutProxy(neo4j.url)
  const instance = await startInstance(undefined, proxy.url)
  await expect.poll(() => instance.shared.recent()).toBe(null)
  proxy.cut()
  await expect.poll(() => instance.shared.notReadyReason()).toContain('too old')
  // A busy machine may have been late before: that is another report, and one that the server answers again.
  await expect.poll(() => instance.reports.at(-1)).toContain('cannot be read:')
  const { length } = instance.reports
  await Bun.sleep(5000)
  expect(instance.reports).toHaveLength(length)
  proxy.mend()
  await expect.poll(() => instance.shared.notReadyReason()).toBe(null)
  await expect.poll(() => instance.reports.at(-1)).toMatch(/can be read again$/)
  const isRecovery = instance.reports.map((line) => line.endsWith('can be read again'))
  expect(isRecovery).toEqual(isRecovery.map((_, at) => at % 2 === 1))
  await instance.close()
  proxy.close()
})

test('a process that computes for long does not look for changes', async (context) => {
  if (neo4j === null) return context.skip()
  const serving = await startInstance()
  const { dataDir } = serving
  const settings = { ...patientSettings, dataDir, configStore: neo4j.url }
  const lane = await SharedConfiguration.open(serving.collections, settings, () => undefined, null)
  await expect.poll(() => lane.recent()).toBe(null)
  await serving.shared.close()
  await expect.poll(() => lane.notReadyReason()).toContain('too old')
  await Bun.sleep(1000)
  expect(lane.notReadyReason()).toContain('too old')
  await lane.close()
  await serving.collections.close()
})

test('a change that a copy would not accept is not stored', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  const tooLong = change(first, ({ put }) => put('numbers', 'x'.repeat(5000), 1))
  await expect(tooLong).rejects.toThrow('a document key is short')
  expect(await add(first, 'even')).toBe(1)
  await first.close()
})

test('instances start at the same time on an empty database', async (context) => {
  if (neo4j === null) return context.skip()
  for (const _ of [1, 2, 3]) {
    await clearServer(neo4j.url)
    for (const name of ['verdigraph_documents', 'verdigraph_events'])
      await runOnServer(neo4j.url, `DROP INDEX ${name} IF EXISTS`)
    const instances = await Promise.all(Array.from({ length: 6 }, () => startInstance()))
    const results = await Promise.all(instances.map((instance) => add(instance, 'even')))
    expect(results.toSorted()).toEqual([1, 2, 3, 4, 5, 6])
    for (const { close } of instances) await close()
  }
})

test('an instance that is paused in a change does not keep others from answering', async (context) => {
  if (neo4j === null) return context.skip()
  const [first, second] = [await startInstance(), await startInstance()]
  await add(first, 'even')
  await expect.poll(() => documentsOf(second)).toEqual([['even', 1]])
  await second.close()
  await add(first, 'even')
  // A change that has begun, of an instance that does not continue.
  const server = new BoltServer({ url: neo4j.url, username: null, password: null }, { limits: patientBoltLimits })
  const { promise: continued, resolve: resume } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const pausing = async () => {
    begin()
    await continued
    return { value: null, edits: { documents: [], events: [] } }
  }
  // A time limit that does not end it: the others have to answer while it is open.
  const paused = new ConfigurationStore(server, null).write('paused', pausing, { timeMs: 600_000 })
  await begun
  const again = await startInstance(second.dataDir)
  await expect.poll(() => documentsOf(again)).toEqual([['even', 2]])
  await expect.poll(() => again.shared.notReadyReason()).toBe(null)
  resume()
  await paused
  await server.close()
  expect(await add(again, 'even')).toBe(3)
  for (const { close } of [first, again]) await close()
})

test('a command finds out whether another instance runs, also if its own was killed with the lease', async (context) => {
  if (neo4j === null) return context.skip()
  const first = await startInstance()
  await expect.poll(() => first.shared.isLeading()).toBe(true)
  const { instance } = first.shared
  await first.close()
  // As after SIGKILL: the lease is that of the instance of the command.
  const server = new BoltServer({ url: neo4j.url, username: null, password: null }, { limits: patientBoltLimits })
  expect(await new ConfigurationStore(server, null).takeLease(instance, 600_000)).toBe(true)
  await server.close()
  const other = await startInstance()
  const collections = openCollections(join(first.dataDir, 'config'), { sync: false })
  const settings = { ...patientSettings, dataDir: first.dataDir, configStore: neo4j.url }
  const command = await SharedConfiguration.open(collections, settings, () => undefined, null)
  expect(await command.isAnotherRunning()).toBe(true)
  await other.close()
  expect(await command.isAnotherRunning()).toBe(false)
  await command.close()
  await collections.close()
})
