// A corrupted value fails every request that reads it: callers get no decision, and the log reports the place once.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, createApp } from '../../../src/app.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let app: App
let url: string
let nowMs = systemClock.now()
const log: LogEntry[] = []

beforeAll(async () => {
  service = await startService({}, { log: () => {} })
  await service.addPolicy({
    name: 'drive',
    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.plate <> "x"',
  })
  const car = { type: 'Car', external_id: 'c', properties: [{ type: 'plate', value: 'plate-to-be-damaged' }] }
  await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'p' }, car] })
  const end = (type: string, external_id: string) => ({ type, external_id })
  const relationships = [{ source: end('Person', 'p'), type: 'OWNS', target: end('Car', 'c') }]
  await service.ask('/capture/v1/relationships', { relationships })
  await service.app.close()
  const file = join(service.dataDir, 'projects', service.projectId.slice('gid:'.length), 'default', 'data.mdb')
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf('to-be-damaged'); at >= 0; at = bytes.indexOf('to-be-damaged')) bytes[at] = 0x54
  writeFileSync(file, bytes)
  app = await createApp(service.app.settings, { log: (entry) => log.push(entry), clock: { now: () => nowMs } })
  url = (await app.listen()).url
})

afterAll(async () => {
  await app?.close()
  rmSync(service.dataDir, { recursive: true, force: true })
})

const question = { subject: { type: 'Person', id: 'p' }, action: { name: 'drive' }, resource: { type: 'Car', id: 'c' } }

async function ask(path: string, body: unknown): Promise<unknown> {
  const headers = { 'x-svc-clientkey': service.key, 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return [response.status, await response.json()]
}

const told = {
  level: 'error',
  message: 'a request could not be served',
  reason: expect.stringMatching(/^the knowledge graph of this project is damaged: \S+/),
}

describe('a corrupted value', () => {
  it('prevents decisions, and is logged once however often it is read', async () => {
    const damaged = 'the knowledge graph of this project is damaged'
    const denied = { decision: false, context: { reason: `unavailable: ${damaged}` } }
    expect(await ask('/access/v1/evaluations', { evaluations: [question, question] })).toEqual([
      200,
      { evaluations: [denied, denied] },
    ])
    for (let i = 0; i < 3; i++) {
      expect(await ask('/access/v1/evaluation', question)).toEqual([503, { message: damaged }])
    }
    expect(log).toEqual([told])
  })

  it('is logged again while it is still read, with a count', async () => {
    nowMs += 60_000
    await ask('/access/v1/evaluation', question)
    const request = { method: 'POST', path: '/access/v1/evaluation', requestId: expect.any(String) }
    // Two items, three requests, and this one; the first was reported when it occurred.
    expect(log.slice(1)).toEqual([{ ...told, ...request, times: 5 }])
  })
})
