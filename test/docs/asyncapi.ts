// Builds the AsyncAPI 3 description of the events: one message for each event type, with its payload as JSON Schema.
import { z } from 'zod'
import { type EventTypeName, eventTypeNames, eventTypeSpec, payloadSchema } from '../../src/events/event-types.ts'

type JsonObject = Record<string, unknown>

/** The attributes of all events, as header fields of a message without the prefix of a transport. */
export const envelopeAttributes: Readonly<Record<string, string>> = {
  specversion: '`1.0`, the version of CloudEvents',
  id: 'unique; a repeated delivery has the same id',
  source: '`/projects/{project id}/{graph, configuration or activity}/{origin}`: the stream of the event',
  type: 'the event type',
  subject: 'what the event is about; each segment is percent-encoded',
  time: 'when it happened, RFC 3339 in UTC',
  datacontenttype: '`application/json`',
  projectid: 'the id of the project',
  sequence: 'number of the event in its source, 16 digits; it grows by one with each event of the source',
  partitionkey: 'events with the same key are delivered in order; at most 128 characters',
}

/** The attributes of events that a traced request has caused. */
export const traceAttributes: Readonly<Record<string, string>> = {
  traceparent:
    'the span of the request that caused the event, as in the header `traceparent` of W3C Trace Context; absent if the request was not traced, and in events of change data capture',
  tracestate: 'the header `tracestate` of that request, if it had one',
}

/** The payload of a type as JSON Schema. */
export function payloadJsonSchema(type: EventTypeName): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(payloadSchema(type), { target: 'draft-7' }) as JsonObject
  return schema
}

/** Builds the document. `version`: of the product. */
export function asyncApiDocument(version: string): JsonObject {
  const reference = (type: EventTypeName): JsonObject => ({ $ref: `#/components/messages/${type}` })
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Verdigraph events',
      version,
      description:
        'Events that Verdigraph sends to the providers of an event sink, as CloudEvents 1.0. The attributes are headers of the message; their names have the prefix of the transport, such as `ce_` for Kafka.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    channels: {
      events: {
        address: null,
        title: 'Events',
        description: 'The topic or queue that a provider of the event sink names.',
        messages: Object.fromEntries(eventTypeNames.map((type) => [type, reference(type)])),
      },
    },
    operations: {
      sendEvents: {
        action: 'send',
        channel: { $ref: '#/channels/events' },
        summary: 'Verdigraph sends an event, at least once.',
      },
    },
    components: {
      messages: Object.fromEntries(
        eventTypeNames.map((type) => [
          type,
          {
            name: type,
            title: type,
            summary: eventTypeSpec(type).summary,
            contentType: 'application/json',
            headers: { $ref: '#/components/schemas/attributes' },
            payload: payloadJsonSchema(type),
          },
        ]),
      ),
      schemas: {
        attributes: {
          type: 'object',
          properties: Object.fromEntries(
            Object.entries({ ...envelopeAttributes, ...traceAttributes }).map(([name, description]) => [
              name,
              { type: 'string', description },
            ]),
          ),
          required: Object.keys(envelopeAttributes),
        },
      },
    },
  }
}
