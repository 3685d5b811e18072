// The two formats of /metrics, chosen by the Accept header, and the histogram of decisions by route.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

/** As Prometheus 2 and 3 send it. */
const PROMETHEUS_2 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'

describe('metrics', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ metricsAccess: 'public' })
    await service.addPolicy({ name: 'owners', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
  })
  afterAll(() => service?.stop())

  const scrape = (accept?: string) => service.send('/metrics', { headers: accept === undefined ? {} : { accept } })

  it.each([
    ['Prometheus 2', PROMETHEUS_2],
    ['Prometheus 3', PROMETHEUS_3],
    ['a client without a version', 'application/openmetrics-text'],
  ])('are OpenMetrics for %s', async (_, accept) => {
    const { headers, text } = await scrape(accept)
    expect(headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(headers.get('vary')).toBe('Accept')
    expect(text).toMatch(/\n# TYPE verdigraph_decisions counter\n/)
    expect(text).toMatch(/\n# EOF\n$/)
  })

  it.each([
    ['no header', undefined],
    ['any type', '*/*'],
    ['text', 'text/plain'],
    ['a preference for text', 'application/openmetrics-text;q=0.4, text/plain;q=0.5'],
    ['a refusal of OpenMetrics', 'application/openmetrics-text;q=0'],
    ['a version that does not exist', 'application/openmetrics-text;version=2.0.0'],
    ['a broken header', ';;q=,,application/openmetrics-text;q=x'],
  ])('are text for %s', async (_, accept) => {
    const { headers, text } = await scrape(accept)
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(text).toMatch(/\n# TYPE verdigraph_decisions_total counter\n/)
    expect(text).not.toContain('# EOF')
  })

  it('count the durations of decisions by route, each item of a batch once', async () => {
    const subject = { type: 'Person', id: 'ann' }
    const action = { name: 'drive' }
    const resource = { type: 'Car', id: 'c1' }
    await service.ask('/access/v1/evaluation', { subject, action, resource })
    const evaluations = [{ resource }, { resource }, { resource }]
    await service.ask('/access/v1/evaluations', { subject, action, evaluations })
    await service.ask('/access/v1/search/resource', { subject, action, resource: { type: 'Car' } })
    const { text } = await scrape()
    const counts = text.matchAll(/^verdigraph_decision_duration_seconds_count\{http_route="([^"]+)"\} (\d+)$/gm)
    expect(Object.fromEntries(Array.from(counts, ([, route, count]) => [route, Number(count)]))).toEqual({
      '/access/v1/evaluation': 1,
      '/access/v1/evaluations': 3,
      '/access/v1/search/resource': 1,
    })
    const bounds = [
      ...text.matchAll(/_decision_duration_seconds_bucket\{http_route="\/access\/v1\/evaluation",le="([^"]+)"/g),
    ]
    expect([bounds[0]?.[1], bounds.at(-2)?.[1]]).toEqual(['0.00005', '1'])
  })
})
