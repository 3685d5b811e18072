// A service with an agent for entity matching, and persons and customers of whom most are the same entities.
import type { AppOverrides } from '../../src/app/overrides.ts'
import type { Settings } from '../../src/settings.ts'
import { type ContextService, startContextService } from './context-service.ts'
import { ManualClock } from './manual-clock.ts'
import type { TestResponse } from './service.ts'

export interface FoundRelationship {
  readonly source: string
  readonly target: string
  readonly properties: Readonly<Record<string, unknown>>
}

export interface MatchingService extends ContextService {
  readonly clock: ManualClock
  /** Of an agent with EntityMatching. */
  readonly matchingKey: string
  /** With a token of the present time. */
  configure(method: string, path: string, body?: unknown): Promise<TestResponse>
  /** With the agent's key, below the path of a pipeline. */
  ask(pipeline: string, path: string, body?: unknown, method?: string): Promise<TestResponse>
  addPipeline(name: string, members?: object): Promise<string>
  readPipeline(id: string): Promise<Record<string, unknown>>
  /** Requests a run and executes it. */
  match(pipeline: string, body?: object): Promise<void>
  /** The relationships of the pipeline, from the lines of its report. */
  matches(pipeline: string): Promise<FoundRelationship[]>
}

const START_MS = Date.parse('2026-01-01T06:00:00Z')

export async function startMatchingService(
  settings: Partial<Settings> = {},
  overrides: AppOverrides = {},
): Promise<MatchingService> {
  const clock = new ManualClock(START_MS)
  const setup = await startContextService(settings, { clock, ...overrides })
  const { service } = setup
  const { key: matchingKey } = await service.addAgent('matching', ['EntityMatching'])
  const configure: MatchingService['configure'] = async (method, path, body) => {
    const token = await service.app.issueAdminToken(3600)
    return service.send(`/configs/v1/${path}`, { method, headers: { authorization: `Bearer ${token}` }, body })
  }
  const ask: MatchingService['ask'] = (pipeline, path, body, method) =>
    service.send(`/entity-matching/v1/pipelines/${pipeline}/${path}`, {
      headers: { 'x-svc-clientkey': matchingKey },
      body,
      ...(method !== undefined && { method }),
    })
  return {
    ...setup,
    clock,
    matchingKey,
    configure,
    ask,
    async addPipeline(name, members = {}) {
      const { status, body, text } = await configure('POST', 'entity-matching-pipelines', {
        project_id: service.projectId,
        name,
        node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
        similarity_score_cutoff: 0.5,
        ...members,
      })
      if (status !== 201) throw new Error(text)
      return body.id as string
    },
    readPipeline: async (id) => (await configure('GET', `entity-matching-pipelines/${id}`)).body,
    async match(pipeline, body = { similarity_score_cutoff: 0.5 }) {
      const { status, text } = await ask(pipeline, 'runs', body)
      if (status !== 202) throw new Error(text)
      await service.app.matchEntities()
    },
    async matches(pipeline) {
      const { status, text } = await service.send(`/entity-matching/v1/pipelines/${pipeline}/report`, {
        headers: { 'x-svc-clientkey': matchingKey, accept: 'application/x-ndjson' },
      })
      if (status !== 200) throw new Error(text)
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
      const end = lines.pop()
      if (end?.matched_pairs !== lines.length) throw new Error(`the last line is ${JSON.stringify(end)}`)
      return lines.map(({ source_external_id, target_external_id, ...properties }) => ({
        source: source_external_id as string,
        target: target_external_id as string,
        properties,
      }))
    },
  }
}

const FIRST = ['Anna', 'Bertil', 'Cecilia', 'David', 'Edith', 'Fredrik', 'Greta', 'Henrik', 'Ingrid', 'Johan']
const LAST = ['Lindqvist', 'Bergström', 'Holmgren', 'Sandberg', 'Wikander', 'Ekholm', 'Nyberg', 'Forsell']

/** A property of a captured node. */
export const property = (type: string, value: unknown): object => ({ type, value })

/** The data of an entity: all members differ between entities, except for parts of the names. */
export function entity(index: number): {
  readonly name: string
  readonly email: string
  readonly phone: string
  readonly birth_date: string
} {
  const first = FIRST[index % FIRST.length] as string
  const last = LAST[Math.floor(index / FIRST.length) % LAST.length] as string
  const day = 1 + ((index * 7) % 28)
  const month = 1 + ((index * 5) % 12)
  const two = (number: number): string => String(number).padStart(2, '0')
  return {
    name: `${first} ${last}`,
    email: `${first}.${last}${index}@example.org`.toLowerCase(),
    phone: `+4670${String(1_000_000 + index * 7919).slice(-7)}`,
    birth_date: `${1950 + (index % 50)}-${two(month)}-${two(day)}`,
  }
}

/** The nodes of the entities of a range. `prefix`: of the external ids. */
export function nodesOf(type: string, prefix: string, from: number, to: number): object[] {
  return Array.from({ length: to - from }, (_, i) => ({
    type,
    external_id: `${prefix}${from + i}`,
    properties: Object.entries(entity(from + i)).map(([name, value]) => property(name, value)),
  }))
}
