// The fixture of the conformance checklist: two users, two records, and policies that read properties of the request.
import { expect } from 'vitest'
import type { Settings } from '../../../src/settings.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

export const alice = { type: 'user', id: 'alice' }
export const bob = { type: 'user', id: 'bob' }
export const record = (id: string) => ({ type: 'record', id })
export const read = { name: 'read' }
export const write = { name: 'write' }
export const Q = { subject: alice, action: read, resource: record('record-1') }

/** Path of each endpoint and a body that gets 200. */
export const calls: readonly (readonly [path: string, body: Readonly<Record<string, unknown>>])[] = [
  ['/access/v1/evaluation', Q],
  ['/access/v1/evaluations', { ...Q, evaluations: [{}, { action: write }] }],
  ['/access/v1/search/subject', { ...Q, subject: { type: 'user' } }],
  ['/access/v1/search/resource', { ...Q, resource: { type: 'record' } }],
  ['/access/v1/search/action', { subject: alice, resource: record('record-1') }],
]

export async function capture(service: TestService, nodes: unknown[], relationships: unknown[]): Promise<void> {
  for (const [path, items] of Object.entries({ nodes, relationships })) {
    for (let from = 0; from < items.length; from += 250) {
      const sent = await service.ask(`/capture/v1/${path}`, { [path]: items.slice(from, from + 250) })
      expect([sent.status, sent.body.errors]).toEqual([200, undefined])
    }
  }
}

export function node(type: string, external_id: string, properties: Record<string, unknown> = {}) {
  const list = Object.entries(properties).map(([name, value]) => ({ type: name, value }))
  return { type, external_id, is_identity: type === 'user', properties: list }
}

export function relationship(from: readonly [string, string], type: string, to: readonly [string, string]) {
  const end = ([end, external_id]: readonly [string, string]) => ({ type: end, external_id })
  return { source: end(from), type, target: end(to) }
}

const status = 'coalesce($resource_properties.status, resource.property.status)'
const role = 'coalesce($subject_properties.role, subject.property.role)'

export async function startCertification(settings: Partial<Settings> = {}): Promise<TestService> {
  const service = await startService(settings, { sync: false, log: () => {} })
  await capture(
    service,
    [
      node('user', 'alice'),
      node('user', 'bob', { role: 'admin' }),
      node('record', 'record-1', { status: 'active' }),
      node('record', 'record-2', { status: 'archived' }),
    ],
    [
      relationship(['user', 'alice'], 'OWNS', ['record', 'record-1']),
      relationship(['user', 'alice'], 'OWNS', ['record', 'record-2']),
    ],
  )
  const policy = (name: string, action: string, cypher: string, more: object = {}) =>
    service.addPolicy({
      name,
      version: '2.0-kbac',
      subject: 'user',
      actions: [action],
      resource: 'record',
      cypher,
      ...more,
    })
  const owns = 'MATCH (subject:user)-[:OWNS]->(resource:record)'
  const all = 'MATCH (subject:user), (resource:record)'
  await policy('read-all', 'read', all)
  // A second policy for an action must not duplicate it.
  await policy('read-own', 'read', owns)
  await policy('write-own', 'write', `${owns} WHERE ${status} <> 'archived'`)
  await policy('write-archive', 'write', `${all} WHERE ${role} = 'admin' AND ${status} = 'archived'`)
  await policy('delete-soft', 'delete', `${owns} WHERE $action_properties.soft = true`)
  await policy('limited', 'weigh', `${owns} WHERE 10 <= $max`)
  return service
}

export function idsOf({ body }: TestResponse): string[] {
  return (body.results as { id?: string; name?: string }[]).map(({ id, name }) => id ?? name ?? '').sort()
}

export function decisionsOf({ status: code, body }: TestResponse): unknown {
  if (code !== 200) return code
  return 'evaluations' in body ? (body.evaluations as { decision: boolean }[]).map(({ decision }) => decision) : body
}
