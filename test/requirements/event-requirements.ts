// The requirements of events: each with the tests that prove it.
import type { Requirement } from './requirements.ts'

const everyType = 'http/events/every-type.test.ts'
const completeness = 'http/events/completeness.test.ts'
const captures = 'process/events/captures.test.ts'
const configuration = 'process/events/configuration.test.ts'
const decisions = 'process/events/decisions.test.ts'
const changes = 'process/events/changes.test.ts'
const delivery = 'process/events/http-delivery.test.ts'
const state = 'process/events/delivery-state.test.ts'
const deadLetters = 'process/events/dead-letters.test.ts'
const follow = 'process/events/follow.test.ts'
const routing = 'http/events/routing-test.test.ts'
const permissions = 'http/events/permissions.test.ts'
const secrets = 'http/events/secrets.test.ts'
const command = 'process/events/events-command.test.ts'
const dispatcher = 'process/events/delivery.test.ts'
const outbox = 'process/events/outbox.test.ts'
const lifecycle = 'process/events/lifecycle.test.ts'
const kills = 'process/events/event-kills.test.ts'
const fullDisk = 'process/events/full-disk.test.ts'
const records = 'unit/events/event-record.test.ts'
const routes = 'unit/events/sink-routes.test.ts'
const asyncapi = 'unit/events/asyncapi.test.ts'
const snapshots = 'process/events/snapshot-events.test.ts'
const activity = 'unit/events/activity-log.test.ts'
const crud = 'http/configuration/crud-conformance.test.ts'
const providers = 'unit/events/connect-provider.test.ts'
const kafka = 'process/events/streaming-broker.test.ts'
const queue = 'unit/events/providers/queue-service.test.ts'
const topic = 'unit/events/providers/event-topic.test.ts'
const pubSub = 'unit/events/providers/pub-sub.test.ts'

export const eventRequirements: readonly Requirement[] = [
  {
    id: 'REQ-V1',
    sentence: 'every event type is produced by a request, and arrives at a receiver with its documented payload',
    shownBy: [
      [everyType, 'and has a row'],
      [everyType, '%s'],
      [completeness, 'names only types that exist, and every type that calls produce'],
    ],
  },
  {
    id: 'REQ-V2',
    sentence: 'every route and every MCP method has its event types, or a reason for none',
    shownBy: [
      [completeness, 'has every route'],
      [completeness, 'has every MCP method and tool'],
      [decisions, 'the tools have the same events as the endpoints'],
    ],
  },
  {
    id: 'REQ-V3',
    sentence: 'events are CloudEvents 1.0 with project and sequence; a retry sends equal bytes',
    shownBy: [
      [records, 'have the attributes of CloudEvents and the payload of their type'],
      [records, 'gives the same envelopes each time, all valid, with keys of a bounded length'],
      [delivery, 'a failed batch is sent again with equal bytes and in order, and the status shows the error'],
    ],
  },
  {
    id: 'REQ-V4',
    sentence: 'the reference, the JSON schemas and a valid AsyncAPI 3 document are generated from the table of types',
    shownBy: [
      [asyncapi, 'is valid by the official schema of AsyncAPI 3.0'],
      [asyncapi, 'has a message for each event type, whose payload schema is valid JSON Schema'],
    ],
  },
  {
    id: 'REQ-V5',
    sentence: 'secrets, tokens and masked parameters are in no event of any type',
    shownBy: [
      [secrets, 'every kind with a secret has a body for it'],
      [secrets, 'in any byte that the receiver got, of all types that calls produce'],
      [configuration, 'contain no secret, not even one that an editor wrote into a text'],
    ],
  },
  {
    id: 'REQ-V6',
    sentence: 'configuration events include creations, updates, deletions and reads, also of the event sink itself',
    shownBy: [
      [configuration, 'have events with the document before and after, from the creation of the sink on'],
      [configuration, 'have events that say what was asked for, and which documents were in the answer'],
      [configuration, 'of the sink are decided by its routes after the change'],
      [configuration, 'of API permissions have events of their own, also when the agent is deleted'],
    ],
  },
  {
    id: 'REQ-V7',
    sentence:
      'events of changes are stored in the transaction of the change: no change without event, no event without change',
    shownBy: [
      [captures, 'carry the request id, and nothing is written for a batch that is refused'],
      [decisions, 'have events; that of a query that writes is in the transaction of its writes'],
      [outbox, 'every node has exactly one event, and every event its node'],
    ],
  },
  {
    id: 'REQ-V8',
    sentence: 'nothing is stored without a matching route',
    shownBy: [
      [captures, 'of a project without a matching route write nothing to the outbox'],
      [configuration, 'has no folder of events and nothing in its outboxes if there is no audit log'],
    ],
  },
  {
    id: 'REQ-V9',
    sentence:
      'events of decisions and reads are written together shortly after the answer, or before it if the setting is strict',
    shownBy: [
      [decisions, 'are on disk before the answer if the setting is strict, and shortly after it otherwise'],
      [decisions, 'that cannot be stored refuse only their own answers if the setting is strict'],
      [activity, 'stay in memory while the disk refuses writes, are reported once, and are written later'],
      [activity, 'beyond the bound of memory are dropped and counted'],
    ],
  },
  {
    id: 'REQ-V10',
    sentence:
      'a route sends events of its type, or of all below a trailing wildcard, whose context has every pair; only matching operations have messages',
    shownBy: [
      [captures, 'are routed by type, label and property values, in order, until a route stops'],
      [decisions, 'are routed by decision, action and types'],
      [routes, 'is equal, or ends with a wildcard that matches everything below'],
      [routes, 'compare values as text'],
      [routes, 'send to every provider that matches, once, until one stops'],
    ],
  },
  {
    id: 'REQ-V11',
    sentence: 'include_cdc_events of the provider, or else of the sink, switches change data capture',
    shownBy: [
      [routes, 'send change data capture only to providers that ask for it; the provider decides before the sink'],
      [changes, 'is sent only to providers that ask for it, and to none without such a provider'],
    ],
  },
  {
    id: 'REQ-V12',
    sentence:
      'a test of routes says which routes an event takes and why, also of a sink that is not stored, and can send a marked event',
    shownBy: [
      [routing, 'has one entry for each route with the reason, and the providers that receive the event'],
      [routing, 'decides as the recording of real events does'],
      [routing, 'sends one marked event to each matching provider and reports what happened'],
      [routing, 'tests and sends with what a create request would store, also if the project has a sink'],
      [command, 'prints each route with its reason, and sends a test event'],
    ],
  },
  {
    id: 'REQ-V13',
    sentence: 'routes that no event can match are refused',
    shownBy: [[routing, 'are refused when they are stored: %s %o']],
  },
  {
    id: 'REQ-V14',
    sentence: 'one process delivers, while a project has a sink; it is replaced when it is killed',
    shownBy: [
      [
        dispatcher,
        'runs at a lower priority while a project has a sink, and without an audit log ends with the last one',
      ],
      [dispatcher, 'is started again when it is killed, and continues where it was'],
      [dispatcher, 'runs once for several workers, also after the worker that started it is killed'],
    ],
  },
  {
    id: 'REQ-V15',
    sentence: 'delivery is at least once and in order per element, also through outages and kills',
    shownBy: [
      [delivery, 'random failures of receivers lose no event and keep the order of each element'],
      [delivery, 'a restart continues where the delivery was'],
      [kills, 'no event is lost when delivery, receiver and service are killed'],
    ],
  },
  {
    id: 'REQ-V16',
    sentence: 'captures and decisions neither fail nor wait because of a sink',
    shownBy: [
      [delivery, 'captures are answered while a receiver is down, and their events arrive when it is back'],
      [delivery, 'one receiver that is down delays no other'],
      [fullDisk, 'loses no event, delays no decision, and continues when there is space'],
    ],
  },
  {
    id: 'REQ-V17',
    sentence:
      'an event that can never be delivered becomes a dead letter: listed, shown, sent again, deleted, over HTTP and as a command',
    shownBy: [
      [delivery, 'an event that is too large becomes a dead letter at once, and the later events arrive'],
      [deadLetters, 'are listed with the reason, and read with the event'],
      [deadLetters, 'are sent again when they are requested, and disappear when the provider accepts them'],
      [deadLetters, 'are listed in pages by provider, and deleted one by one or all of a provider'],
      [command, 'lists, shows, resends and deletes the events that a provider refused'],
    ],
  },
  {
    id: 'REQ-V18',
    sentence: 'a backlog is bounded in bytes and age; beyond it one event reports the gap, before all later ones',
    shownBy: [
      [
        delivery,
        'beyond the bound of the backlog the oldest events are dropped, and one event says which, before later ones',
      ],
      [delivery, 'events that wait for a receiver for too long are dropped'],
    ],
  },
  {
    id: 'REQ-V19',
    sentence: 'a sink shows last error, backlog, oldest event, counts and rate of each provider; metrics have the sums',
    shownBy: [
      [state, 'shows per provider what was delivered, what failed and what waits'],
      [state, 'shows the events per second of the last minute, also as a metric'],
      [state, 'are sums by provider kind without identifiers'],
      [state, 'have the age of the oldest event that waits, and follow a deleted sink'],
    ],
  },
  {
    id: 'REQ-V20',
    sentence: 'events can be followed as they happen, over HTTP and as a command',
    shownBy: [
      [follow, 'sees every event although a provider receives and removes them at once'],
      [command, 'prints every later event once, in order, while a provider receives them and the service starts again'],
    ],
  },
  {
    id: 'REQ-V21',
    sentence:
      'a provider has exactly one kind, and its secrets are encrypted and never returned; a project has one sink',
    shownBy: [
      [crud, 'read by id: as it was sent, without secrets'],
      [crud, 'refuses a second one in the project'],
      [providers, 'of each kind names the member of an invalid configuration'],
    ],
  },
  {
    id: 'REQ-V22',
    sentence:
      'a streaming broker, a queue service, an event topic and a Pub/Sub topic receive events; real ones in the stress program event-providers',
    shownBy: [
      [kafka, 'ends at its deadline if the broker accepts connections and never answers'],
      [queue, 'names the first event that was refused, and sends no event again that was accepted'],
      [topic, 'is a JSON array of CloudEvents, with the key in a header'],
      [pubSub, 'has one message per event, and a token that the account signed'],
    ],
  },
  {
    id: 'REQ-V23',
    sentence: 'addresses of providers are public and use TLS, except for those that the operator allows',
    shownBy: [
      [kafka, 'is refused for addresses that are not public or without TLS'],
      [queue, 'that are not public or without TLS are refused before anything is sent'],
      [routing, 'tests and sends with what a create request would store, also if the project has a sink'],
    ],
  },
  {
    id: 'REQ-V24',
    sentence:
      'change data capture has the state before and after every change and a number without holes, so that a copy can be built, also from a snapshot',
    shownBy: [
      [changes, 'has the images before and after of every element that a write changes, and a number without holes'],
      [changes, 'includes the writes of knowledge queries and the nodes of users and applications'],
      [snapshots, 'build the same graph, although it is written while the snapshot is read in parts'],
      [delivery, 'sends every existing element, then the changes, and continues after a restart where it was'],
      [kills, 'a copy built from the events equals the graph'],
    ],
  },
  {
    id: 'REQ-V25',
    sentence:
      'workers share the outbox; backup and restore carry events, progress and dead letters; an import has no events of the past',
    shownBy: [
      [outbox, 'write to the same streams, and a stop writes what is in memory'],
      [outbox, 'events and cursors come along; new events of the restored folder have other ids'],
      [
        lifecycle,
        'delivers the backlog of the backup, repeats only what was delivered after it, and continues with other ids',
      ],
      [lifecycle, 'has the sink and no events of the past'],
    ],
  },
  {
    id: 'REQ-V26',
    sentence: 'with its sink or its project a backlog is dropped, and the log has the number',
    shownBy: [
      [lifecycle, 'are dropped with their sink, which the log reports, and a new sink begins without them'],
      [lifecycle, 'are dropped with their project, which the log reports'],
      ['process/events/removed-providers.test.ts', 'leaves no position, dead letter or waiting event'],
    ],
  },
  {
    id: 'REQ-V27',
    sentence:
      'only service accounts of the organization use the routes of sinks; events are shown to editors only, and at their own sink',
    shownBy: [
      [permissions, 'all have a row'],
      [permissions, 'refuse every credential that is not of a service account of the organization'],
      [permissions, 'show a viewer the configuration and the state, and no event'],
      [permissions, 'show the events of one project only at its own sink'],
    ],
  },
]
