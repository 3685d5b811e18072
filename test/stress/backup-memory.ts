// The memory of a backup, a restore and a drill of a large folder, encrypted and in a bucket: it must not grow with the data. Each command
// is a process of its own, whose memory is sampled.
// Run alone: bun test/stress/backup-memory.ts [--relationships 8000000] [--limit-mib 400] [--place folder] [--place bucket]
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { graphFolder } from '../../src/transfer/import/graph-importer.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { type SeaweedServer, startSeaweed } from '../support/counterparts/seaweedfs.ts'
import { numberAfter, textsAfter } from './flags.ts'

/** About 1.2 GB. */
const relationships = numberAfter('--relationships', 8_000_000)
const limitMib = numberAfter('--limit-mib', 400)
const chosen = textsAfter('--place')
/** Two backups in SeaweedFS, and space for removed objects that it still stores. */
const volumes = 20 + Math.ceil(relationships / 100_000)

const SAMPLE_MS = 50
/** The project of the generated folder. */
const PROJECT = 'gid:AAAAAAAAAAAAAAAAAAAAAAAAAA'
const root = join(import.meta.dirname, '..', '..')

interface CommandFigures {
  readonly seconds: number
  readonly cpuSeconds: number
  /** The most memory of the process without mapped files, and with them, MiB. */
  readonly ownMib: number
  readonly residentMib: number
}

/** Runs a program and samples its memory. Throws if it fails. */
async function measured(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandFigures> {
  const startMs = performance.now()
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let [ownMib, residentMib] = [0, 0]
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      const mib = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024
      ownMib = Math.max(ownMib, mib('RssAnon'))
      residentMib = Math.max(residentMib, mib('VmHWM'))
    } catch {
      // It has just ended.
    }
  }, SAMPLE_MS)
  const output = await new Response(child.stderr).text()
  const exitCode = await child.exited
  clearInterval(timer)
  if (exitCode !== 0) throw new Error(`${words.join(' ')} ended with ${exitCode}: ${output.slice(-2000)}`)
  const usage = child.resourceUsage()
  const cpuSeconds = Number(usage?.cpuTime.total ?? 0) / 1e6
  return { seconds: (performance.now() - startMs) / 1000, cpuSeconds, ownMib, residentMib }
}

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-backup-memory-'))
const data = join(folder, 'data')
const identityFile = join(folder, 'key.txt')
const faults: string[] = []
let server: SeaweedServer | null = null
try {
  try {
    server = await startSeaweed(volumes)
    await server.createBucket('memory')
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: the parts with a bucket: ${failure.message}`)
  }
  const part = JSON.stringify({ folder, relationships, seed: 1, questions: 1 })
  await measured([join('bench', 'store', 'scale-part.ts'), 'load', part])
  const bytes = statSync(join(graphFolder(data, { project: PROJECT, part: 'default' }), 'data.mdb')).size
  console.log(`data          ${Math.round(bytes / 2 ** 20)} MiB, ${relationships} relationships`)
  const identity = await generateX25519Identity()
  await Bun.write(identityFile, `${identity}\n`)
  const recipient = await identityToRecipient(identity)
  const program = join('src', 'main.ts')
  const from = ['--identity', identityFile]
  const work = ['--work', join(folder, 'work')]
  const run = async (name: string, ...words: readonly string[]): Promise<void> => {
    const { seconds, cpuSeconds, ownMib, residentMib } = await measured([program, ...words], server?.environment)
    const figures = [
      `${seconds.toFixed(0)} s`,
      `processor ${cpuSeconds.toFixed(0)} s`,
      `${Math.round(ownMib)} MiB of its own`,
      `${Math.round(residentMib)} MiB with mapped files`,
    ]
    console.log(`${name.padEnd(34)}${figures.join(', ')}`)
    if (ownMib > limitMib) faults.push(`${name}: ${Math.round(ownMib)} MiB, more than ${limitMib}`)
  }
  const places = { folder: join(folder, 'place'), ...(server !== null && { bucket: 's3://memory/backups' }) }
  for (const [kind, place] of Object.entries(places)) {
    if (chosen.length > 0 && !chosen.includes(kind)) continue
    await run(`backup, to a ${kind}`, 'backup', '--data', data, '--to', place)
    await run(`backup, encrypted, to a ${kind}`, 'backup', '--data', data, '--to', place, '--recipient', recipient)
    const target = join(folder, 'restored')
    await run(`restore, encrypted, from a ${kind}`, 'restore', '--data', target, '--from', place, ...from)
    rmSync(target, { recursive: true })
    await run(`drill, encrypted, from a ${kind}`, 'drill', '--data', data, '--from', place, ...from, ...work)
    rmSync(join(folder, 'place'), { recursive: true, force: true })
  }
} finally {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
for (const fault of faults) console.log(`fault         ${fault}`)
console.log(faults.length === 0 ? 'passed' : 'failed')
process.exitCode = faults.length === 0 ? 0 : 1
