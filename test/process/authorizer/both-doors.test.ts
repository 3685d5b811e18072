// The authorizer in process and the service over HTTP give the same answer to the same request, over all scenarios: decisions,
// batches, searches, explanations with rows and reads of each operator, and errors. The requests are random, from the names in the scenario and some that it does not have.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Authorizer, EvaluationInput } from '../../../src/authorizer/authorizer.ts'
import { AuthorizerError } from '../../../src/authorizer/authorizer-error.ts'
import { Float } from '../../../src/kernel/float.ts'
import { writeJson } from '../../../src/kernel/json/json.ts'
import { policyHeader } from '../../../src/policy/policy-header.ts'
import { loadScenario } from '../../../src/scenarios/load-scenario.ts'
import { openScenario } from '../../../src/scenarios/run.ts'
import type { ScenarioFile } from '../../../src/scenarios/scenario.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { startService, type TestService } from '../../support/service.ts'

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const REQUESTS = 30
/** A stop of the process must not end a decision. The service of the tests has the same limits. */
const patient = { ...defaultSettings, decisionTimeMs: 60_000, batchTimeMs: 60_000 }

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const folder = join(import.meta.dirname, '..', '..', 'scenarios')
const scenarios = await Promise.all(
  readdirSync(folder)
    .filter((name) => name.endsWith('.scenario.yaml'))
    .sort()
    .map((name) => loadScenario(join(folder, name))),
)

/** The answer of both doors: a status, and the body or the errors. */
interface DoorAnswer {
  readonly status: number
  readonly body: unknown
}

function requestsOf(scenario: ScenarioFile, random: () => number): EvaluationInput[] {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const nodes = scenario.items.nodes ?? []
  const headers = scenario.ownDocuments.map(({ body }) => policyHeader(body))
  const idsOf = (type: string): string[] => [
    ...nodes.flatMap((node) => (node.type === type ? node.external_id : [])),
    'absent',
  ]
  const asked = [...scenario.decisions, ...scenario.resources, ...scenario.subjects].map(({ params }) => params)
  const values: readonly unknown[] = [
    0,
    1,
    4,
    new Float(4),
    4.5,
    'red',
    '',
    true,
    null,
    [1, 'red'],
    { a: 1 },
    2n ** 60n,
  ]
  const paramsOf = (): Record<string, unknown> => {
    const params: Record<string, unknown> = {
      ...(asked.length > 0 && random() < 0.7 && pick(asked as Record<string, unknown>[])),
    }
    const names = [...Object.keys(params), 'min', 'token', 'n']
    if (random() < 0.4) params[pick(names)] = pick(values)
    return params
  }
  return Array.from({ length: REQUESTS }, () => {
    const { subjectType, actions, resourceType } = pick(headers)
    const type = random() < 0.95 ? resourceType : 'Unknown'
    return {
      subject: { type: subjectType, id: pick(idsOf(subjectType)) },
      action: { name: random() < 0.95 ? pick(actions) : 'unknown' },
      resource: { type, id: pick(idsOf(type)), ...(random() < 0.2 && { properties: { size: pick(values) } }) },
      ...(random() < 0.9 && { context: { input_params: paramsOf() } }),
    }
  })
}

/** The answer in process as the status and the body of a response. */
function inProcess(ask: () => unknown): DoorAnswer {
  try {
    return { status: 200, body: JSON.parse(writeJson(ask())) }
  } catch (error) {
    if (!(error instanceof AuthorizerError)) throw error
    return { status: error.status, body: error.issues }
  }
}

/** Without what differs between two runs: ids, times and page tokens. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => !['duration_ms', 'time_ms', 'next_token'].includes(name))
  const isPolicy = 'outcome' in value && 'version' in value
  return Object.fromEntries(
    members.filter(([name]) => !(isPolicy && name === 'id')).map(([name, member]) => [name, comparable(member)]),
  )
}

describe(`the authorizer and the service (SEED=${SEED})`, () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ parameterMask: 'none' }, { sync: false, log: () => {} })
  })
  afterAll(() => service.stop())

  async function create(kind: string, body: object): Promise<Record<string, string>> {
    const created = await service.configure('POST', kind, body)
    if (created.status !== 201) throw new Error(created.text)
    return created.body as Record<string, string>
  }

  /** A project with the policies and the graph of the scenario. Returns the key of an agent of it. */
  async function serve({ name, ownDocuments, items }: ScenarioFile): Promise<string> {
    const project_id = (
      await create('projects', { organization_id: service.app.organizationId, name: `s-${name}`, region: 'local' })
    ).id
    const status = async () => (await service.configure('GET', `projects/${project_id}`)).body.ikg_status
    while ((await status()) === 'PENDING') await Bun.sleep(5)
    const application_id = (await create('applications', { project_id, name: 'test' })).id
    const api_permissions = ['Authorization', 'Capture', 'ReadAuthZConfigs']
    const application_agent_id = (await create('application-agents', { application_id, name: 'test', api_permissions }))
      .id
    const key = (await create('application-agent-credentials', { application_agent_id })).api_key as string
    for (const document of ownDocuments) {
      await create(document.kind, { project_id, name: document.name, ...document.body })
    }
    const headers = { 'x-svc-clientkey': key }
    for (const list of ['nodes', 'relationships'] as const) {
      if ((items[list] ?? []).length === 0) continue
      const written = await service.send(`/capture/v1/${list}`, { raw: writeJson({ [list]: items[list] }), headers })
      if (written.status !== 200) throw new Error(written.text)
    }
    return key
  }

  async function overHttp(key: string, path: string, body: unknown): Promise<DoorAnswer> {
    const answer = await service.send(`/access/v1/${path}`, {
      raw: writeJson(body),
      headers: { 'x-svc-clientkey': key },
    })
    return answer.status === 200
      ? { status: 200, body: answer.body }
      : { status: answer.status, body: answer.body.errors ?? [] }
  }

  test.each(scenarios.map((scenario, i) => ({ name: scenario.name, scenario, i })))(
    'answer alike in the scenario $name',
    async ({ scenario, i }) => {
      const key = await serve(scenario)
      const authorizer: Authorizer = await openScenario(scenario, undefined, undefined, patient)
      const random = randomOf(SEED + i)
      try {
        const requests = requestsOf(scenario, random)
        const granted: boolean[] = []
        const compare = async (path: string, body: object, ask: () => unknown): Promise<void> => {
          const [http, here] = [await overHttp(key, path, body), inProcess(ask)]
          expect(comparable(here), `${path} ${writeJson(body)}`).toEqual(comparable(http))
        }
        for (const request of requests) {
          const { subject, action, resource, context } = request
          const toType = {
            subject,
            action,
            resource: { type: resource.type },
            ...(context && { context }),
            page: { limit: 3 },
          }
          const ofType = { subject: { type: subject.type }, action, resource, ...(context && { context }) }
          const any = { subject, resource, ...(context && { context }) }
          await compare('evaluation', request, () => authorizer.evaluate(request))
          await compare('explain', request, () => authorizer.explain(request))
          await compare('search/resource', toType, () => authorizer.search.resource(toType))
          await compare('search/subject', ofType, () => authorizer.search.subject(ofType))
          await compare('search/action', any, () => authorizer.search.action(any))
          granted.push(inProcess(() => authorizer.evaluate(request)).status === 200)
        }
        const batch = { evaluations: requests }
        await compare('evaluations', batch, () => authorizer.evaluations(batch))
        expect(granted, 'some requests are answered').toContain(true)
      } finally {
        await authorizer.close()
      }
    },
  )
})
