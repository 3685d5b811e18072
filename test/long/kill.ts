// Kills a server in the middle of a capture load, again and again, and looks whether it kept its word: every batch that
// was acknowledged is there, no batch is there by halves, and the server starts again by itself.
// Run alone: bun test/long/kill.ts [--rounds 20] [--seed N]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand, type Server, startServer } from '../cli/process.ts'

const WRITERS = 4
/** After hundreds of rounds a search finds all that they stored, on one page. */
const PATIENT = { VERDIGRAPH_DECISION_TIME_MS: '60000', VERDIGRAPH_SEARCH_PAGE_MAX: '1000000' }
const BATCH_ITEMS = 25
const HOLDER = { type: 'Robot', external_id: 'holder' }

export interface KillOutcome {
  readonly rounds: number
  readonly acknowledged: number
  /** Batches that were cut off before their answer, and were found whole. */
  readonly whole: number
  readonly absent: number
  /** From the command to the line that it listens, the runtime's own start included. */
  readonly startMsMax: number
  /** Empty when all is well. */
  readonly faults: readonly string[]
}

interface Project {
  readonly key: string
}

export async function killRounds(rounds: number, seed: number): Promise<KillOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-kill-'))
  const data = join(folder, 'data')
  const random = randomFrom(seed)
  const sent = new Map<string, 'sent' | 'acknowledged'>()
  const faults: string[] = []
  let whole = 0
  let absent = 0
  let startMsMax = 0
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    let server = await startServer(['--data', data], PATIENT)
    const project = await setUp(server, token, organization_id)
    for (let round = 0; round < rounds; round++) {
      await loadUntilKilled(server, project, round, 20 + random() * 180, sent)
      const start = performance.now()
      server = await startServer(['--data', data], PATIENT)
      startMsMax = Math.max(startMsMax, Math.round(performance.now() - start))
      const nodes = await idsFound(server, project, 'know')
      const joined = await idsFound(server, project, 'hold')
      whole = 0
      absent = 0
      for (const [batch, state] of sent) {
        const [kind = '', name = ''] = batch.split(' ')
        const found = itemsOf(name).filter((id) => (kind === 'nodes' ? nodes : joined).has(id)).length
        if (found === BATCH_ITEMS) whole += state === 'sent' ? 1 : 0
        else if (state === 'acknowledged')
          faults.push(`round ${round}: ${batch} was acknowledged, ${found} items are there`)
        else if (found > 0) faults.push(`round ${round}: ${batch} is there by halves, ${found} items`)
        else absent += 1
      }
    }
    const ended = await server.kill('SIGTERM')
    if (ended !== 0) faults.push(`the last server ended with ${ended}`)
    // Every page, every value, and whether lists, labels, index and counts agree.
    const { exitCode, stdout } = await runCommand(['verify', '--data', data])
    if (exitCode !== 0) faults.push(`verify says: ${stdout}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const acknowledged = [...sent.values()].filter((state) => state === 'acknowledged').length
  return { rounds, acknowledged, whole, absent, startMsMax, faults }
}

/** Writers send batch after batch, nodes and then the relationships to them, until nobody answers any more. */
async function loadUntilKilled(
  server: Server,
  project: Project,
  round: number,
  afterMs: number,
  sent: Map<string, 'sent' | 'acknowledged'>,
): Promise<void> {
  let firstAnswer: () => void = () => {}
  const started = new Promise<void>((resolve) => {
    firstAnswer = resolve
  })
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 0; ; n++) {
      const name = `r${round}-w${writer}-b${n}`
      const items = itemsOf(name).map((external_id) => ({ type: 'Item', external_id }))
      const nodes = items.map((item) => ({ ...item, properties: [{ type: 'batch', value: name }] }))
      const relationships = items.map((target) => ({ source: HOLDER, type: 'HOLDS', target }))
      for (const [kind, body] of [
        ['nodes', { nodes }],
        ['relationships', { relationships }],
      ] as const) {
        sent.set(`${kind} ${name}`, 'sent')
        const status = await post(server, `/capture/v1/${kind}`, project, body).then(
          (response) => response.status,
          () => null,
        )
        if (status === null) return
        if (status !== 200) throw new Error(`a batch was answered with ${status}`)
        sent.set(`${kind} ${name}`, 'acknowledged')
        firstAnswer()
      }
    }
  })
  await Promise.race([started, Promise.all(writers)])
  await Bun.sleep(afterMs)
  await server.kill('SIGKILL')
  await Promise.all(writers)
}

function itemsOf(batch: string): string[] {
  return Array.from({ length: BATCH_ITEMS }, (_, i) => `${batch}-${i}`)
}

async function idsFound(server: Server, project: Project, action: string): Promise<Set<string>> {
  const response = await post(server, '/access/v1/search/resource', project, {
    subject: { type: HOLDER.type, id: HOLDER.external_id },
    action: { name: action },
    resource: { type: 'Item' },
  })
  if (response.status !== 200) throw new Error(`the search answered ${response.status}: ${await response.text()}`)
  const { results } = (await response.json()) as { results: { id: string }[] }
  return new Set(results.map(({ id }) => id))
}

async function setUp(server: Server, token: string, organization_id: string): Promise<Project> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const create = async (kind: string, body: object): Promise<Record<string, string>> => {
    const url = `${server.url}/configs/v1/${kind}`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    if (response.status !== 201)
      throw new Error(`creating ${kind} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }
  const project_id = (await create('projects', { organization_id, name: 'kill', region: 'local' })).id
  for (;;) {
    const read = await fetch(`${server.url}/configs/v1/projects/${project_id}`, { headers })
    if (((await read.json()) as { ikg_status: string }).ikg_status === 'ACTIVE') break
  }
  const application_id = (await create('applications', { project_id, name: 'kill' })).id
  const api_permissions = ['Authorization', 'Capture']
  const agent = await create('application-agents', { application_id, name: 'kill', api_permissions })
  const credential = await create('application-agent-credentials', { application_agent_id: agent.id })
  for (const [action, cypher] of [
    ['know', 'MATCH (subject:Robot), (resource:Item)'],
    ['hold', 'MATCH (subject:Robot)-[:HOLDS]->(resource:Item)'],
  ] as const) {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: HOLDER.type },
      actions: [action],
      resource: { type: 'Item' },
      condition: { cypher },
    })
    await create('authorization-policies', { project_id, name: action, policy, status: 'ACTIVE' })
  }
  const project = { key: credential.api_key as string }
  await post(server, '/capture/v1/nodes', project, { nodes: [HOLDER] })
  return project
}

function post(server: Server, path: string, project: Project, body: unknown): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-clientkey': project.key },
    body: JSON.stringify(body),
  })
}

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

if (import.meta.main) {
  const value = (flag: string, otherwise: number): number => {
    const at = process.argv.indexOf(flag)
    return at < 0 ? otherwise : Number(process.argv[at + 1])
  }
  const seed = value('--seed', Date.now() % 1_000_000)
  console.log(`seed ${seed}`)
  const outcome = await killRounds(value('--rounds', 20), seed)
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.faults.length === 0 ? 0 : 1)
}
