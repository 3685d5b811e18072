// A project with many property names, which captures in lanes add: the serving process decides with all of them at once.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import { startService, type TestService } from '../../support/service.ts'

const BATCHES = 4
const NODES = 250
const NAMES_PER_NODE = 20

let service: TestService

beforeAll(async () => {
  service = await startService({ lanes: 1 }, { laneCommand: childCommand('lane') })
})

afterAll(async () => service?.stop())

async function laneRequests(): Promise<number> {
  const { text } = await service.send('/metrics', { headers: { authorization: `Bearer ${service.token}` } })
  return Number(/^verdigraph_lane_requests_total(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1])
}

async function captureNames(batch: number): Promise<void> {
  const nodes = Array.from({ length: NODES }, (_, node) => ({
    type: 'Car',
    external_id: `c${node}`,
    properties: Array.from({ length: NAMES_PER_NODE }, (_, i) => {
      const number = (batch * NODES + node) * NAMES_PER_NODE + i
      return { type: `p${number}`, value: number }
    }),
  }))
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
}

/** Whether `ann` may do to the car what is allowed if it has the property with this number. */
async function decide(number: number, car = carOf(number)): Promise<unknown> {
  const answered = await service.ask('/access/v1/evaluation', {
    subject: { type: 'Person', id: 'ann' },
    action: { name: `by-${number}` },
    resource: { type: 'Car', id: car },
  })
  expect(answered.status).toBe(200)
  return answered.body.decision
}

const carOf = (number: number): string => `c${Math.floor(number / NAMES_PER_NODE) % NODES}`

/** Decides until the serving process does so itself; returns each result. */
async function decideUntilInline(numbers: readonly number[]): Promise<unknown[][]> {
  const results: unknown[][] = []
  for (;;) {
    const before = await laneRequests()
    const decisions: unknown[] = []
    for (const number of numbers) decisions.push(await decide(number), await decide(number, 'c1'))
    results.push(decisions)
    if ((await laneRequests()) === before) return results
    await Bun.sleep(10)
  }
}

it('decides with the names of a capture at once, in a lane and then in the serving process', async () => {
  await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'ann' }] })
  const lastOfBatch = Array.from({ length: BATCHES }, (_, batch) => (batch + 1) * NODES * NAMES_PER_NODE - 1)
  for (const number of [0, ...lastOfBatch]) {
    const cypher = `MATCH (subject:Person), (resource:Car) WHERE resource.p${number} = ${number}`
    await service.addPolicy({ name: `by-${number}`, actions: [`by-${number}`], cypher })
  }
  for (const [batch, last] of lastOfBatch.entries()) {
    expect(await decide(last)).toBe(false)
    await captureNames(batch)
    const before = await laneRequests()
    expect(await decide(last)).toBe(true)
    // The serving process lacks the names. It reads them in the background, and then decides by itself again.
    expect(await laneRequests()).toBe(before + 1)
    for (const decisions of await decideUntilInline([0, last])) expect(decisions).toEqual([true, false, true, false])
  }
  const known = [0, ...lastOfBatch]
  expect((await decideUntilInline(known)).at(-1)).toEqual(known.flatMap(() => [true, false]))
})
