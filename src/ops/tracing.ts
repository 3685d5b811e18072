// Records spans with the SDK of OpenTelemetry, and sends them as OTLP/JSON over HTTP. This file is only loaded if an endpoint is set. Spans
// that the queue cannot hold are dropped and counted: a collector that is slow or away delays no request.
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  createNoopMeter,
  type MeterProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { assertNever } from '../kernel/assert.ts'
import type { ActiveSpan, SpanAttributes, Tracing } from '../kernel/request/tracing.ts'

/** The samplers of OTEL_TRACES_SAMPLER that are executed. */
type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio'

/** Options of tracing. */
interface TracingOptions {
  /** The URL that spans are sent to. */
  readonly url: string
  /** Sent with each request, for example a token. */
  readonly headers: Readonly<Record<string, string>>
  /** Time limit of a request with its repetitions, milliseconds. */
  readonly timeoutMs: number
  readonly sampler: SamplerName
  /** Share of traces, 0 to 1, for the samplers that have one. */
  readonly ratio: number
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, string>>
  readonly version: string
  /** True: requests come from the serving process and not from clients. */
  readonly isLane: boolean
  /** Spans that wait to be sent. */
  readonly queueMax: number
  readonly batchMax: number
  readonly delayMs: number
  /** Counts spans. */
  readonly count: SpanCounts
  /** Reports that spans could not be sent. `reason` has no header. */
  readonly report: (reason: string) => void
}

/** Counts spans that were sent, and those that were not. */
interface SpanCounts {
  exported(spans: number): void
  /** `reason`: `queue_full`, or `export_failed`. */
  dropped(reason: 'queue_full' | 'export_failed', spans: number): void
}

/** Tracing that can be ended. */
export interface OpenTracing extends Tracing {
  /** Sends the spans that wait, for at most `FLUSH_MS`. */
  close(): Promise<void>
}

/** A stop waits for a collector at most this long, milliseconds. */
const FLUSH_MS = 2000

/** The name of the instrumentation scope. */
const SCOPE = 'verdigraph'

/** Starts tracing. */
export function openTracing(options: TracingOptions): OpenTracing {
  const exporter = countingExporter(options)
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...options.resource }),
    sampler: samplerOf(options),
    spanLimits: { attributeValueLengthLimit: 4096 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: options.queueMax,
        maxExportBatchSize: Math.min(options.batchMax, options.queueMax),
        scheduledDelayMillis: options.delayMs,
        exportTimeoutMillis: options.timeoutMs + 1000,
        selfObsMeterProvider: droppedSpansMeter((spans) => options.count.dropped('queue_full', spans)),
      }),
    ],
  })
  const tracer = provider.getTracer(SCOPE, options.version)
  const current = new AsyncLocalStorage<Span>()
  const requestKind = options.isLane ? SpanKind.INTERNAL : SpanKind.SERVER

  return {
    serve(name, attributes, header, run) {
      const parent = propagator.extract(ROOT_CONTEXT, header, headerGetter)
      const span = tracer.startSpan(name, { kind: requestKind, attributes: cleaned(attributes) }, parent)
      return current.run(span, () => run(new StartedSpan(span)))
    },
    start(name, kind, attributes) {
      const parent = current.getStore()
      if (parent === undefined) return null
      const spanKind = kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL
      const context = trace.setSpan(ROOT_CONTEXT, parent)
      return new StartedSpan(tracer.startSpan(name, { kind: spanKind, attributes: cleaned(attributes) }, context))
    },
    add(name, startMs, endMs, attributes, error) {
      const parent = current.getStore()
      if (parent === undefined || !parent.isRecording()) return
      const context = trace.setSpan(ROOT_CONTEXT, parent)
      const startTime = performance.timeOrigin + startMs
      const span = tracer.startSpan(name, { startTime, attributes: cleaned(attributes()) }, context)
      if (error !== null) fail(span, error)
      span.end(performance.timeOrigin + endMs)
    },
    async close() {
      let timer: ReturnType<typeof setTimeout> | undefined
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FLUSH_MS)
      })
      // The provider waits only until a first batch is refused.
      const stopped = provider.shutdown().catch(() => undefined)
      await Promise.race([stopped.then(() => exporter.idle()), limit])
      clearTimeout(timer)
    },
  }
}

const propagator = new W3CTraceContextPropagator()
const headerGetter = {
  get: (header: (name: string) => string | null, name: string) => header(name) ?? undefined,
  keys: () => [],
}
const headerSetter = { set: (headers: [string, string][], name: string, value: string) => headers.push([name, value]) }

class StartedSpan implements ActiveSpan {
  private readonly span: Span
  private isEnded = false

  constructor(span: Span) {
    this.span = span
  }

  get traceId(): string {
    return this.span.spanContext().traceId
  }

  get isSampled(): boolean {
    return (this.span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0
  }

  get traceparent(): string {
    return this.header('traceparent')
  }

  get tracestate(): string {
    return this.header('tracestate')
  }

  get headers(): readonly (readonly [string, string])[] {
    const headers: [string, string][] = []
    propagator.inject(trace.setSpan(ROOT_CONTEXT, this.span), headers, headerSetter)
    return headers
  }

  private header(name: string): string {
    return this.headers.find(([each]) => each === name)?.[1] ?? ''
  }

  end(error: string | null, attributes: SpanAttributes = {}): void {
    if (this.isEnded) return
    this.isEnded = true
    this.span.setAttributes(cleaned(attributes))
    if (error !== null) fail(this.span, error)
    this.span.end()
  }
}

function fail(span: Span, error: string): void {
  span.setAttribute('error.type', error)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

function cleaned(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Attributes
}

function samplerOf({ sampler, ratio }: TracingOptions): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
    default:
      return assertNever(sampler)
  }
}

/** An exporter that counts what it sends, and that can be waited for. */
interface CountingExporter extends SpanExporter {
  /** Resolves when all batches up to now have been sent or dropped. */
  idle(): Promise<void>
}

/** Sends one batch after another: a stop hands over all at once. Those that wait have at most `queueMax` spans; others are dropped. */
function countingExporter({ url, headers, timeoutMs, queueMax, count, report }: TracingOptions): CountingExporter {
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    concurrencyLimit: 1,
  })
  const send = async (spans: ReadableSpan[]): Promise<ExportResult> => {
    try {
      return await new Promise((resolve) => exporter.export(spans, resolve))
    } catch (failure) {
      return { code: ExportResultCode.FAILED, error: failure as Error }
    }
  }
  let waiting = 0
  let sent: Promise<void> = Promise.resolve()
  return {
    export(spans, done) {
      const end = (result: ExportResult): void => {
        if (result.code === ExportResultCode.SUCCESS) count.exported(spans.length)
        else {
          count.dropped('export_failed', spans.length)
          report(result.error?.message ?? 'unknown error')
        }
        done(result)
      }
      if (waiting + spans.length > queueMax) {
        end({ code: ExportResultCode.FAILED, error: new Error('too many spans wait for the collector') })
        return
      }
      waiting += spans.length
      sent = sent.then(async () => {
        waiting -= spans.length
        end(await send(spans))
      })
    },
    idle: () => sent,
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  }
}

/** The processor reports only to meters how many spans its queue could not hold. */
function droppedSpansMeter(onDropped: (spans: number) => void): MeterProvider {
  const noop = createNoopMeter()
  const meter: ReturnType<MeterProvider['getMeter']> = Object.assign(Object.create(noop), {
    createCounter: (...named: Parameters<typeof noop.createCounter>) =>
      named[0] === 'otel.sdk.processor.span.processed'
        ? {
            add(spans: number, attributes: Attributes = {}) {
              if (attributes['error.type'] === 'queue_full') onDropped(spans)
            },
          }
        : noop.createCounter(...named),
  })
  return { getMeter: () => meter }
}
