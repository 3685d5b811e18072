// The HTTP client against a live service, and against a server that fails as proxies and busy services do.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ClientError,
  createClient,
  InvalidRequestError,
  NotAuthorizedError,
  TooManyRequestsError,
  UnavailableError,
  type VerdigraphClient,
} from '../../../src/client/index.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let client: VerdigraphClient

beforeAll(async () => {
  service = await startService()
  const permissions = ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs']
  const { key } = await service.addAgent('client', permissions)
  client = createClient({ url: `${service.url}/`, key: () => Promise.resolve(key) })
  await service.addPolicy({
    name: 'seats',
    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.seats >= $min',
  })
})

afterAll(() => service?.stop())

const car = (id: number): { type: string; external_id: string } => ({ type: 'Car', external_id: `c${id}` })
const cars = Array.from({ length: 600 }, (_, id) => ({ ...car(id), properties: [{ type: 'seats', value: id }] }))
const ann = { type: 'Person', external_id: 'ann' }

describe('a client', () => {
  test('writes in several requests, and gets one id for each item', async () => {
    const owned = cars.map(({ type, external_id }) => ({ source: ann, type: 'OWNS', target: { type, external_id } }))
    const written = await client.write({
      nodes: [{ ...ann, is_identity: true }, ...cars],
      relationships: owned,
    })
    expect(written.nodes).toHaveLength(601)
    expect(written.relationships).toHaveLength(600)
    const again = await client.write({ nodes: cars.slice(0, 3) })
    expect(again.nodes).toEqual(written.nodes.slice(1, 4))
  })

  test('decides with parameters', async () => {
    expect(await client.may({ Person: 'ann' }, 'drive', { Car: 'c5' }, { min: 5 })).toBe(true)
    expect(await client.may({ Person: 'ann' }, 'drive', { Car: 'c5' }, { min: 6 })).toBe(false)
    expect(await client.may({ Person: 'bob' }, 'drive', { Car: 'c5' }, { min: 5 })).toBe(false)
    // An entity as in a request.
    expect(await client.may({ type: 'Person', id: 'ann' }, 'drive', { Car: 'c5' }, { min: 5 })).toBe(true)
  })

  test('decides more questions than one request may have, in their order', async () => {
    const checks = Array.from({ length: 1201 }, (_, at) => ({
      subject: { Person: 'ann' },
      action: 'drive',
      resource: { Car: `c${at % 600}` },
      params: { min: 300 },
    }))
    const decisions = await client.mayAll(checks)
    expect(decisions).toEqual(checks.map((_, at) => at % 600 >= 300))
    expect(await client.mayAll([])).toEqual([])
  })

  test('denies the question of a batch that has an error', async () => {
    const check = { subject: { Person: 'ann' }, action: 'drive', resource: { Car: 'c5' } }
    const wrong = { ...check, resource: { Car: '' }, params: { min: 1 } }
    expect(await client.mayAll([{ ...check, params: { min: 1 } }, wrong, check])).toEqual([true, false, false])
  })

  test('finds resources, subjects and actions page by page', async () => {
    const found: string[] = []
    for await (const id of client.resources({ Person: 'ann' }, 'drive', 'Car', { min: 100 })) found.push(id)
    expect(found.sort()).toEqual(
      cars
        .slice(100)
        .map(({ external_id }) => external_id)
        .sort(),
    )
    const subjects: string[] = []
    for await (const id of client.subjects('Person', 'drive', { Car: 'c9' }, { min: 9 })) subjects.push(id)
    expect(subjects).toEqual(['ann'])
    const actions: string[] = []
    for await (const name of client.actions({ Person: 'ann' }, { Car: 'c9' }, { min: 9 })) actions.push(name)
    expect(actions).toEqual(['drive'])
    for await (const id of client.resources({ Person: 'ann' }, 'drive', 'Car', { min: 0 })) {
      expect(id).toMatch(/^c/)
      break
    }
  })

  test('explains', async () => {
    const { decision, policies } = await client.why({ Person: 'ann' }, 'drive', { Car: 'c5' }, { min: 6 })
    expect(decision).toBe(false)
    expect(policies.map(({ name, outcome }) => [name, outcome])).toEqual([['seats', 'denied']])
    expect(policies[0]?.nearest_miss?.stopped.step).toBeTruthy()
  })

  test('deletes', async () => {
    const target = { type: 'Car', external_id: 'c0' }
    await client.write({ delete_relationships: [{ source: ann, type: 'OWNS', target }], delete_nodes: [target] })
    expect(await client.may({ Person: 'ann' }, 'drive', { Car: 'c0' }, { min: 0 })).toBe(false)
  })
})

describe('errors of a client', () => {
  test('name the fault, the status and the request', async () => {
    const error = await failure(client.may({ Person: 'ann' }, 'drive', { Car: 'c1' }))
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.status).toBe(422)
    expect(error.errors.join()).toContain('min')
    expect(error.message).toContain('min')
    expect(error.requestId).toMatch(/\S/)
  })

  test('separate credentials from requests', async () => {
    const wrong = createClient({ url: service.url, key: 'wrong' })
    const error = await failure(wrong.may({ Person: 'ann' }, 'drive', { Car: 'c1' }))
    expect(error).toBeInstanceOf(NotAuthorizedError)
    expect([error.status, (error as NotAuthorizedError).challenge]).toEqual([401, expect.stringContaining('Bearer')])
    const { key } = await service.addAgent('capture-only', ['Capture'])
    const forbidden = createClient({ url: service.url, key })
    expect((await failure(forbidden.may({ Person: 'ann' }, 'drive', { Car: 'c1' }))).message).toContain(
      'insufficient API access',
    )
  })

  test('refuse invalid references, addresses, keys and page sizes', async () => {
    await expect(client.may({ Person: 'a', Car: 'b' }, 'drive', { Car: 'c' })).rejects.toThrow(
      'subject: expected { TYPE: ID } or { type, id }',
    )
    await expect(client.records('q', {}, { pageSize: 0 }).next()).rejects.toThrow(
      'pageSize: expected an integer from 1',
    )
    expect(() => createClient({ url: 'localhost:8080', key: 'k' })).toThrow('url: expected an address with http')
    expect(() => createClient({ url: 'http://a/?x=1', key: 'k' })).toThrow('url: expected no query')
    expect(() => createClient({ url: 'http://a', key: '' })).toThrow('key: expected an agent key')
  })
})

/** A server that answers in turn; the last answer is repeated. */
async function withAnswers(
  answers: readonly (() => Response | Promise<Response>)[],
  use: (url: string, requests: readonly number[]) => Promise<void>,
): Promise<void> {
  const requests: number[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      requests.push(performance.now())
      return (answers[Math.min(requests.length, answers.length) - 1] as () => Response)()
    },
  })
  try {
    await use(server.url.href, requests)
  } finally {
    await server.stop(true)
  }
}

const permit = (): Response => Response.json({ decision: true })
const busy = (): Response => new Response('<html>', { status: 503, headers: { 'retry-after': '1' } })
const limited = (): Response =>
  Response.json({ message: 'Too Many Requests' }, { status: 429, headers: { 'retry-after': '0' } })
const down = (): Response => new Response('', { status: 502 })
const may = (url: string, more: object = {}, signal?: AbortSignal): Promise<boolean> =>
  createClient({ url, key: 'k', ...more }).may({ Person: 'a' }, 'b', { Car: 'c' }, undefined, { signal })

describe('repetitions of a client', () => {
  test('wait as long as the service demands', async () => {
    await withAnswers([busy, permit], async (url, requests) => {
      expect(await may(url)).toBe(true)
      expect((requests[1] as number) - (requests[0] as number)).toBeGreaterThan(990)
    })
  })

  test('end after the given number', async () => {
    await withAnswers([down], async (url, requests) => {
      expect(await failure(may(url))).toBeInstanceOf(UnavailableError)
      expect(requests).toHaveLength(3)
      expect(await failure(may(url, { retries: 0 }))).toMatchObject({ status: 502 })
      expect(requests).toHaveLength(4)
    })
  })

  test('include writes of the graph, but no knowledge query that may have been executed', async () => {
    const written = (): Response => Response.json({ results: [{ id: 'i' }] })
    await withAnswers([down, written], async (url) => {
      const { nodes } = await createClient({ url, key: 'k' }).write({ nodes: [ann] })
      expect(nodes).toEqual([{ id: 'i' }])
    })
    await withAnswers([down, permit], async (url, requests) => {
      expect((await failure(createClient({ url, key: 'k' }).execute({ id: 'q' }))).status).toBe(502)
      expect(requests).toHaveLength(1)
    })
    await withAnswers([limited, () => Response.json({ data: [] })], async (url) => {
      expect(await createClient({ url, key: 'k' }).execute({ id: 'q' })).toEqual({ data: [] })
    })
  })

  test('do not wait for a time that is too long', async () => {
    const later = (): Response => new Response('', { status: 429, headers: { 'retry-after': '3600' } })
    await withAnswers([later], async (url, requests) => {
      const error = await failure(may(url))
      expect(error).toBeInstanceOf(TooManyRequestsError)
      expect([error.retryAfterMs, requests.length]).toEqual([3_600_000, 1])
    })
  })

  test('end with the signal of the caller, also during a pause', async () => {
    await withAnswers([busy], async (url) => {
      const aborter = new AbortController()
      const asked = may(url, {}, aborter.signal)
      setTimeout(() => aborter.abort(new Error('enough')), 50)
      await expect(asked).rejects.toThrow('enough')
    })
  })

  test('follow a time limit of one attempt', async () => {
    const never = (): Promise<Response> => new Promise(() => undefined)
    // A busy machine may also be late with a later attempt.
    await withAnswers([never, permit], async (url) =>
      expect(await may(url, { timeoutMs: 1000, retries: 10 })).toBe(true),
    )
    await withAnswers([never], async (url) => {
      const error = await failure(may(url, { timeoutMs: 50, retries: 0 }))
      expect([error.status, error.message]).toEqual([null, expect.stringContaining('no answer in time')])
    })
  })

  test('do not follow redirects, which could lead the key to another host', async () => {
    let stolen = 0
    const steal = (): Response => {
      stolen += 1
      return permit()
    }
    await withAnswers([steal], async (thief) => {
      await withAnswers([() => Response.redirect(thief, 307)], async (url) => {
        expect((await failure(may(url))).message).toContain('status 307')
        expect(stolen).toBe(0)
      })
    })
  })

  test('do not take another answer for a permit', async () => {
    for (const answer of ['{"decision":"true"}', '{"decision":1}', '{}', '[]'])
      await withAnswers([() => new Response(answer)], async (url) => expect(await may(url)).toBe(false))
    await withAnswers([() => new Response('<html>')], async (url) =>
      expect((await failure(may(url))).message).toContain('not JSON'),
    )
    await withAnswers([() => Response.json({ evaluations: [{ decision: true }] })], async (url) => {
      const check = { subject: { Person: 'a' }, action: 'b', resource: { Car: 'c' } }
      const asked = createClient({ url, key: 'k' }).mayAll([check, check])
      expect((await failure(asked)).message).toContain('expected 2 decisions, found 1')
    })
  })
})

async function failure(promise: Promise<unknown>): Promise<ClientError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ClientError)) throw new Error(`expected a ClientError, found ${String(error)}`)
  return error
}
