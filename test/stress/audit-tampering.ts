// Tampers with the folder of an audit log in random ways: `audit verify` must find each, with the right exit reason, and must find
// nothing in the log as it was written.
// bun test/stress/audit-tampering.ts [--rounds 1000] [--entries 3000] [--seed N]
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkpointText, parseCheckpoint } from '../../src/audit/log/checkpoint.ts'
import { decodeEntries, encodeEntries } from '../../src/audit/log/entry-bundle.ts'
import { folderFiles } from '../../src/audit/log/log-files.ts'
import { parseNote, parseVerifierKey, signNote } from '../../src/audit/log/signed-note.ts'
import { type LogFaultKind, type LogVerdict, verifyLog } from '../../src/audit/log/verify-log.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { auditEntry, newLogKey, WrittenLog } from '../support/audit-log.ts'
import { numberAfter } from './flags.ts'

const ORIGIN = 'verdigraph/projects/tampered/abcdefghij'
const rounds = numberAfter('--rounds', 1000)
const size = numberAfter('--entries', 3000)
const seed = numberAfter('--seed', stressSeed())
const random = new Random(seed)
console.log(`seed ${seed}, ${rounds} rounds, a log of ${size} entries`)

const folder = join(tmpdir(), `verdigraph-audit-tampering-${process.pid}`)
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const [original, damaged, forged] = ['original', 'damaged', 'forged'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
]

const key = newLogKey(ORIGIN)
const otherKey = newLogKey(ORIGIN)
const verifiers = [parseVerifierKey(key.vkey)].flatMap((parsed) => (parsed.ok ? [parsed.value] : []))

/** Checkpoints of the log while it grew, the last one included. */
const notes: string[] = []
await writeLog()
const against = checkpointOf(notes.at(-1) as string)

/** One way to tamper. Returns the index of the entry that was tampered with if the verdict must name it, otherwise null. */
interface Tampering {
  readonly name: string
  /** The verdict must be one of these. */
  readonly kinds: readonly LogFaultKind[]
  /** Whether only a checkpoint that the auditor kept reveals it. */
  readonly needsAgainst?: boolean
  apply(): Promise<number | null> | number | null
}

const everyKind: readonly LogFaultKind[] = ['removed', 'changed', 'inserted', 'forked', 'unsigned']

const tamperings: readonly Tampering[] = [
  {
    name: 'flip a bit of an entry',
    kinds: ['changed'],
    apply: () => {
      const { path, start, entries } = someBundle()
      const at = random.between(0, entries.length - 1)
      const entry = Buffer.from(entries[at] as Uint8Array)
      const byte = random.between(0, entry.length - 1)
      entry.writeUInt8(entry.readUInt8(byte) ^ (1 << random.between(0, 7)), byte)
      rewrite(path, encodeEntries(entries.with(at, entry)))
      return start + at
    },
  },
  {
    name: 'flip a bit of any file',
    kinds: everyKind,
    apply: () => {
      const path = random.pick(filesBelow(damaged))
      const bytes = readFileSync(path)
      const byte = random.between(0, bytes.length - 1)
      bytes.writeUInt8(bytes.readUInt8(byte) ^ (1 << random.between(0, 7)), byte)
      rewrite(path, bytes)
      return null
    },
  },
  {
    name: 'cut the end of a file',
    kinds: ['removed', 'changed', 'unsigned'],
    apply: () => {
      const path = random.pick(filesBelow(damaged))
      const bytes = readFileSync(path)
      rewrite(path, bytes.subarray(0, random.between(0, bytes.length - 1)))
      return null
    },
  },
  {
    name: 'append bytes to a file',
    kinds: everyKind,
    apply: () => {
      const path = random.pick(filesBelow(damaged))
      const added = Buffer.from(Array.from({ length: random.between(1, 40) }, () => random.between(0, 255)))
      rewrite(path, Buffer.concat([readFileSync(path), added]))
      return null
    },
  },
  {
    name: 'exchange two files',
    kinds: everyKind,
    apply: () => {
      const files = filesBelow(damaged)
      const first = random.pick(files)
      const second = random.pick(files.filter((path) => !readFileSync(path).equals(readFileSync(first))))
      renameSync(first, `${first}.moved`)
      renameSync(second, first)
      renameSync(`${first}.moved`, second)
      return null
    },
  },
  {
    name: 'exchange two entries',
    kinds: ['changed'],
    apply: () => {
      const { path, start, entries } = someBundle()
      const [first, second] = twoPlaces(entries.length)
      const [a, b] = [entries[first], entries[second]] as [Uint8Array, Uint8Array]
      rewrite(path, encodeEntries(entries.with(first, b).with(second, a)))
      return start + first
    },
  },
  {
    name: 'remove an entry',
    kinds: ['removed'],
    apply: () => {
      const { path, start, entries } = someBundle()
      const at = random.between(0, entries.length - 1)
      rewrite(path, encodeEntries(entries.toSpliced(at, 1)))
      return start + at
    },
  },
  {
    name: 'remove a file',
    kinds: ['removed', 'unsigned'],
    apply: () => {
      rmSync(random.pick(filesBelow(damaged)))
      return null
    },
  },
  {
    name: 'remove the oldest bundles, without an entry about it',
    kinds: ['removed'],
    apply: () => {
      const bundles = random.between(1, Math.floor(size / 256))
      for (const path of filesBelow(join(damaged, 'tile/entries')).slice(0, bundles)) rmSync(path)
      return 0
    },
  },
  {
    name: 'insert an entry',
    kinds: ['inserted'],
    apply: () => {
      const { path, start, entries } = someBundle()
      const at = random.between(0, entries.length)
      const added = random.odds(0.5)
        ? auditEntry(size + 7)
        : (entries[random.between(0, entries.length - 1)] as Uint8Array)
      rewrite(path, encodeEntries(entries.toSpliced(at, 0, added)))
      // Two equal entries: the index is that of the second one.
      return added === entries[at] || added === entries[at - 1] ? null : start + at
    },
  },
  {
    name: 'replace a file by an older one',
    kinds: ['changed', 'removed'],
    apply: () => {
      // A partial file of the log while it was smaller.
      const { path, entries } = someBundle()
      rewrite(path, encodeEntries(entries.slice(0, random.between(1, entries.length - 1))))
      return null
    },
  },
  {
    name: 'replace the checkpoint by an older one',
    kinds: ['removed'],
    needsAgainst: true,
    apply: () => {
      rewrite(join(damaged, 'checkpoint'), random.pick(notes.slice(0, -1)))
      return null
    },
  },
  {
    name: 'cut the log back to an older checkpoint',
    kinds: ['removed'],
    needsAgainst: true,
    apply: async () => {
      const note = random.pick(notes.slice(0, -1))
      const { size: kept } = checkpointOf(note)
      await rebuild(await originalEntries(kept), key)
      return kept
    },
  },
  {
    name: 'rewrite an entry with its tiles, keep the signature',
    kinds: ['forked'],
    apply: async () => {
      const entries = await withOneRewritten()
      const kept = readFileSync(join(damaged, 'checkpoint'))
      await rebuild(entries, key)
      rewrite(join(damaged, 'checkpoint'), kept)
      return null
    },
  },
  {
    name: 'rewrite an entry and sign with another key',
    kinds: ['unsigned'],
    apply: async () => {
      await rebuild(await withOneRewritten(), otherKey)
      return null
    },
  },
  {
    name: 'sign the checkpoint with another key',
    kinds: ['unsigned'],
    apply: async () => {
      const { text } = partsOf(notes.at(-1) as string)
      rewrite(join(damaged, 'checkpoint'), await signNote(text, [otherKey.signer]))
      return null
    },
  },
  {
    name: 'change the text of the checkpoint',
    kinds: ['unsigned'],
    apply: () => {
      const note = notes.at(-1) as string
      const { text } = partsOf(note)
      const changed = checkpointText({ ...against, size: random.between(0, size * 2) })
      if (changed !== text) rewrite(join(damaged, 'checkpoint'), note.replace(text, changed))
      else rewrite(join(damaged, 'checkpoint'), note.replace(text, checkpointText({ ...against, origin: 'other' })))
      return null
    },
  },
  {
    name: 'rewrite an entry and sign with the right key',
    kinds: ['forked'],
    needsAgainst: true,
    apply: async () => {
      await rebuild(await withOneRewritten(), key)
      return null
    },
  },
  {
    name: 'rewrite, and continue, with the right key',
    kinds: ['forked'],
    needsAgainst: true,
    apply: async () => {
      const entries = await withOneRewritten()
      const added = Array.from({ length: random.between(1, 300) }, (_, at) => auditEntry(size + 2 + at))
      await rebuild([...entries, ...added], key)
      return null
    },
  },
  {
    name: 'change a payload outside of the entries',
    kinds: ['changed'],
    apply: () => {
      const path = random.pick(filesBelow(join(damaged, 'bodies')))
      rewrite(path, Buffer.concat([readFileSync(path), Buffer.from(' ')]))
      return null
    },
  },
  {
    name: 'remove a payload outside of the entries',
    kinds: ['removed'],
    apply: () => {
      rmSync(random.pick(filesBelow(join(damaged, 'bodies'))))
      return null
    },
  },
]

const sound = await verdictOf(original, true)
let failures = sound.faults.length === 0 ? 0 : 1
if (failures > 0) console.log(`the log as written is not sound: ${JSON.stringify(sound.faults)}`)
const counts = new Map(tamperings.map(({ name }) => [name, { done: 0, found: 0, kinds: new Map<string, number>() }]))
for (let round = 0; round < rounds; round += 1) await tamper(round)
printTable()
console.log(`${rounds - failures} passed, ${failures} failed`)
process.exitCode = failures > 0 ? 1 : 0

async function tamper(round: number): Promise<void> {
  // Every kind occurs in a short run.
  const tampering = tamperings[round % tamperings.length] as Tampering
  rmSync(damaged, { recursive: true, force: true })
  cpSync(original, damaged, { recursive: true })
  const index = await tampering.apply()
  const verdict = await verdictOf(damaged, tampering.needsAgainst === true)
  const [first] = verdict.faults
  const count = counts.get(tampering.name) as { done: number; found: number; kinds: Map<string, number> }
  count.done += 1
  if (first !== undefined) count.kinds.set(first.kind, (count.kinds.get(first.kind) ?? 0) + 1)
  const isFound =
    first !== undefined && tampering.kinds.includes(first.kind) && (index === null || first.index === index)
  if (isFound) count.found += 1
  else {
    failures += 1
    console.log(
      `round ${round}, ${tampering.name}: expected ${tampering.kinds.join(' or ')} at ${index}, found ${JSON.stringify(first)}`,
    )
  }
}

function verdictOf(path: string, isCompared: boolean): Promise<LogVerdict> {
  return verifyLog(folderFiles(path), { verifiers, origin: null, against: isCompared ? against : null })
}

async function writeLog(): Promise<void> {
  const log = new WrittenLog(original, ORIGIN)
  while (log.state.size < size) {
    const { size: before } = log.state
    const count = Math.min(size - before, random.between(1, 300))
    const body = await log.tiles.writeBody(Buffer.from(`a payload after entry ${before} `.repeat(10)))
    const entries = Array.from({ length: count }, (_, at) => auditEntry(before + at))
    entries[0] = withBody(entries[0] as Uint8Array, body)
    await log.append(entries, [key.signer])
    notes.push(log.note)
  }
}

function withBody(entry: Uint8Array, hash: string): Uint8Array {
  const { data: _, ...event } = JSON.parse(Buffer.from(entry).toString())
  return Buffer.from(JSON.stringify({ ...event, dataref: `bodies/${hash}`, datasha256: hash }))
}

function originalEntries(count: number): Promise<Uint8Array[]> {
  return new WrittenLog(original, ORIGIN).tiles.entries(0, count).then((entries) => [...entries])
}

/** The entries of the log, one of them with the same sequence and other data. */
async function withOneRewritten(): Promise<Uint8Array[]> {
  const at = random.between(0, size - 1)
  return (await originalEntries(size)).with(at, auditEntry(at, { requestId: 'another one' }))
}

/** Replaces the damaged folder by a log of these entries. */
async function rebuild(entries: readonly Uint8Array[], by: typeof key): Promise<void> {
  rmSync(forged, { recursive: true, force: true })
  await new WrittenLog(forged, ORIGIN).append(entries, [by.signer])
  cpSync(join(damaged, 'bodies'), join(forged, 'bodies'), { recursive: true })
  rmSync(damaged, { recursive: true })
  renameSync(forged, damaged)
}

interface Bundle {
  readonly path: string
  readonly start: number
  readonly entries: readonly Uint8Array[]
}

function someBundle(): Bundle {
  const paths = filesBelow(join(damaged, 'tile/entries'))
  const at = random.between(0, paths.length - 1)
  const path = paths[at] as string
  return { path, start: at * 256, entries: decodeEntries(readFileSync(path)).entries }
}

function twoPlaces(count: number): [number, number] {
  const first = random.between(0, count - 2)
  return [first, random.between(first + 1, count - 1)]
}

function filesBelow(path: string): string[] {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)))
}

function rewrite(path: string, bytes: Uint8Array | string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, bytes)
}

function partsOf(note: string): { readonly text: string } {
  const parsed = parseNote(note)
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}

function checkpointOf(note: string): { origin: string; size: number; root: Uint8Array } {
  const checkpoint = parseCheckpoint(partsOf(note).text)
  if (!checkpoint.ok) throw new Error(checkpoint.error)
  return checkpoint.value
}

function printTable(): void {
  console.log(`\n${'tampering'.padEnd(58)} done found  reported as`)
  for (const [name, { done, found, kinds }] of counts) {
    const reported = [...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ')
    console.log(`${name.padEnd(58)} ${String(done).padStart(4)} ${String(found).padStart(5)}  ${reported}`)
  }
}
