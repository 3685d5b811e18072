// A collector of traces: an HTTP server that decodes OTLP/JSON (OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding") and refuses what
// the encoding does not allow.
import { z } from 'zod'

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`))
const nanoseconds = z.string().regex(/^\d{19}$/)
const anyValue: z.ZodType = z.lazy(() =>
  z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ intValue: z.union([z.int(), z.string().regex(/^-?\d+$/)]) }),
    z.strictObject({ doubleValue: z.number() }),
    z.strictObject({ boolValue: z.boolean() }),
    z.strictObject({ arrayValue: z.strictObject({ values: z.array(anyValue) }) }),
  ]),
)
const attributes = z.array(z.strictObject({ key: z.string().min(1), value: anyValue }))
const span = z.strictObject({
  traceId: hex(32),
  spanId: hex(16),
  parentSpanId: hex(16).optional(),
  traceState: z.string().optional(),
  flags: z.int().optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes,
  droppedAttributesCount: z.literal(0),
  events: z.array(z.unknown()),
  droppedEventsCount: z.literal(0),
  links: z.array(z.unknown()),
  droppedLinksCount: z.literal(0),
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
})
const exportRequest = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({
        attributes,
        droppedAttributesCount: z.literal(0),
        entityRefs: z.array(z.unknown()).optional(),
      }),
      schemaUrl: z.string().optional(),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({
            name: z.string(),
            version: z.string().optional(),
            attributes: attributes.optional(),
          }),
          schemaUrl: z.string().optional(),
          spans: z.array(span),
        }),
      ),
    }),
  ),
})

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty: it begins its trace here. */
  readonly parentSpanId: string
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly startNs: bigint
  readonly endNs: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
  /** 2: an error. */
  readonly status: number
}

export interface OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** The headers and paths of the requests. */
  readonly requests: { readonly path: string; readonly headers: Headers }[]
  /** Requests that are not valid. */
  readonly faults: string[]
  /** The status of the next answers. */
  answer: number
  /** Resolves when a span satisfies `isWanted`; rejects after 20 s. */
  waitFor(isWanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>
  stop(): Promise<void>
}

export function startOtlpReceiver(): OtlpReceiver {
  const waiting = new Set<() => void>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      receiver.requests.push({ path: new URL(request.url).pathname, headers: request.headers })
      if (request.headers.get('content-type') !== 'application/json') receiver.faults.push('content-type')
      const parsed = exportRequest.safeParse(await request.json())
      if (!parsed.success) {
        receiver.faults.push(z.prettifyError(parsed.error))
        return new Response('', { status: 400 })
      }
      if (receiver.answer !== 200) return new Response('', { status: receiver.answer })
      for (const { resource, scopeSpans } of parsed.data.resourceSpans)
        for (const scope of scopeSpans)
          for (const one of scope.spans) receiver.spans.push(received(one, plain(resource.attributes)))
      for (const check of waiting) check()
      return Response.json({ partialSuccess: {} })
    },
  })
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${server.port}`,
    spans: [],
    requests: [],
    faults: [],
    answer: 200,
    waitFor(isWanted) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(check)
          const names = receiver.spans.map(({ name }) => name).join(', ')
          reject(new Error(`no such span arrived; received: ${names}; faults: ${receiver.faults.join('; ')}`))
        }, 60_000)
        const check = (): void => {
          const found = receiver.spans.find(isWanted)
          if (found === undefined) return
          clearTimeout(timer)
          waiting.delete(check)
          resolve(found)
        }
        waiting.add(check)
        check()
      })
    },
    async stop() {
      await server.stop(true)
    },
  }
  return receiver
}

type EncodedSpan = z.infer<typeof span>

function received(one: EncodedSpan, resource: Record<string, unknown>): ReceivedSpan {
  const { traceId, spanId, parentSpanId = '', name, kind, startTimeUnixNano, endTimeUnixNano, status } = one
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startNs: BigInt(startTimeUnixNano),
    endNs: BigInt(endTimeUnixNano),
    attributes: plain(one.attributes),
    resource,
    status: status.code,
  }
}

function plain(list: z.infer<typeof attributes>): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plainValue(value as Record<string, unknown>)]))
}

function plainValue(value: Record<string, unknown>): unknown {
  const [kind, content] = Object.entries(value)[0] ?? []
  if (kind === 'arrayValue') return (content as { values: Record<string, unknown>[] }).values.map(plainValue)
  return kind === 'intValue' ? Number(content) : content
}
