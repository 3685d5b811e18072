// Three instances that share a configuration in Neo4j are killed, paused and cut from the server at random while keys and policies are
// created and removed through any of them. No request that is sent a second after the acknowledgement of a revocation is answered with a
// decision, and at the end every instance has exactly the acknowledged configuration. Skips without Java and Maven.
// bun test/stress/instances.ts [--seconds 60] [--seed N]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import { killAll, runCommand, type Server, startServer } from '../support/cli-process.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { startNeo4j } from '../support/counterparts/neo4j.ts'
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts'
import { numberAfter } from './flags.ts'

const INSTANCES = 3
const WRITERS = 3
/** The default of `config_store_age_max_ms`. */
const AGE_MAX_MS = 1000
const SETTLE_MAX_MS = 60_000

interface DisturbedInstance {
  readonly data: string
  readonly proxy: CutProxy
  /** Null: it is being started. */
  server: Server | null
}

interface InstanceResponse {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** A credential and the policy of its own that grants. */
interface StoredGrant {
  readonly key: string
  readonly credential: string
  /** When the response to the revocation arrived, on the clock of `performance.now()`; null: it is not revoked. */
  revokedMs: number | null
  /** The response to a change was lost, or was not a success: it may have been stored. */
  isUnknown: boolean
}

class InstancesRun {
  readonly outcome = {
    acknowledged: 0,
    refused: 0,
    asked: 0,
    granted: 0,
    killed: 0,
    paused: 0,
    cut: 0,
    stale: 0,
    lost: 0,
  }
  private readonly random: Random
  private readonly instances: readonly DisturbedInstance[]
  private readonly start: (instance: DisturbedInstance) => Promise<Server>
  private readonly admin: Record<string, string>
  private readonly agent: string
  private readonly grants: StoredGrant[] = []
  private readonly untilMs: number

  constructor(deps: {
    readonly random: Random
    readonly instances: readonly DisturbedInstance[]
    readonly start: (instance: DisturbedInstance) => Promise<Server>
    readonly admin: Record<string, string>
    readonly agent: string
    readonly seconds: number
  }) {
    this.random = deps.random
    this.instances = deps.instances
    this.start = deps.start
    this.admin = deps.admin
    this.agent = deps.agent
    this.untilMs = performance.now() + deps.seconds * 1000
  }

  async all(): Promise<void> {
    await Promise.all([...Array.from({ length: WRITERS }, () => this.write()), this.ask(), this.disturb()])
    await this.compare()
  }

  private get isOver(): boolean {
    return performance.now() > this.untilMs
  }

  /** Null: the connection was lost. */
  private async send(
    path: string,
    headers: Record<string, string>,
    body: object | undefined,
    method: string,
    instance = this.random.pick(this.instances),
  ): Promise<InstanceResponse | null> {
    if (instance.server === null) return null
    try {
      const response = await fetch(`${instance.server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    } catch {
      return null
    }
  }

  private count(answer: InstanceResponse | null): void {
    if (answer !== null && answer.status < 300) this.outcome.acknowledged += 1
    else this.outcome.refused += 1
  }

  /** Creates keys, and revokes them. */
  private async write(): Promise<void> {
    while (!this.isOver) {
      const active = this.grants.filter(({ revokedMs, isUnknown }) => revokedMs === null && !isUnknown)
      if (active.length < 5 || this.random.odds(0.4)) {
        const path = '/configs/v1/application-agent-credentials'
        const answer = await this.send(path, this.admin, { application_agent_id: this.agent }, 'POST')
        this.count(answer)
        // A key whose response was lost is not known to anyone.
        if (answer?.status === 201) {
          const { id, api_key } = answer.body as Record<string, string>
          this.grants.push({ key: api_key!, credential: id!, revokedMs: null, isUnknown: false })
        }
      } else {
        const grant = this.random.pick(active)
        grant.isUnknown = true
        const path = `/configs/v1/application-agent-credentials/${grant.credential}`
        const answer = await this.send(path, this.admin, undefined, 'DELETE')
        this.count(answer)
        if (answer?.status === 200) {
          grant.revokedMs = performance.now()
          grant.isUnknown = false
        }
      }
      await Bun.sleep(this.random.between(1, 30))
    }
  }

  private async ask(): Promise<void> {
    const question = {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    }
    while (!this.isOver) {
      const grant = this.grants.length === 0 ? null : this.random.pick(this.grants.slice(-20))
      if (grant !== null) {
        const isDueRevoked = grant.revokedMs !== null && performance.now() >= grant.revokedMs + AGE_MAX_MS
        const answer = await this.send('/access/v1/evaluation', { 'x-svc-clientkey': grant.key }, question, 'POST')
        this.outcome.asked += 1
        if (answer?.status === 200) {
          this.outcome.granted += 1
          if (isDueRevoked) this.outcome.stale += 1
        }
      }
      await Bun.sleep(this.random.between(0, 5))
    }
  }

  private async disturb(): Promise<void> {
    while (!this.isOver) {
      await Bun.sleep(this.random.between(200, 1500))
      const instance = this.random.pick(this.instances)
      const { server } = instance
      if (server === null) continue
      const kind = this.random.pick(['kill', 'pause', 'cut'])
      if (kind === 'kill') {
        this.outcome.killed += 1
        instance.server = null
        await server.kill('SIGKILL')
        void this.restart(instance)
      } else if (kind === 'pause') {
        this.outcome.paused += 1
        process.kill(server.pid, 'SIGSTOP')
        await Bun.sleep(this.random.between(100, 7000))
        process.kill(server.pid, 'SIGCONT')
      } else {
        this.outcome.cut += 1
        instance.proxy.cut()
        await Bun.sleep(this.random.between(10, 4000))
        instance.proxy.mend()
      }
    }
  }

  private async restart(instance: DisturbedInstance): Promise<void> {
    instance.server = await this.start(instance)
  }

  /** All instances have the keys that were acknowledged, and none that was revoked. */
  private async compare(): Promise<void> {
    const endMs = performance.now() + SETTLE_MAX_MS
    for (const instance of this.instances) {
      for (const grant of this.grants.filter(({ isUnknown }) => !isUnknown)) {
        const expected = grant.revokedMs === null ? 200 : 401
        let status: number | undefined
        do {
          const question = { subject: { type: 'P', id: '1' }, action: { name: 'a' }, resource: { type: 'C', id: '1' } }
          const headers = { 'x-svc-clientkey': grant.key }
          status = (await this.send('/access/v1/evaluation', headers, question, 'POST', instance))?.status
          if (status !== expected) await Bun.sleep(50)
        } while (status !== expected && performance.now() < endMs)
        if (status !== expected) this.outcome.lost += 1
      }
    }
  }
}

async function run(): Promise<void> {
  const seed = numberAfter('--seed', stressSeed())
  const seconds = numberAfter('--seconds', 60)
  console.log(`seed ${seed}`)
  const neo4j = await startNeo4j()
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-instances-'))
  try {
    const environment = { VERDIGRAPH_MASTER_KEY: 'ab'.repeat(32), VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' }
    const instances: DisturbedInstance[] = []
    for (let i = 0; i < INSTANCES; i++) {
      instances.push({ data: join(folder, `data-${i}`), proxy: await startCutProxy(neo4j.url), server: null })
    }
    const of = ({ proxy }: DisturbedInstance) => ({ ...environment, VERDIGRAPH_CONFIG_STORE: proxy.url })
    const start = (instance: DisturbedInstance): Promise<Server> => startServer(['--data', instance.data], of(instance))
    const init = await runCommand(['init', '--data', instances[0]!.data, '--json'], of(instances[0]!))
    const { token, organization_id } = JSON.parse(init.stdout) as Record<string, string>
    for (const instance of instances) instance.server = await start(instance)
    const admin = { authorization: `Bearer ${token}` }
    const create = async (kind: string, body: object): Promise<string> => {
      const response = await fetch(`${instances[0]!.server!.url}/configs/v1/${kind}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...admin },
        body: JSON.stringify(body),
      })
      if (response.status !== 201) throw new Error(`${kind}: ${await response.text()}`)
      return ((await response.json()) as { readonly id: string }).id
    }
    const db_connection = { url: neo4j.url }
    const project_id = await create('projects', { organization_id, name: 'shared', region: 'local', db_connection })
    const application_id = await create('applications', { project_id, name: 'app' })
    const api_permissions = ['Authorization']
    const agent = await create('application-agents', { application_id, name: 'agent', api_permissions })
    await Bun.sleep(3000)
    const disturbed = new InstancesRun({ random: new Random(seed), instances, start, admin, agent, seconds })
    await disturbed.all()
    console.log(JSON.stringify(disturbed.outcome, null, 2))
    process.exitCode = disturbed.outcome.stale + disturbed.outcome.lost === 0 ? 0 : 1
    for (const { proxy } of instances) proxy.close()
  } finally {
    await killAll()
    await neo4j.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

try {
  await run()
} catch (error) {
  if (!(error instanceof CounterpartMissing)) throw error
  console.log(`skipped: instances that share a configuration: ${error.message}`)
}
process.exit()
