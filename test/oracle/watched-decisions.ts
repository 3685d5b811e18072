// The oracle of change streams: whenever the decision of any pair changes, the stream has sent an event that covers it. All decisions
// are made again after each write.
import type { Random } from '../generate/random.ts'
import { EventStreamReader } from '../support/server-events.ts'
import type { TestService } from '../support/service.ts'

const WAIT_MS = 60_000
const people = ['ann', 'bob', 'cid']
const cars = ['c1', 'c2', 'c3']
const labels = ['Vip', 'Old', 'Odd']
const properties = ['state', 'level', 'update_time_']

/** Conditions that read the graph in every way that has names, and in those that have none. */
const conditions = [
  'MATCH (subject:Person)-[:OWNS]->(resource:Car)',
  'MATCH (subject:Person)-[]->(resource:Car)',
  'MATCH (subject:Person)-[:OWNS*1..3]-(resource:Car)',
  'MATCH (subject:Person)-[:KNOWS*0..2]->(friend)-[:OWNS]->(resource:Car)',
  "MATCH (subject:Person), (resource:Car) WHERE resource.state = 'open' AND NOT subject:Odd",
  'MATCH (subject:Person), (resource:Car) WHERE NOT EXISTS { (subject)-[:KNOWS]->(:Person) }',
  'MATCH (subject:Person), (resource:Car) WHERE COUNT { (subject)-->() } = 1',
  'MATCH (subject), (resource) WHERE size(labels(subject)) = 2',
  "MATCH (subject:Person), (resource:Car) WHERE 'level' IN keys(resource)",
  'MATCH (subject:Person), (resource:Car) WHERE properties(resource).level > 1',
  "MATCH (subject:Person), (resource:Car) WHERE resource[$name] = 'open'",
  'MATCH (subject:Person), (resource:Car) MATCH (other:Car) WHERE other.level = 2 AND other <> resource',
  'MATCH (subject:Person), (resource:Car) MATCH (any) WITH subject, resource, count(any) AS n WHERE n % 2 = 0',
  'MATCH (subject:Person), (resource:Car) OPTIONAL MATCH (subject)-[r:KNOWS]->(p:Vip) WITH subject, resource, r WHERE r IS NULL',
  'MATCH (subject:Person)-[r:OWNS]->(resource:Car) WHERE r.level >= 1',
  'MATCH (subject:Person)-[r]->(resource:Car) WHERE type(r) <> "OWNS"',
  'MATCH (subject:Person), (resource:Car) WHERE resource.is_identity = true',
  "MATCH (subject:Person), (resource:Car) WHERE graph.metadata(resource, 'state', 'source') = 'x'",
  'MATCH p = (subject:Person)-[*1..2]->(resource:Car) WHERE all(n IN nodes(p) WHERE n.level IS NULL OR n.level < 3)',
  'MATCH (subject:Person), (resource:Car) WHERE subject:Vip|Old',
  'MATCH (subject:Person), (resource:Car) WITH subject, resource ORDER BY subject.level DESC LIMIT 3',
] as const

/** The result of a run. */
export interface WatchedOutcome {
  readonly rounds: number
  /** Decisions that changed. */
  changed: number
  /** Events of the stream that list decisions. */
  events: number
  /** A change that no event covered, with the write before it. */
  readonly missed: string[]
}

/** Runs writes, and compares the changed decisions with the events. The agent of the service may capture and decide. */
export async function checkWatch(service: TestService, random: Random, rounds: number): Promise<WatchedOutcome> {
  const outcome: WatchedOutcome = { rounds, changed: 0, events: 0, missed: [] }
  const actions = await addPolicies(service)
  for (const write of firstWrites()) await send(service, write)
  await using stream = await EventStreamReader.open(`${service.url}/access/v1/watch`, {
    'x-svc-clientkey': service.key,
  })
  await stream.until(({ name }) => name === 'hello')
  let before = await decisionsOf(service, actions)
  for (let round = 0; round < rounds; round++) {
    const writes = Array.from({ length: random.between(1, 3) }, () => randomWrite(random))
    const seen = stream.events.length
    await Promise.all(writes.map((write) => send(service, write)))
    const after = await decisionsOf(service, actions)
    const changed = new Set(
      [...after].filter(([key, decision]) => before.get(key) !== decision).map(([key]) => key.split(' ')[0]!),
    )
    outcome.changed += changed.size
    const end = performance.now() + WAIT_MS
    for (const action of changed) {
      const isCovered = (): boolean =>
        stream.events.slice(seen).some(({ name, data }) => {
          const changes = (data.changes ?? []) as readonly { readonly action: string }[]
          return name === 'reset' || changes.some((one) => one.action === action)
        })
      while (!isCovered() && performance.now() < end) await Bun.sleep(2)
      if (!isCovered()) outcome.missed.push(`round ${round}: ${action}: ${JSON.stringify(writes)}`)
    }
    before = after
  }
  outcome.events = stream.events.filter(({ name }) => name === 'change').length
  return outcome
}

async function addPolicies(service: TestService): Promise<readonly string[]> {
  const names: string[] = []
  for (const [at, cypher] of conditions.entries()) {
    await service.addPolicy({ name: `policy-${at}`, actions: [`a${at}`], cypher })
    names.push(`a${at}`)
  }
  return names
}

async function decisionsOf(service: TestService, actions: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
  const keys: string[] = []
  const evaluations = actions.flatMap((name) =>
    people.flatMap((person) =>
      cars.map((car) => {
        keys.push(`${name} ${person} ${car}`)
        return {
          subject: { type: 'Person', id: person },
          action: { name },
          resource: { type: 'Car', id: car },
          context: { input_params: { name: 'state' } },
        }
      }),
    ),
  )
  const { body, status, text } = await service.ask('/access/v1/evaluations', { evaluations })
  if (status !== 200) throw new Error(text)
  const decisions = body.evaluations as readonly { readonly decision: boolean }[]
  return new Map(decisions.map(({ decision }, at) => [keys[at]!, decision]))
}

interface Write {
  readonly path: string
  readonly body: object
}

async function send(service: TestService, { path, body }: Write): Promise<void> {
  const { status, text } = await service.ask(`/capture/v1/${path}`, body)
  // A write may name a node that another one has deleted.
  if (status !== 200 && status !== 422) throw new Error(`${path} ${JSON.stringify(body)}: ${text}`)
}

function firstWrites(): readonly Write[] {
  return [
    {
      path: 'nodes',
      body: {
        nodes: [
          ...people.map((external_id) => ({ type: 'Person', external_id })),
          ...cars.map((external_id) => ({ type: 'Car', external_id })),
        ],
      },
    },
  ]
}

function randomWrite(random: Random): Write {
  const person = { type: 'Person', external_id: random.pick(people) }
  const car = { type: 'Car', external_id: random.pick(cars) }
  const node = random.odds(0.5) ? person : car
  const property = () => ({
    type: random.pick(properties),
    value: random.pick<unknown>(['open', 'closed', 0, 1, 2, 3]),
    ...(random.odds(0.3) && { metadata: { source: random.pick(['x', 'y']) } }),
  })
  const relationship = {
    source: person,
    type: random.pick(['OWNS', 'KNOWS', 'SEES']),
    target: random.odds(0.7) ? car : { type: 'Person', external_id: random.pick(people) },
  }
  return random.weighted<() => Write>([
    [
      4,
      () => ({
        path: 'nodes',
        body: {
          nodes: [
            {
              ...node,
              ...(random.odds(0.7) && { properties: [property()] }),
              ...(random.odds(0.4) && { tags: labels.filter(() => random.odds(0.4)) }),
              ...(random.odds(0.2) && { is_identity: random.odds(0.5) }),
            },
          ],
        },
      }),
    ],
    [
      4,
      () => ({
        path: 'relationships',
        body: {
          relationships: [
            {
              ...relationship,
              ...(random.odds(0.4) && { properties: [{ type: 'level', value: random.between(0, 2) }] }),
            },
          ],
        },
      }),
    ],
    [3, () => ({ path: 'relationships/delete', body: { relationships: [relationship] } })],
    [1, () => ({ path: 'nodes/delete', body: { nodes: [node] } })],
    [1, () => ({ path: 'nodes', body: { nodes: [{ type: 'Depot', external_id: `d${random.between(1, 4)}` }] } })],
    [
      2,
      () => ({
        path: 'nodes/properties/delete',
        body: { nodes: [{ ...node, property_types: [random.pick(properties)] }] },
      }),
    ],
  ])()
}
