// Hours of mixed traffic of all features against a served folder, while the disk is full or slow, the clock jumps, and keys and
// certificates are renewed. Every answer is checked against a model; memory, descriptors, threads, file sizes and latencies must be flat.
// Run alone: bun test/stress/soak.ts [--minutes 60] [--seed N] [--out FOLDER] [--pace 1]
//            bun test/stress/soak.ts --report FOLDER   prints the verdict of a run again and draws its plots
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import { startProvider } from '../support/oidc-provider.ts'
import { numberAfter, textsAfter } from './flags.ts'
import { EventOrder } from './soak/event-order.ts'
import { LatencyRecorder, Sampler } from './soak/samples.ts'
import { createAuthority, SoakService } from './soak/soak-service.ts'
import { type SoakFault, Traffic } from './soak/traffic.ts'
import { readSamples, slopesOf, soakPage, verdictLines } from './soak/verdict.ts'
import { createWorld } from './soak/world.ts'

const SAMPLE_S = 5
/** Only a hang reaches it. */
const DRAIN_LIMIT_MS = 400_000
const WORKERS = 2
const SETTINGS = {
  // The model has no time limits.
  VERDIGRAPH_DECISION_TIME_MS: '60000',
  VERDIGRAPH_BATCH_TIME_MS: '60000',
  VERDIGRAPH_EXECUTE_TIME_MS: '60000',
  // Otherwise a stop on a busy machine ends requests, and with an exit code.
  VERDIGRAPH_DRAIN_MS: '60000',
  VERDIGRAPH_LANES: '2',
  VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1',
  VERDIGRAPH_AUDIT_DECISIONS: 'sampled',
  VERDIGRAPH_LOG_LEVEL: 'error',
  VERDIGRAPH_CONSOLE: 'on',
}

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  readonly out: string
  /** Factor of all pauses. */
  readonly pace: number
  /** With the certificate authority that this process trusts. */
  readonly folder: string
}

/** Runs the traffic and the faults. Resolves with the faults of the service. */
export async function soak({ minutes, seed, out, pace, folder }: SoakOptions): Promise<readonly string[]> {
  const random = new Random(seed)
  const faults: string[] = []
  const startMs = performance.now()
  const elapsed = (): string => `${((performance.now() - startMs) / 60_000).toFixed(1)} min`
  let fault: SoakFault = ''
  const report = (text: string): void => {
    faults.push(text)
    console.error(`${elapsed()} FAULT${fault === '' ? '' : ` (${fault})`}: ${text}`)
  }
  const served = await SoakService.create({
    folder,
    workers: WORKERS,
    settings: SETTINGS,
    without: textsAfter('--without'),
  })
  const { disk, clock, slowDisk } = served.abilities
  console.log(
    `data folder ${served.data}; disk: ${disk}; clock jumps: ${clock ? 'libfaketime' : 'no'}; slow disk: ${slowDisk ? 'delayed fsync' : 'no'}`,
  )
  const provider = await startProvider()
  const receiver = new EventOrder(() => random.odds(0.02))
  served.onEnd = (code) => report(`the service ended with ${code}`)
  let traffic: Traffic | null = null
  let sampler: Sampler | null = null
  try {
    const { token: first, organization_id } = JSON.parse((await served.run(['init', '--json'])).stdout)
    let token = first as string
    await served.start()
    const world = await createWorld(served, () => token, organization_id, provider, receiver.endpoint)
    const latencies = new LatencyRecorder()
    traffic = new Traffic({
      served,
      world,
      provider,
      random,
      latencies,
      token: () => token,
      fault: () => fault,
      pace,
      folder,
      report,
    })
    await traffic.prepare()
    const own = traffic
    sampler = new Sampler({
      out: join(out, 'samples.ndjson'),
      pid: () => served.pid,
      data: served.data,
      everyS: SAMPLE_S,
      latencies,
      fault: () => fault,
      requests: () => own.requests,
      counts: () => ({ ...own.counts, events: receiver.arrived, repeated: receiver.repeated, faults: faults.length }),
    })
    sampler.start()
    traffic.start()

    const inject = async (
      name: SoakFault,
      seconds: number,
      begin: () => unknown,
      end: () => unknown,
    ): Promise<void> => {
      fault = name
      console.log(`${elapsed()} ${name}`)
      await begin()
      await Bun.sleep(seconds * 1000)
      await end()
      // Requests that the fault has delayed.
      await Bun.sleep(5000)
      fault = ''
    }
    const injections: (() => Promise<void>)[] = []
    if (disk !== 'folder') {
      injections.push(async () => {
        let free = (): void => undefined
        const begin = async (): Promise<void> => {
          free = served.fillDisk()
          await own.fillGraph()
        }
        await inject('full disk', 12, begin, () => free())
        await own.emptyGraph()
      })
    }
    if (slowDisk)
      injections.push(() =>
        inject(
          'slow disk',
          20,
          () => served.setDiskDelay(random.between(50, 250)),
          () => served.setDiskDelay(0),
        ),
      )
    if (clock) {
      injections.push(() =>
        inject(
          'clock',
          1,
          () => served.setClock(3600),
          () => undefined,
        ),
      )
      injections.push(() =>
        inject(
          'clock',
          1,
          () => served.setClock(0),
          () => undefined,
        ),
      )
    }
    injections.push(() =>
      inject(
        'certificate',
        1,
        async () => {
          const fingerprint = served.renewCertificate()
          const end = performance.now() + 300_000
          while ((await served.servedFingerprint().catch(() => null)) !== fingerprint) {
            if (performance.now() > end) return report('a new certificate is not served after 5 minutes')
            await Bun.sleep(250)
          }
        },
        () => undefined,
      ),
    )
    injections.push(() =>
      inject(
        'receiver down',
        15,
        () => {
          receiver.isDown = true
        },
        () => {
          receiver.isDown = false
        },
      ),
    )
    injections.push(async () => {
      console.log(`${elapsed()} new key of the audit log`)
      const { exitCode, stderr } = await served.run(['audit', 'rotate-key', '--json'])
      if (exitCode !== 0) report(`audit rotate-key ended with ${exitCode}: ${stderr}`)
    })
    injections.push(async () => {
      const issued = await served.run(['token', '--json'])
      if (issued.exitCode !== 0) report(`token ended with ${issued.exitCode}: ${issued.stderr}`)
      else token = JSON.parse(issued.stdout).token
    })

    // Interrupted, a run ends with its last checks.
    const interrupted = Promise.withResolvers<void>()
    let endMs = startMs + minutes * 60_000
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => {
        endMs = performance.now()
        interrupted.resolve()
      })
    // The only restart, with a new master key: before the part of the run whose figures are judged.
    await Bun.sleep(Math.min(30_000, minutes * 10_000))
    await inject(
      'restart',
      0,
      async () => {
        const code = await served.restart(async () => {
          const { exitCode, stderr } = await served.run(['rotate-master-key', '--json'])
          if (exitCode !== 0) report(`rotate-master-key ended with ${exitCode}: ${stderr}`)
        })
        if (code !== 0) report(`the service ended with ${code} after SIGTERM: ${served.lastLog()}`)
      },
      () => undefined,
    )
    const spacingMs = Math.min(45_000, (minutes * 60_000) / (injections.length * 3))
    for (let round = 0; performance.now() < endMs; round++) {
      await Promise.race([interrupted.promise, Bun.sleep(Math.min(spacingMs, Math.max(0, endMs - performance.now())))])
      if (performance.now() < endMs) await injections[round % injections.length]!()
    }
    await served.setClock(0)
    console.log(`${elapsed()} the traffic ends`)
    await traffic.stop()
    sampler.stop()
    const pages = await traffic.checkAll()
    await untilDrained(receiver, report)
    served.onEnd = () => undefined
    const code = await served.stop()
    if (code !== 0) report(`the service ended with ${code}: ${served.lastLog()}`)
    const verified = await served.run(['verify', '--json'])
    if (verified.exitCode !== 0) report(`verify: ${verified.stdout}${verified.stderr}`)
    faults.push(...receiver.faults)
    const { arrived, repeated, refused } = receiver
    const outcome = {
      seed,
      minutes,
      abilities: served.abilities,
      requests: traffic.requests,
      counts: traffic.counts,
      pages,
      events: { arrived, repeated, refused, sources: Object.fromEntries(receiver.ends()) },
      faults,
    }
    writeFileSync(join(out, 'outcome.json'), `${JSON.stringify(outcome, null, 2)}\n`)
    console.log(JSON.stringify(outcome, null, 2))
    return faults
  } finally {
    sampler?.stop()
    await served.close()
    await receiver.stop()
    await provider.stop()
  }
}

/** Waits until no event of a source is missing and no more arrive. */
async function untilDrained(receiver: EventOrder, report: (fault: string) => void): Promise<void> {
  const end = performance.now() + DRAIN_LIMIT_MS
  let arrived = -1
  for (;;) {
    const missing = [...receiver.gaps()].filter(([, gaps]) => gaps.length > 0)
    if (missing.length === 0 && receiver.arrived === arrived) return
    arrived = receiver.arrived
    if (performance.now() > end) return report(`events are missing: ${JSON.stringify(missing).slice(0, 500)}`)
    await Bun.sleep(3000)
  }
}

/** Prints the verdict of a run and writes its page. Resolves to whether no figure grows. */
function report(out: string): boolean {
  const samples = readSamples(join(out, 'samples.ndjson'))
  for (const line of verdictLines(samples)) console.log(line)
  writeFileSync(join(out, 'soak.html'), soakPage(samples))
  console.log(`plots: ${join(out, 'soak.html')}`)
  return slopesOf(samples).every(({ isFlat }) => isFlat !== false)
}

if (import.meta.main) {
  const [reported] = textsAfter('--report')
  if (reported !== undefined) process.exit(report(reported) ? 0 : 1)
  const own = process.env.SOAK_FOLDER
  process.exit(own === undefined ? await withAuthority() : await run(own))
}

/** The runtime reads the certificate authorities at its start: this program starts itself again. */
async function withAuthority(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-soak-'))
  createAuthority(folder)
  const env = { ...process.env, SOAK_FOLDER: folder, NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') }
  const child = Bun.spawn([process.execPath, ...process.argv.slice(1)], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const code = await child.exited
  Bun.spawnSync(['umount', '--lazy', join(folder, 'disk')], { stderr: 'ignore' })
  rmSync(folder, { recursive: true, force: true })
  return code
}

async function run(folder: string): Promise<number> {
  const [out = mkdtempSync(join(tmpdir(), 'verdigraph-soak-out-'))] = textsAfter('--out')
  mkdirSync(out, { recursive: true })
  if (existsSync(join(out, 'samples.ndjson'))) throw new Error(`${out} has samples of another run`)
  const seed = numberAfter('--seed', stressSeed())
  const minutes = numberAfter('--minutes', 60)
  console.log(`seed ${seed}; samples in ${resolve(out)}`)
  const faults = await soak({ minutes, seed, out, pace: numberAfter('--pace', 1), folder })
  const isFlat = report(out)
  return faults.length === 0 && isFlat ? 0 : 1
}
