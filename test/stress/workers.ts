// Writes at one worker and reads at another, again and again: the next request at any other worker sees what one has
// acknowledged. Relationships are created and deleted, properties changed, policies stored and deactivated.
// Run alone: bun test/stress/workers.ts [--pairs 100000] [--revokes 100000] [--policies 1000] [--workers 2] [--seed N]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import {
  bodyOf,
  captured,
  connectionsTo,
  type HttpConnection,
  makeProject,
  mayPerson,
  policyBody,
  startWorkers,
  type WorkerFixture,
} from '../support/worker-fixture.ts'
import { numberAfter } from './flags.ts'

/** Concurrent pairs of writer and reader, each with its own people and pages. */
const LANES = 32

export interface WorkersOutcome {
  pairs: number
  revokes: number
  policies: number
  /** A permit after the acknowledged revocation of it. */
  stalePermits: number
  /** A denial after an acknowledged grant. */
  staleDenials: number
  readonly seconds: { pairs: number; revokes: number; policies: number }
}

export interface WorkersTask {
  readonly workers: number
  readonly pairs: number
  readonly revokes: number
  readonly policies: number
  readonly seed: number
}

export async function askAcrossWorkers(task: WorkersTask): Promise<WorkersOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-workers-'))
  try {
    const fixture = await startWorkers(join(folder, 'data'), task.workers)
    try {
      return await checkWorkers(fixture, task)
    } finally {
      await fixture.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Of a served folder with workers. */
export async function checkWorkers(fixture: WorkerFixture, { workers, pairs, revokes, policies, seed }: WorkersTask) {
  const lanes = await connectionsTo(fixture.server.url, workers, LANES)
  const [first] = lanes[0] as HttpConnection[]
  const project = await makeProject(fixture, first as HttpConnection, `crew-${seed}`)
  const create = async (body: object) =>
    bodyOf(
      await (first as HttpConnection).request('POST', '/configs/v1/authorization-policies', fixture.admin, body),
      201,
    )
  await create(policyBody(project, 'wrote', 'MATCH (subject:Person)-[:WROTE]->(resource:Page)'))
  await create(policyBody(project, 'open', "MATCH (subject:Person), (resource:Page) WHERE resource.state = 'open'"))
  const random = new Random(seed)
  const outcome: WorkersOutcome = {
    pairs: 0,
    revokes: 0,
    policies: 0,
    stalePermits: 0,
    staleDenials: 0,
    seconds: { pairs: 0, revokes: 0, policies: 0 },
  }
  const compare = (expected: boolean, found: boolean): void => {
    if (found && !expected) outcome.stalePermits += 1
    if (!found && expected) outcome.staleDenials += 1
  }
  /** Connections to two different workers. */
  const two = (lane: number): [HttpConnection, HttpConnection] => {
    const writer = random.between(0, workers - 1)
    const reader = (writer + random.between(1, workers - 1)) % workers
    return [
      (lanes[writer] as HttpConnection[])[lane] as HttpConnection,
      (lanes[reader] as HttpConnection[])[lane] as HttpConnection,
    ]
  }
  const everyLane = async (rounds: number, run: (lane: number) => Promise<void>): Promise<number> => {
    const startMs = performance.now()
    let left = rounds
    await Promise.all(
      Array.from({ length: LANES }, async (_, lane) => {
        while (left-- > 0) await run(lane)
      }),
    )
    return (performance.now() - startMs) / 1000
  }
  await Promise.all(
    Array.from({ length: LANES }, (_, lane) =>
      captured(first as HttpConnection, project, 'nodes', {
        nodes: [
          { type: 'Person', external_id: `person-${lane}` },
          { type: 'Page', external_id: `page-${lane}` },
        ],
      }),
    ),
  )

  const states = new Map<number, boolean>()
  outcome.seconds.pairs = await everyLane(pairs, async (lane) => {
    const [writer, reader] = two(lane)
    const isOpen = !(states.get(lane) ?? false)
    states.set(lane, isOpen)
    // Every hundredth write adds a name that is new to all processes.
    const news = random.odds(0.01) ? [{ type: `news_${random.between(0, 999_999_999)}`, value: 1 }] : []
    const properties = [{ type: 'state', value: isOpen ? 'open' : 'shut' }, ...news]
    await captured(writer, project, 'nodes', {
      nodes: [{ type: 'Page', external_id: `page-${lane}`, properties }],
    })
    compare(isOpen, await mayPerson(reader, project, `person-${lane}`, 'open', `page-${lane}`))
    outcome.pairs += 1
  })

  outcome.seconds.revokes = await everyLane(revokes, async (lane) => {
    const relationship = {
      source: { type: 'Person', external_id: `person-${lane}` },
      type: 'WROTE',
      target: { type: 'Page', external_id: `page-${lane}` },
    }
    const [granter, witness] = two(lane)
    await captured(granter, project, 'relationships', { relationships: [relationship] })
    compare(true, await mayPerson(witness, project, `person-${lane}`, 'wrote', `page-${lane}`))
    const [revoker, asked] = two(lane)
    await captured(revoker, project, 'relationships/delete', { relationships: [relationship] })
    compare(false, await mayPerson(asked, project, `person-${lane}`, 'wrote', `page-${lane}`))
    outcome.revokes += 1
  })

  outcome.seconds.policies = await everyLane(policies, async (lane) => {
    const [maker, witness] = two(lane)
    const name = `p${lane}-${outcome.policies}-${random.between(0, 999_999_999)}`
    const path = '/configs/v1/authorization-policies'
    const body = policyBody(project, name, 'MATCH (subject:Person), (resource:Page)')
    const { id } = bodyOf(await maker.request('POST', path, fixture.admin, body), 201)
    compare(true, await mayPerson(witness, project, `person-${lane}`, name, `page-${lane}`))
    const [remover, asked] = two(lane)
    const ended = random.odds(0.5)
      ? await remover.request('PUT', `${path}/${id}`, fixture.admin, { policy: body.policy, status: 'INACTIVE' })
      : await remover.request('DELETE', `${path}/${id}`, fixture.admin)
    bodyOf(ended, 200)
    compare(false, await mayPerson(asked, project, `person-${lane}`, name, `page-${lane}`))
    outcome.policies += 1
  })
  for (const lines of lanes) for (const line of lines) line.close()
  return outcome
}

if (import.meta.main) {
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const outcome = await askAcrossWorkers({
    workers: numberAfter('--workers', 2),
    pairs: numberAfter('--pairs', 100_000),
    revokes: numberAfter('--revokes', 100_000),
    policies: numberAfter('--policies', 1000),
    seed,
  })
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.stalePermits + outcome.staleDenials === 0 ? 0 : 1)
}
