// Kills `apply`, the service, or one of its lanes with kill -9 at random moments, on a served folder and on one that is not served.
// A reader that asks all the time sees the decisions of the old folder or those of the new one, never a mixture. After each kill
// the stored documents are those of one of the two, and a second `apply` ends with those of the new one.
// Run alone: bun test/stress/apply-kills.ts [--rounds 50] [--seed N]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import { childrenOf, killProcess } from '../support/child-processes.ts'
import { bin, runCommand, type Server, startServer } from '../support/cli-process.ts'
import { createFleet } from './event-kills.ts'
import { numberAfter } from './flags.ts'

/** Versions differ in the relationship that grants, which this many cars have. */
const VERSIONS = 3
/** Policies that all versions have. */
const POLICIES = 12
const SETTINGS = { VERDIGRAPH_LANES: '1' }

export interface ApplyKillOptions {
  readonly rounds: number
  readonly seed: number
  readonly note?: (line: string) => void
}

export interface ApplyKillOutcome {
  /** Kills by what was killed. */
  readonly kills: Readonly<Record<string, number>>
  /** After a kill: rounds in which nothing was stored, and in which everything was. */
  readonly stored: { readonly nothing: number; readonly everything: number }
  /** Batches of decisions that the reader has compared. */
  readonly seen: number
  readonly faults: readonly string[]
}

const victims = ['client', 'service', 'lane', 'client without a service'] as const
type KilledPart = (typeof victims)[number]

const car = (version: number): number => version % VERSIONS

/** The folder of a version: policies of this version, a query, and a policy that no other version has. */
function writeVersion(folder: string, version: number): void {
  rmSync(folder, { recursive: true, force: true })
  const policy = (action: string): string =>
    `description: version ${version}\nsubject: Person\nactions: [${action}]\nresource: Car\ncypher: MATCH (subject)-[:OWNS_${car(version)}]->(resource)\n`
  const files: Record<string, string> = {
    'verdigraph.yaml': `name: fleet\ndescription: version ${version}\n`,
    [`policies/only-${version}.policy.yaml`]: policy('extra'),
    'policies/see.policy.yaml': `description: version ${version}\nversion: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject)-[:OWNS_${car(version)}]->(car${version}:Car)\nallowed_reads: {nodes: [car${version}.external_id]}\n`,
    'queries/my-cars.query.yaml': `description: version ${version}\npolicy: see\nnodes: [car${version}.external_id]\n`,
  }
  for (let i = 0; i < POLICIES; i++) files[`policies/act-${i}.policy.yaml`] = policy(`act-${i}`)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** Runs the rounds. */
export async function applyKillRounds({
  rounds,
  seed,
  note = () => undefined,
}: ApplyKillOptions): Promise<ApplyKillOutcome> {
  const base = mkdtempSync(join(tmpdir(), 'verdigraph-apply-kills-'))
  const data = join(base, 'data')
  const folder = join(base, 'folder')
  const random = new Random(seed)
  const faults: string[] = []
  const kills: Record<string, number> = Object.fromEntries(victims.map((victim) => [victim, 0]))
  const stored = { nothing: 0, everything: 0 }
  let seen = 0
  let server: Server | null = null
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    server = await startServer(['--data', data], SETTINGS)
    const { key } = await createFleet(server, token, organization_id, ['Capture', 'Authorization'])
    await captureCars(server, key)
    const headers = { authorization: `Bearer ${token}` }
    /** The versions of all documents that people write. */
    const storedVersions = async (): Promise<string[]> => {
      let answered = await fetch(`${server?.url}/configs/v1/projects/fleet/documents`, { headers })
      // A killed lane is started again.
      for (let i = 0; answered.status === 503 && i < 2400; i++) {
        await Bun.sleep(50)
        answered = await fetch(`${server?.url}/configs/v1/projects/fleet/documents`, { headers })
      }
      if (answered.status !== 200) throw new Error(`a read was answered ${answered.status}: ${await answered.text()}`)
      const { project, documents } = (await answered.json()) as { project: StoredVersion; documents: StoredVersion[] }
      const own = documents.filter(({ kind }) => kind !== 'applications' && kind !== 'application-agents')
      return [...new Set([project, ...own].map(({ body }) => body.description ?? 'none'))]
    }
    const port = (): string => new URL((server as Server).url).port
    const apply = (served: boolean): Bun.Subprocess<'ignore', 'pipe', 'pipe'> =>
      Bun.spawn([bin, 'apply', folder, '--data', data, '--prune', '--yes', ...(served ? ['--port', port()] : [])], {
        env: { PATH: process.env.PATH ?? '' },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      })
    let applyMs = 0
    for (let version = 0; version <= rounds; version++) {
      // The first two rounds measure an apply without a kill.
      const victim: KilledPart | null = version < 2 ? null : random.pick(victims)
      const served = victim !== 'client without a service'
      writeVersion(folder, version)
      if (!served) {
        await server?.kill('SIGTERM')
        server = null
      }
      const reader = served ? new DecisionReader((server as Server).url, key, version) : null
      reader?.start()
      const startedMs = performance.now()
      const command = apply(served)
      if (victim === null) {
        const [exitCode, errors] = [await command.exited, await command.stderr.text()]
        if (exitCode !== 0) faults.push(`version ${version}: apply ended with ${exitCode}: ${errors}`)
        applyMs = performance.now() - startedMs
      } else {
        // The command reads its folder first, and changes nothing then.
        await Bun.sleep(random.between(Math.floor(applyMs * 0.4), Math.ceil(applyMs * 1.1)))
        kills[victim] = (kills[victim] ?? 0) + 1
        if (victim === 'service') await server?.kill('SIGKILL')
        else if (victim === 'lane') killLane(server as Server)
        else command.kill('SIGKILL')
        await command.exited
      }
      await reader?.stop()
      seen += reader?.seen ?? 0
      faults.push(...(reader?.faults ?? []).map((fault) => `version ${version}: ${fault}`))
      if (victim === 'service' || !served) server = await startServer(['--data', data], SETTINGS)
      if (victim !== null) {
        const after = await storedVersions()
        const [only = ''] = after
        if (after.length !== 1 || !isOneOf(only, version)) faults.push(`version ${version}: stored ${after.join(', ')}`)
        stored[only === `version ${version}` ? 'everything' : 'nothing'] += 1
        const again = await runCommand(['apply', folder, '--data', data, '--prune', '--yes', '--port', port()])
        if (again.exitCode !== 0)
          faults.push(`version ${version}: a second apply ended with ${again.exitCode}: ${again.stderr}`)
        note(`version ${version}: killed the ${victim}, then ${only} was stored`)
      }
      const end = await storedVersions()
      if (end.join() !== `version ${version}`) faults.push(`version ${version}: in the end ${end.join(', ')}`)
    }
    const { stdout } = await runCommand(['apply', folder, '--data', data, '--prune', '--yes', '--port', port()])
    if (!stdout.includes('0 created, 0 updated, 0 deleted')) faults.push(`the last apply changed something: ${stdout}`)
    if ((await server?.kill('SIGTERM')) !== 0) faults.push('the service did not end cleanly')
    server = null
    const verified = await runCommand(['verify', '--data', data])
    if (verified.exitCode !== 0) faults.push(`verify: ${verified.stdout}`)
    return { kills, stored, seen, faults }
  } finally {
    await server?.kill('SIGKILL')
    rmSync(base, { recursive: true, force: true })
  }
}

interface StoredVersion {
  readonly kind: string
  readonly body: { readonly description?: string }
}

function isOneOf(description: string, version: number): boolean {
  return description === `version ${version}` || description === `version ${version - 1}`
}

function killLane(server: Server): void {
  const found = childrenOf(server.pid).find(({ words }) => words.includes('lane'))
  // It may just be restarting.
  if (found !== undefined) killProcess(found.pid)
}

async function captureCars(server: Server, key: string): Promise<void> {
  const send = async (path: string, body: object): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'x-svc-clientkey': key }
    const answered = await fetch(`${server.url}/capture/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (answered.status !== 200) throw new Error(`a capture was answered ${answered.status}: ${await answered.text()}`)
  }
  const person = { type: 'Person', external_id: 'ann' }
  const cars = Array.from({ length: VERSIONS }, (_, i) => ({ type: 'Car', external_id: `car-${i}` }))
  await send('nodes', { nodes: [person, ...cars] })
  await send('relationships', {
    relationships: cars.map((target, i) => ({ source: person, target, type: `OWNS_${i}` })),
  })
}

/** Asks for all decisions of both versions in one batch, again and again. */
class DecisionReader {
  seen = 0
  readonly faults: string[] = []
  private readonly url: string
  private readonly key: string
  private readonly version: number
  private isStopped = false
  private running: Promise<void> = Promise.resolve()

  constructor(url: string, key: string, version: number) {
    this.url = url
    this.key = key
    this.version = version
  }

  start(): void {
    this.running = this.read()
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await this.running
  }

  private async read(): Promise<void> {
    const actions = [...Array.from({ length: POLICIES }, (_, i) => `act-${i}`), 'extra']
    const asked = actions.flatMap((action) => Array.from({ length: VERSIONS }, (_, i) => ({ action, car: i })))
    const body = JSON.stringify({
      subject: { type: 'Person', id: 'ann' },
      evaluations: asked.map((one) => ({
        action: { name: one.action },
        resource: { type: 'Car', id: `car-${one.car}` },
      })),
    })
    while (!this.isStopped) {
      try {
        const answered = await fetch(`${this.url}/access/v1/evaluations`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-svc-clientkey': this.key },
          body,
        })
        if (answered.status !== 200) continue
        const { evaluations } = (await answered.json()) as { evaluations: { decision: boolean }[] }
        this.seen += 1
        await Bun.sleep(1)
        const granted = new Set(asked.filter((_, i) => evaluations[i]?.decision === true).map((one) => one.car))
        const count = evaluations.filter(({ decision }) => decision).length
        // A version grants all actions on one car. Before the first one nothing is granted.
        const isWhole = granted.size === 1 && count === actions.length
        const isExpected = [this.version, this.version - 1].some((one) => one >= 0 && granted.has(car(one)))
        const isNothing = count === 0 && this.version === 0
        if (!isNothing && !(isWhole && isExpected))
          this.faults.push(`${count} decisions grant, on ${[...granted].join(', ')}`)
      } catch {
        // The service was killed.
        await Bun.sleep(2)
      }
    }
  }
}

if (import.meta.main) {
  const given = numberAfter('--seed', Number.NaN)
  const seed = Number.isNaN(given) ? stressSeed() : given
  console.log(`seed ${seed}`)
  const { faults, ...outcome } = await applyKillRounds({
    rounds: numberAfter('--rounds', 50),
    seed,
    note: (line) => console.log(line),
  })
  console.log(JSON.stringify(outcome, null, 2))
  for (const fault of faults.slice(0, 20)) console.error(fault)
  process.exit(faults.length === 0 ? 0 : 1)
}
