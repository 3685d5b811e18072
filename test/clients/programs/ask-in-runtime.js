// Calls every method of `verdigraph/client`, in a browser and in an edge runtime. Returns what the test compares.
import { createClient } from './client/index.js'

const ann = { type: 'Person', external_id: 'ann' }
const cars = Array.from({ length: 300 }, (_, seats) => ({
  type: 'Car',
  external_id: `🚗${seats}`,
  properties: [{ type: 'seats', value: seats }],
}))

async function collect(values) {
  const all = []
  for await (const value of values) all.push(value)
  return all
}

/** The class and the members of an error, as the caller sees them. */
function described(error) {
  const { name, status, requestId, retryAfterMs, message } = error
  return { name, status, hasRequestId: typeof requestId === 'string', retryAfterMs, message }
}

export async function ask({ url, key, token, failingUrl }) {
  const client = createClient({ url, key })
  const owned = cars.map(({ type, external_id }) => ({ source: ann, type: 'OWNS', target: { type, external_id } }))
  const written = await client.write({ nodes: [{ ...ann, is_identity: true }, ...cars], relationships: owned })
  const may = (car, min, options) => client.may({ Person: 'ann' }, 'drive', { Car: car }, { min }, options)
  const checks = cars.map(({ external_id }) => ({
    subject: { Person: 'ann' },
    action: 'drive',
    resource: { Car: external_id },
    params: { min: 100 },
  }))
  const failing = createClient({ url: failingUrl, key })
  const ended = new AbortController()
  const aborted = failing.may({ Person: 'ann' }, 'silence', { Car: 'c' }, undefined, { signal: ended.signal })
  setTimeout(() => ended.abort(new Error('enough')), 50)
  return {
    written: [written.nodes.length, written.relationships.length],
    may: [await may('🚗5', 5), await may('🚗5', 6)],
    permits: (await client.mayAll(checks)).filter((decision) => decision).length,
    resources: (await collect(client.resources({ Person: 'ann' }, 'drive', 'Car', { min: 100 }))).length,
    subjects: await collect(client.subjects('Person', 'drive', { Car: '🚗5' }, { min: 5 })),
    actions: await collect(client.actions({ Person: 'ann' }, { Car: '🚗5' }, { min: 5 })),
    records: (await collect(client.records('mine', undefined, { token, pageSize: 70 }))).length,
    why: (await client.why({ Person: 'ann' }, 'drive', { Car: '🚗5' }, { min: 6 })).policies.map(
      ({ outcome }) => outcome,
    ),
    wrong: await may('').catch(described),
    unknown: await createClient({ url, key: 'wrong' }).may({ Person: 'a' }, 'b', { Car: 'c' }).catch(described),
    // Answers 503 with `Retry-After: 1`, and then a permit.
    repeated: await failing.may({ Person: 'ann' }, 'busy', { Car: 'c' }),
    late: await createClient({ url: failingUrl, key, timeoutMs: 100, retries: 0 })
      .may({ Person: 'ann' }, 'silence', { Car: 'c' })
      .catch(described),
    aborted: await aborted.catch(({ message }) => message),
    redirected: await failing.may({ Person: 'ann' }, 'redirect', { Car: 'c' }).catch(described),
  }
}
