// The public AuthZEN suites (interop scenarios and conformance modules) over HTTP. They are expected next to the
// checkout and are not part of it; without them the tests are skipped.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

const folder = join(import.meta.dirname, '..', '..', '..', '..', 'shared', 'authzen')
const suites = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
it.skipIf(suites.length > 0)(`the AuthZEN suites are skipped: there is no ${folder}`, ({ skip }) => skip())

interface SuiteTestCase {
  readonly id: string
  readonly endpoint: string
  readonly level?: string
  readonly method?: string
  readonly content_type?: string
  readonly credentials?: 'valid' | 'invalid' | 'none'
  readonly raw_body?: string
  readonly request?: unknown
  readonly acceptable_status?: readonly number[]
  readonly compare?: string
  readonly repeat?: number
  readonly send_x_request_id?: string | boolean
  readonly follow_pages?: boolean
  /**
   * The expectation of the final text, where the suite differs
   * (docs/decisions/0006-authzen-status-codes-and-batches.md).
   */
  readonly expected_strict?: Expected
  readonly expected?: Expected
}

interface Expected {
  readonly decision?: boolean
  readonly evaluations?: readonly { readonly decision: boolean }[]
  readonly results?: readonly SuiteEntity[]
}

interface SuiteEntity {
  readonly type?: string
  readonly id?: string
  readonly name?: string
}

interface AuthzenSuite {
  readonly fixture: string
  readonly policy_sets: readonly string[]
  readonly compare?: string
  readonly cases: readonly SuiteTestCase[]
}

interface SuitePolicy {
  readonly name: string
  readonly policy_document: unknown
}

type SuiteFixture = Readonly<Record<string, unknown>>

function read<T>(...path: string[]): T {
  return JSON.parse(readFileSync(join(folder, ...path), 'utf8')) as T
}

async function load(service: TestService, fixture: SuiteFixture, set: string): Promise<void> {
  for (const kind of ['nodes', 'relationships']) {
    const given = fixture[kind] as unknown[] | Record<string, unknown[]>
    const items = Array.isArray(given) ? given : (given[kind] ?? [])
    for (let from = 0; from < items.length; from += 250) {
      const captured = await service.ask(`/capture/v1/${kind}`, { [kind]: items.slice(from, from + 250) })
      expect([captured.status, captured.body.message]).toEqual([200, undefined])
    }
  }
  for (const name of set.split(' + ')) {
    for (const { policy_document, ...envelope } of fixture[name] as SuitePolicy[]) {
      const body = { ...envelope, project_id: service.projectId, policy: JSON.stringify(policy_document) }
      const created = await service.configure('POST', 'authorization-policies', { status: 'ACTIVE', ...body })
      expect([created.status, created.body.errors]).toEqual([201, undefined])
    }
  }
}

function ask(service: TestService, one: SuiteTestCase): Promise<TestResponse> {
  const method = one.method ?? 'POST'
  return service.send(one.endpoint, {
    method,
    headers: {
      'content-type': one.content_type ?? 'application/json',
      ...(one.credentials === 'none'
        ? {}
        : { 'x-svc-clientkey': one.credentials === 'invalid' ? 'not-a-key' : service.key }),
      ...(one.send_x_request_id === undefined ? {} : { 'x-request-id': 'asked-by-the-suite' }),
    },
    ...(method === 'GET' ? {} : { raw: one.raw_body ?? JSON.stringify(one.request) }),
  })
}

/** The last response, with the results of all. */
async function askAllPages(service: TestService, one: SuiteTestCase): Promise<TestResponse> {
  const results: unknown[] = []
  let request = one.request as Record<string, unknown>
  for (;;) {
    const answered = await ask(service, { ...one, request })
    results.push(...((answered.body.results as unknown[] | undefined) ?? []))
    const token = (answered.body.page as { next_token?: string } | undefined)?.next_token
    if (!token) return { ...answered, body: { ...answered.body, results } }
    request = { ...request, page: { token } }
  }
}

function faultOf(one: SuiteTestCase, compare: string, answered: TestResponse): string | null {
  const { status, body, headers } = answered
  const said = `${one.id}: ${status} ${answered.text.slice(0, 200)}`
  if (!(one.acceptable_status ?? [200]).includes(status)) return said
  if (one.send_x_request_id !== undefined && headers.get('x-request-id') !== 'asked-by-the-suite') {
    return `${one.id}: the request id did not come back`
  }
  if (status !== 200 || one.expected === undefined) return null
  const expected = one.expected_strict ?? one.expected
  if (expected.evaluations !== undefined) {
    const decisions = (given: unknown) => (given as { decision: boolean }[]).map(({ decision }) => decision).join()
    return decisions(body.evaluations) === decisions(expected.evaluations) && !('decision' in body) ? null : said
  }
  if (expected.decision !== undefined) {
    return body.decision === expected.decision && !('evaluations' in body) ? null : said
  }
  const name = ({ type, id, name }: SuiteEntity): string => name ?? `${type} ${id}`
  const found = new Set((body.results as SuiteEntity[]).map(name))
  const wanted = new Set((expected.results ?? []).map(name))
  const complete = [...wanted].every((entity) => found.has(entity))
  return complete && (compare.includes('subset') || found.size === wanted.size) ? null : said
}

describe.each(suites)('the AuthZEN suite %s', (file) => {
  const suite = read<AuthzenSuite>(file)
  it.each(suite.policy_sets)('gets the expected answers with %s', async (set) => {
    const service = await startService({}, { sync: false, log: () => {} })
    try {
      await load(
        service,
        read<SuiteFixture>(suite.fixture.startsWith('fixtures') ? '' : 'fixtures', suite.fixture),
        set,
      )
      const faults: string[] = []
      for (const one of suite.cases) {
        // Cases of the level Properties need policies that read the properties of a request.
        if (set === 'policies_core' && one.level !== undefined && one.level !== 'core') continue
        for (let asked = 0; asked < (typeof one.repeat === 'number' ? one.repeat : 1); asked++) {
          const answered = one.follow_pages ? await askAllPages(service, one) : await ask(service, one)
          const fault = faultOf(one, one.compare ?? suite.compare ?? '', answered)
          if (fault !== null) faults.push(fault)
        }
      }
      expect(faults).toEqual([])
    } finally {
      await service.stop()
    }
  })
})
