// Which parameters of a request are converted and refused: those that a policy reads, and no others.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EvaluationRequest } from '../../../src/pdp/decision-deps.ts'
import { bindParameters, policiesFor } from '../../../src/pdp/evaluation-inputs.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
  const pattern = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
  await service.addPolicy({ name: 'plain', actions: ['plain'], cypher: pattern })
  await service.addPolicy({ name: 'one', actions: ['one', 'both'], cypher: `${pattern} WHERE resource.wheels >= $min` })
  await service.addPolicy({
    name: 'two',
    actions: ['two', 'both'],
    cypher: `${pattern} WHERE resource.wheels <= $max AND $action_properties.soft`,
  })
  await service.addPolicy({
    name: 'ends',
    actions: ['ends'],
    cypher: `${pattern} WHERE $subject_external_id <> $resource_external_id`,
    filter: { operator: '=', attribute: '$subject_type', value: '$kind' },
  })
  await service.addPolicy({
    name: 'token',
    actions: ['token'],
    version: '2.0-kbac',
    cypher: `${pattern} WHERE $subject_id = 'x' AND $token.a = 1 AND $svc_token.b = 1 AND $_appId = 'x'`,
  })
})

afterAll(() => service?.stop())

const input = { min: 1, max: 5, kind: 'Person', subject_id: 'sent', unread: { deep: [1] } }

function bind(action: string, input_params: Record<string, unknown> = input, more: Partial<EvaluationRequest> = {}) {
  const { decisions, projectId, agentId, applicationId } = { ...service, decisions: service.app.decisions }
  const request: EvaluationRequest = {
    subject: { type: 'Person', id: 'ann' },
    action: { name: action },
    resource: { type: 'Car', id: null },
    context: { input_params },
    ...more,
  }
  const caller = {
    kind: 'agent',
    projectId,
    agentId,
    applicationId,
    permissions: new Set<never>(),
    user: null,
  } as const
  const found = policiesFor(decisions, projectId, request).grants
  expect(found.length).toBeGreaterThan(0)
  const bound = bindParameters(decisions, caller, request, found)
  return bound.ok ? Object.fromEntries(bound.value) : bound.error
}

const overflow = 99999999999999999999999999n

describe('the bound parameters', () => {
  it('are those that the policies read', () => {
    expect(bind('plain')).toEqual({})
    expect(bind('one')).toEqual({ min: 1 })
    expect(bind('two')).toEqual({ max: 5, action_properties: new Map() })
    expect(bind('both')).toEqual({ min: 1, max: 5, action_properties: new Map() })
  })

  it('contain the known entities, and the parameters of the service', () => {
    expect(bind('ends')).toEqual({ subject_external_id: 'ann', subject_type: 'Person', kind: 'Person' })
    const resource = { type: 'Car', id: 'c1' }
    expect(bind('ends', {}, { resource })).toEqual({
      subject_external_id: 'ann',
      resource_external_id: 'c1',
      subject_type: 'Person',
    })
    expect(bind('token')).toEqual({ subject_id: 'sent', token: new Map(), svc_token: new Map(), _appId: null })
  })

  it('contain no inherited members', () => {
    expect(bind('one', JSON.parse('{"__proto__": {"min": 1}}'))).toEqual({})
    expect(bind('one', Object.create({ min: 1 }) as Record<string, unknown>)).toEqual({})
  })

  it('are refused if a policy reads a value that no graph can store, each once', () => {
    const refused = (...issues: string[]) => ({ kind: 'invalid', issues })
    expect(bind('one', { ...input, unread: overflow, max: overflow })).toEqual({ min: 1 })
    expect(bind('both', { ...input, min: overflow })).toEqual(refused("missing or wrong input params, 'min'"))
    const action = { name: 'two', properties: { soft: overflow } }
    expect(bind('two', input, { action })).toEqual(refused('action.properties: expected values that a graph can store'))
    expect(bind('one', input, { action: { ...action, name: 'one' } })).toEqual({ min: 1 })
  })

  it('are converted once for all items of a batch that share them', () => {
    const shared = { min: [1, 2], max: 5 }
    const first = bind('one', shared) as { min: unknown }
    const second = bind('both', shared) as { min: unknown }
    expect(first.min).toEqual([1, 2])
    expect(second.min).toBe(first.min)
  })
})

describe('input parameters that no policy reads', () => {
  it('are still refused for a reserved name and for a text that is too long', () => {
    expect(bind('plain', { token: 1 })).toEqual({
      kind: 'invalid',
      issues: ['context.input_params.token: reserved, filled by the service'],
    })
    expect(bind('plain', { unread: ['x'.repeat(65_537)] })).toEqual({
      kind: 'invalid',
      issues: ['context.input_params.unread[0]: expected at most 65536 characters, found 65537'],
    })
  })
})
