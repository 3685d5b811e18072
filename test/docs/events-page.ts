// The reference page of events, from the table of event types.
import { z } from 'zod'
import {
  type EventGroup,
  type EventTypeName,
  eventGroups,
  eventTypeNames,
  eventTypeSpec,
} from '../../src/events/event-types.ts'
import { envelopeAttributes, traceAttributes } from './asyncapi.ts'

type PayloadSchema = Readonly<Record<string, unknown>>

/** The sections of the page after its first paragraph. */
export function eventSections(note: string): string[] {
  return [
    `${note} The file \`events.asyncapi.json\` of a release describes the same events as AsyncAPI 3, with a JSON Schema of each payload; \`npm run reference\` writes it to \`dist/reference\`. ` +
      'Why events work as they do: [decision record 0033](../decisions/0033-events.md).',
    'An event sink (`/configs/v1/event-sinks`) has providers and routes. A route names an event type, or the beginning of types with `*` at the end, and conditions ' +
      'on the context of the event. Routes are tried in order; an event is sent to the provider of each route that matches, once, until a matching route has ' +
      '`stop_processing`. Values of the context are compared as text; of a list one item has to be equal. `svc.audit.capture.batch.…` in a route means `svc.audit.capture.…`. A route that no event can match is refused.',
    'Events of change data capture are sent only to providers with `include_cdc_events`. The provider decides; if it has no such member, that of the sink applies.',
    `## Envelope\n\nEvents are [CloudEvents 1.0](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md). The order of events is that of \`sequence\` within one \`source\`. After a restore of a backup, new events have another \`source\`.\n\n${table(
      ['Attribute', 'Content'],
      Object.entries({ ...envelopeAttributes, ...traceAttributes }).map(([name, content]) => [code(name), content]),
    )}`,
    `## Payload\n\nThe payload (\`data\`) is a JSON object. All events have the first two members:\n\n${table(
      ['Member', 'Content'],
      [
        ['`eventType`', 'the event type, as in the attribute `type`'],
        ['`version`', 'version of the payload, an integer; new members do not change it'],
        ['`requestId`', 'the `X-Request-ID` of the call, if there is one'],
        [
          '`address`',
          'the IP address of the client, if there is one; behind a proxy see the setting `client_address_header`',
        ],
        [
          '`actor`',
          'who caused the event: `type` (`agent`, `service-account`, `user`, `operating-system-user` or `service`), `id`, `keyId` (the id of the credential), for agents `applicationId` and `user` (`type`, `externalId`), for commands `name` and `host`. Absent in events of change data capture, verified tokens, gaps, and refused credentials of an unknown caller',
        ],
      ],
    )}\n\nSecrets are never in an event. Values of input parameters are masked as in the decision log (setting \`parameter_mask\`). Values of stored properties are only in events of change data capture. Events of decisions and queries contain the input parameters and the properties of the request.`,
    ...(Object.keys(eventGroups) as EventGroup[]).map(groupSection),
  ]
}

function groupSection(group: EventGroup): string {
  const types = eventTypeNames.filter((type) => eventTypeSpec(type).group === group)
  return [`## ${eventGroups[group]}`, ...types.map(typeSection)].join('\n\n')
}

function typeSection(type: EventTypeName): string {
  const { summary, data, contextKeys, subject, producedBy } = eventTypeSpec(type)
  const facts = [
    `- Produced by: ${producedBy}.`,
    `- Subject: ${code(subject)}.`,
    `- Context keys: ${contextKeys.length === 0 ? 'none' : contextKeys.map(code).join(', ')}.`,
  ]
  const schema = z.toJSONSchema(z.strictObject(data), { target: 'draft-7' }) as PayloadSchema
  const rows = membersOf(schema, '', true)
  return [`### ${type}`, summary, facts.join('\n'), table(['Member', 'Type', 'Content'], rows)].join('\n\n')
}

/** One row for each member, also of objects and of the items of lists. */
function membersOf(schema: PayloadSchema, path: string, isRequired: boolean): string[][] {
  const description = typeof schema.description === 'string' ? schema.description : ''
  const own = path === '' ? [] : [[code(path), typeOf(schema) + (isRequired ? '' : ', optional'), description]]
  const inner = (schema.type === 'array' ? schema.items : schema) as PayloadSchema | undefined
  const at = path === '' ? '' : `${path}${schema.type === 'array' ? '[]' : ''}.`
  const required = (inner?.required ?? []) as readonly string[]
  const members = Object.entries((inner?.properties ?? {}) as Readonly<Record<string, PayloadSchema>>)
  return [...own, ...members.flatMap(([name, member]) => membersOf(member, `${at}${name}`, required.includes(name)))]
}

function typeOf({ type, items, additionalProperties, format }: PayloadSchema): string {
  if (type === 'array') return `array of ${typeOf((items ?? {}) as PayloadSchema)}`
  if (type === 'object' && typeof additionalProperties === 'object') return 'object by name'
  if (format === 'date-time') return 'RFC 3339'
  return typeof type === 'string' ? type : 'any'
}

const code = (text: string): string => `\`${text}\``
const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(heading), row(heading.map(() => '---')), ...rows.map(row)].join('\n')
}
