// Kills `apply`, the service, or one of its lanes with kill -9 at random moments, on a served folder and on one that is not served.
// A reader that asks all the time sees the decisions of the old folder or those of the new one, never a mixture. After each kill
// the stored documents are those of one of the two, and a second `apply` ends with those of the new one.
// Run alone: bun test/stress/apply-kills.ts [--rounds 50] [--seed N]
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bin, runCommand, type Server } from '../support/cli-process.ts'
import { type KillModel, type KillRun, killProgram } from './kill-harness.ts'

/** Versions differ in the relationship that grants, which this many cars have. */
const VERSIONS = 3
/** Policies that all versions have. */
const POLICIES = 12

interface ApplyFigures {
  /** After a kill: rounds in which nothing was stored, and in which everything was. */
  readonly stored: { readonly nothing: number; readonly everything: number }
  /** Batches of decisions that the reader has compared. */
  readonly seen: number
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

/** The versions of a project folder: one of two is stored, as a whole. */
class ApplyKills implements KillModel<ApplyFigures> {
  readonly settings = { VERDIGRAPH_LANES: '1' }
  /** The first two rounds measure an apply without a kill. */
  readonly firstRound = 0
  private readonly stored = { nothing: 0, everything: 0 }
  private seen = 0
  private key = ''
  private applyMs = 0

  async prepare(run: KillRun): Promise<void> {
    const { key } = await run.createFleet(['Capture', 'Authorization'])
    this.key = key
    await captureCars(run.server, key)
  }

  async round(run: KillRun, version: number): Promise<string> {
    const { random } = run
    const victim: KilledPart | null = version < 2 ? null : random.pick(victims)
    const served = victim !== 'client without a service'
    const folder = join(run.folder, 'project')
    writeVersion(folder, version)
    if (!served) await run.stop()
    const reader = served ? new DecisionReader(run.server.url, this.key, version) : null
    reader?.start()
    const startedMs = performance.now()
    const command = Bun.spawn([bin, ...applyArguments(run, folder, served)], {
      env: { PATH: process.env.PATH ?? '' },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    if (victim === null) {
      const [exitCode, errors] = [await command.exited, await command.stderr.text()]
      if (exitCode !== 0) run.faults.push(`apply ended with ${exitCode}: ${errors}`)
      this.applyMs = performance.now() - startedMs
    } else {
      // The command reads its folder first, and changes nothing then.
      await Bun.sleep(random.between(Math.floor(this.applyMs * 0.4), Math.ceil(this.applyMs * 1.1)))
      if (victim === 'service') await run.killService(false)
      // It may just be restarting.
      else if (victim === 'lane') await run.killChild('lane', { waits: false })
      else {
        run.count(victim)
        command.kill('SIGKILL')
      }
      await command.exited
    }
    await reader?.stop()
    this.seen += reader?.seen ?? 0
    run.faults.push(...(reader?.faults ?? []))
    if (victim === 'service' || !served) await run.start()
    const line = victim === null ? 'applied' : await this.repeat(run, folder, version, victim)
    const end = await storedVersions(run)
    if (end.join() !== `version ${version}`) run.faults.push(`in the end ${end.join(', ')}`)
    return line
  }

  async settle(run: KillRun): Promise<void> {
    const { stdout } = await runCommand(applyArguments(run, join(run.folder, 'project'), true))
    if (!stdout.includes('0 created, 0 updated, 0 deleted'))
      run.faults.push(`the last apply changed something: ${stdout}`)
  }

  figures(): ApplyFigures {
    return { stored: this.stored, seen: this.seen }
  }

  /** Checks what was stored after a kill, and applies again. */
  private async repeat(run: KillRun, folder: string, version: number, victim: KilledPart): Promise<string> {
    const after = await storedVersions(run)
    const [only = ''] = after
    if (after.length !== 1 || !isOneOf(only, version)) run.faults.push(`stored ${after.join(', ')}`)
    this.stored[only === `version ${version}` ? 'everything' : 'nothing'] += 1
    const again = await runCommand(applyArguments(run, folder, true))
    if (again.exitCode !== 0) run.faults.push(`a second apply ended with ${again.exitCode}: ${again.stderr}`)
    return `killed the ${victim}, then ${only} was stored`
  }
}

function applyArguments(run: KillRun, folder: string, served: boolean): string[] {
  const port = served ? ['--port', new URL(run.server.url).port] : []
  return ['apply', folder, '--data', run.data, '--prune', '--yes', ...port]
}

/** The versions of all documents that people write. */
async function storedVersions({ server, headers }: KillRun): Promise<string[]> {
  const read = () => fetch(`${server.url}/configs/v1/projects/fleet/documents`, { headers })
  let answered = await read()
  // A killed lane is started again.
  for (let i = 0; answered.status === 503 && i < 2400; i++) {
    await Bun.sleep(50)
    answered = await read()
  }
  if (answered.status !== 200) throw new Error(`a read was answered ${answered.status}: ${await answered.text()}`)
  const { project, documents } = (await answered.json()) as { project: StoredVersion; documents: StoredVersion[] }
  const own = documents.filter(({ kind }) => kind !== 'applications' && kind !== 'application-agents')
  return [...new Set([project, ...own].map(({ body }) => body.description ?? 'none'))]
}

interface StoredVersion {
  readonly kind: string
  readonly body: { readonly description?: string }
}

function isOneOf(description: string, version: number): boolean {
  return description === `version ${version}` || description === `version ${version - 1}`
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

if (import.meta.main) await killProgram(new ApplyKills(), 50)
