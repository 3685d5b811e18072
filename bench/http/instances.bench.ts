// How soon do all instances use a change of the configuration that they share? Three services and one Neo4j on this machine: a policy is
// created, and a key is revoked, through one instance, and another one is asked until its answers follow the change.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNeo4j } from '../../test/support/counterparts/neo4j.ts'
import { type Bench, mustEqual, round } from '../harness.ts'
import { endAll, listening, output } from './processes.ts'

const INSTANCES = 3
/** Pause between two questions, milliseconds. */
const PAUSE_MS = 2

export const instances: Bench = {
  name: 'instances',
  question: 'the time until all instances use a new policy and refuse a revoked key (needs Java and Maven)',
  async run({ small, report }) {
    const rounds = small ? 20 : 200
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-instances-'))
    const children: Bun.Subprocess[] = []
    const neo4j = await startNeo4j({ purpose: 'measured' })
    try {
      const folders = Array.from({ length: INSTANCES }, (_, number) => join(folder, `instance-${number}`))
      // Without the shared database: the first start moves its configuration there.
      const { token, organization_id } = JSON.parse(
        await output(['src/main.ts', 'init', '--data', folders[0]!, '--json']),
      ) as Record<string, string>
      const environment = {
        VERDIGRAPH_CONFIG_STORE: neo4j.url,
        VERDIGRAPH_MASTER_KEY: readFileSync(join(folders[0]!, 'master.key'), 'utf8').trim(),
        VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1',
      }
      const urls: string[] = []
      for (const data of folders) {
        urls.push((await listening(['src/main.ts', 'serve', '--data', data, '--port', '0'], children, environment)).url)
      }
      const admin = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const call = async (
        url: string,
        method: string,
        path: string,
        body?: object,
        headers: Record<string, string> = admin,
      ) => {
        const response = await fetch(`${url}${path}`, {
          method,
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        return { status: response.status, body: (await response.json()) as Record<string, string> }
      }
      const create = async (kind: string, body: object): Promise<Record<string, string>> => {
        const answer = await call(urls[0]!, 'POST', `/configs/v1/${kind}`, body)
        mustEqual(`the status of ${kind}`, answer.status, 201)
        return answer.body
      }
      const db_connection = { url: neo4j.url }
      const project_id = (await create('projects', { organization_id, name: 'bench', region: 'local', db_connection }))
        .id!
      for (const url of urls) {
        const isActive = async () =>
          (await call(url, 'GET', `/configs/v1/projects/${project_id}`)).body.ikg_status === 'ACTIVE'
        await timeUntil(isActive)
      }
      const application_id = (await create('applications', { project_id, name: 'app' })).id
      const api_permissions = ['Authorization', 'Capture']
      const { id: application_agent_id } = await create('application-agents', {
        application_id,
        name: 'agent',
        api_permissions,
      })
      const question = {
        subject: { type: 'Person', id: 'ann' },
        action: { name: 'drive' },
        resource: { type: 'Car', id: 'c1' },
      }
      const policyTimes: number[] = []
      const keyTimes: number[] = []
      for (let number = 0; number < rounds; number++) {
        const credential = await create('application-agent-credentials', { application_agent_id })
        const key = { 'x-svc-clientkey': credential.api_key!, 'content-type': 'application/json' }
        const decide = (url: string) => call(url, 'POST', '/access/v1/evaluation', question, key)
        for (const url of urls) await timeUntil(async () => (await decide(url)).status === 200)
        const nodes = [
          { type: 'Person', external_id: 'ann' },
          { type: 'Car', external_id: 'c1' },
        ]
        if (number === 0)
          mustEqual('the capture', (await call(urls[0]!, 'POST', '/capture/v1/nodes', { nodes }, key)).status, 200)
        const policy = JSON.stringify({
          meta: { policy_version: '3.0-kbac' },
          subject: { type: 'Person' },
          actions: ['drive'],
          resource: { type: 'Car' },
          condition: { cypher: 'MATCH (subject:Person), (resource:Car)' },
        })
        const created = await create('authorization-policies', { project_id, name: 'drive', policy, status: 'ACTIVE' })
        const permits = async (url: string) => (await decide(url)).body as unknown as { readonly decision: boolean }
        policyTimes.push(await slowest(urls, async (url) => (await permits(url)).decision))
        await call(urls[0]!, 'DELETE', `/configs/v1/authorization-policies/${created.id}`)
        await call(urls[0]!, 'DELETE', `/configs/v1/application-agent-credentials/${credential.id}`)
        keyTimes.push(await slowest(urls, async (url) => (await decide(url)).status === 401))
      }
      for (const [change, times] of Object.entries({ new_policy: policyTimes, revoked_key: keyTimes })) {
        const sorted = times.sort((a, b) => a - b)
        report.line({
          change,
          instances: INSTANCES,
          changes: rounds,
          p50_ms: round(sorted[Math.floor(rounds / 2)]!, 1),
          p99_ms: round(sorted[Math.floor(rounds * 0.99)]!, 1),
          max_ms: round(sorted.at(-1)!, 1),
        })
      }
    } finally {
      await endAll(children)
      await neo4j.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** The time until the last of the instances follows, from the answer to the change, milliseconds. */
async function slowest(urls: readonly string[], follows: (url: string) => Promise<boolean>): Promise<number> {
  return Math.max(...(await Promise.all(urls.map((url) => timeUntil(() => follows(url))))))
}

async function timeUntil(isTrue: () => Promise<boolean>): Promise<number> {
  const startedMs = performance.now()
  while (!(await isTrue())) {
    if (performance.now() - startedMs > 60_000) throw new Error('an instance does not follow')
    await Bun.sleep(PAUSE_MS)
  }
  return performance.now() - startedMs
}
