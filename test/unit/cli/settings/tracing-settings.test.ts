// The settings of traces have the environment variables that OpenTelemetry defines. What is not executed is refused.
import { describe, expect, it } from 'vitest'
import { unknownVariables } from '../../../../src/cli/settings/environment-variables.ts'
import { formatSettings } from '../../../../src/cli/settings/format-settings.ts'
import { readSettings, resolveSettings } from '../../../../src/cli/settings/read-settings.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

describe('the variables of OpenTelemetry', () => {
  it('are settings', () => {
    const read = readSettings({
      environment: {
        ...endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc, x-tenant=blue',
        OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
        OTEL_SERVICE_NAME: 'pdp',
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
        OTEL_BSP_MAX_QUEUE_SIZE: '10',
      },
    })
    expect(read.ok && read.value).toMatchObject({
      otlpEndpoint: 'http://collector:4318',
      otlpHeaders: 'authorization=Bearer%20abc, x-tenant=blue',
      otlpTimeoutMs: 3000,
      otelServiceName: 'pdp',
      tracesSampler: 'parentbased_traceidratio',
      tracesSamplerShare: 0.25,
      spanQueueMax: 10,
    })
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'expected `http/json`, found `grpc`'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf', 'expected `http/json`, found `http/protobuf`'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /^expected `always_on` or .*, found `jaeger_remote`$/],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'expected a number from 0 to 1, found `1.5`'],
    ['OTEL_TRACES_SAMPLER_ARG', '-1', 'expected a number from 0 to 1, found `-1`'],
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'expected `otlp` or `none`, found `zipkin`'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', /^expected an http or https URL/],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a', /^expected pairs such as/],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a b=c', /^expected pairs such as/],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=%zz', /^expected pairs such as/],
  ])('%s is refused with the value %s', (name, value, expected) => {
    const read = readSettings({ environment: { [name]: value } })
    const [error = '', ...others] = read.ok ? [] : read.error
    expect(others).toEqual([])
    expect(error.startsWith(`${name}: `)).toBe(true)
    const message = error.slice(name.length + 2)
    if (typeof expected === 'string') expect(message).toBe(expected)
    else expect(message).toMatch(expected)
  })

  it.each(['a=b\n', 'x-evil=a%0d%0aHost:b', '=b', 'authorization'])(
    'headers are refused and not repeated: %s',
    (value) => {
      const read = readSettings({ environment: { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: `${value},k=my-secret` } })
      const expected = value === 'a=b\n' ? [] : [expect.stringMatching(/^OTEL_EXPORTER_OTLP_HEADERS: expected pairs/)]
      expect(read.ok ? [] : read.error).toEqual(expected)
      expect(JSON.stringify(read.ok ? '' : read.error)).not.toContain('my-secret')
    },
  )

  it('headers have no effect without an endpoint, which is an error', () => {
    expect(readSettings({ environment: { OTEL_EXPORTER_OTLP_HEADERS: 'a=b' } })).toEqual({
      ok: false,
      error: ['otlp_headers: has no effect without otlp_endpoint or otlp_traces_endpoint'],
    })
  })

  it('headers are masked when settings are printed', () => {
    const resolved = resolveSettings({ environment: { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a=my-secret' } })
    if (!resolved.ok) throw new Error(resolved.error.join())
    const text = formatSettings(resolved.value, {}, { all: true, json: false }).join('\n')
    expect(text).not.toContain('my-secret')
    expect(text).toMatch(/otlp_headers +\*{8} +OTEL_EXPORTER_OTLP_HEADERS/)
  })

  it('that are not executed are refused while requests are traced, and those about other signals are ignored', () => {
    const given = {
      OTEL_PROPAGATORS: 'tracecontext,baggage',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem',
      OTEL_SPAN_EVENT_COUNT_LIMIT: '5',
      OTEL_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://x',
      OTEL_TRACES_SAMPLER: 'always_on',
    }
    expect(unknownVariables({ ...endpoint, ...given })).toEqual([
      'OTEL_EXPORTER_OTLP_CERTIFICATE: this variable of OpenTelemetry is not supported; remove it',
      'OTEL_EXPORTER_OTLP_COMPRESSION: expected `none`, found `gzip`',
      'OTEL_PROPAGATORS: expected `tracecontext`, found `tracecontext,baggage`',
      'OTEL_SPAN_EVENT_COUNT_LIMIT: this variable of OpenTelemetry is not supported; remove it',
    ])
    expect(unknownVariables({ ...endpoint, OTEL_PROPAGATORS: 'tracecontext' })).toEqual([])
    expect(unknownVariables(given)).toEqual([])
  })
})
