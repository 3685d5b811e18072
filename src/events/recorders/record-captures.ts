// Records the events of captures: one event for each element that a capture writes, in the transaction of the write.
import type {
  CaptureCall,
  CaptureElement,
  CaptureEventBatch,
  CaptureEventRecorder,
  CaptureEvents,
  CaptureOperation,
} from '../../capture/capture-events.ts'
import type {
  NodeImage,
  NodeKey,
  PropertyMetadata,
  RelationshipImage,
  RelationshipKey,
  WriteBatch,
} from '../../engine/store.ts'
import type { AgentCaller } from '../../kernel/request/caller.ts'
import type { RequestOrigin } from '../../kernel/request/request-origin.ts'
import { tracedBy } from '../../kernel/request/request-trace.ts'
import { elementContext } from '../element-text.ts'
import { actorOf, actorText, type CaptureDetail, capturedNodeText, capturedRelationshipText } from '../event-record.ts'
import type { EventTypeName } from '../event-types.ts'
import { RoutedEvents } from '../routed-records.ts'
import { noContext, type SinkRoutes, type TypeRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'

type CaptureTypeName = Extract<EventTypeName, `svc.audit.capture.${string}`>
type CaptureTypeSuffix = CaptureTypeName extends `svc.audit.capture.${infer Suffix}` ? Suffix : never

/** Not built for each request. */
const TYPES: { readonly [Suffix in CaptureTypeSuffix]: `svc.audit.capture.${Suffix}` } = {
  'upsert.node': 'svc.audit.capture.upsert.node',
  'upsert.relationship': 'svc.audit.capture.upsert.relationship',
  'delete.node': 'svc.audit.capture.delete.node',
  'delete.node.property': 'svc.audit.capture.delete.node.property',
  'delete.node.property.metadata': 'svc.audit.capture.delete.node.property.metadata',
  'delete.node.tag': 'svc.audit.capture.delete.node.tag',
  'delete.relationship': 'svc.audit.capture.delete.relationship',
  'delete.relationship.property': 'svc.audit.capture.delete.relationship.property',
}
const TAG_DELETION = 'svc.audit.capture.delete.node.tag'

/** Records events of captures. */
export class CaptureEventLog implements CaptureEvents {
  private readonly sinks: EventSinks
  /** Callers are the same objects in all requests of a credential. */
  private readonly actors = new WeakMap<AgentCaller, string>()

  constructor(sinks: EventSinks) {
    this.sinks = sinks
  }

  /** Returns null if no route can match an event of the operation. */
  begin({ caller, origin }: CaptureCall, operation: CaptureOperation): CaptureLogRequest | null {
    const sink = this.sinks.routesOf(caller.projectId)
    if (sink === null) return null
    const type = TYPES[operation]
    const routes = sink.ofType(type)
    // An upsert replaces labels, so it may delete some.
    const tagRoutes = operation === 'upsert.node' ? sink.ofType(TAG_DELETION) : null
    if (routes === null && tagRoutes === null) {
      origin.noteEvent()
      return null
    }
    return new CaptureLogRequest(sink, routes, tagRoutes, type, origin, this.actorOf(caller))
  }

  private actorOf(caller: AgentCaller): string {
    let actor = this.actors.get(caller)
    if (actor === undefined) {
      actor = actorText(actorOf(caller))
      this.actors.set(caller, actor)
    }
    return actor
  }
}

/** The events of one request, which may have several transactions. */
class CaptureLogRequest implements CaptureEventRecorder {
  readonly sink: SinkRoutes
  /** Null: no route can match the events of the operation. */
  readonly routes: TypeRoutes | null
  /** Null: no route can match deletions of labels, or the operation deletes none. */
  readonly tagRoutes: TypeRoutes | null
  readonly type: CaptureTypeName
  readonly origin: RequestOrigin
  /** From `actorText`. */
  readonly actor: string

  constructor(
    sink: SinkRoutes,
    routes: TypeRoutes | null,
    tagRoutes: TypeRoutes | null,
    type: CaptureTypeName,
    origin: RequestOrigin,
    actor: string,
  ) {
    this.sink = sink
    this.routes = routes
    this.tagRoutes = tagRoutes
    this.type = type
    this.origin = origin
    this.actor = actor
  }

  batch(batch: WriteBatch): CaptureLogBatch {
    return new CaptureLogBatch(this, batch)
  }
}

class CaptureLogBatch implements CaptureEventBatch {
  private readonly request: CaptureLogRequest
  private readonly written: WriteBatch
  private readonly events: RoutedEvents
  private readonly isUpsert: boolean

  constructor(request: CaptureLogRequest, written: WriteBatch) {
    this.request = request
    this.written = written
    this.events = new RoutedEvents(request.sink)
    this.isUpsert = request.type.startsWith('svc.audit.capture.upsert.')
  }

  apply(element: CaptureElement, apply: () => string | null): string | null {
    return 'source' in element.key
      ? this.applyRelationship(element.key, element, apply)
      : this.applyNode(element.key, element, apply)
  }

  private applyNode(key: NodeKey, element: CaptureElement, apply: () => string | null): string | null {
    const { written, isUpsert } = this
    const { routes, tagRoutes, type } = this.request
    const mayDeleteTags = tagRoutes !== null && element.labels !== undefined
    // An image shows the element as it was when the image was made.
    const before = isUpsert && !mayDeleteTags ? null : written.nodeImage(key)
    const id = apply()
    if (id === null) return null
    if (routes !== null) {
      const image = isUpsert ? written.nodeImage(key) : before
      const detail = image === null ? null : isUpsert ? image.isIdentity : detailOf(element, image)
      const providers = image === null || detail === null ? 0 : match(routes, key.type, image)
      if (image !== null && detail !== null && providers !== 0) this.addNode(type, providers, id, image, detail)
    }
    if (mayDeleteTags && before !== null) this.addTagDeletion(tagRoutes, id, before, element.labels)
    return id
  }

  private addTagDeletion(routes: TypeRoutes, id: string, before: NodeImage, labels: readonly string[]): void {
    const deleted = before.labels.filter((label) => label !== before.type && !labels.includes(label))
    const providers = deleted.length === 0 ? 0 : match(routes, before.type, before)
    if (providers !== 0) this.addNode(TAG_DELETION, providers, id, before, deleted)
  }

  private addNode(
    type: CaptureTypeName,
    providers: number,
    id: string,
    image: NodeImage,
    detail: CaptureDetail | undefined,
  ): void {
    this.events.add(type, providers, capturedNodeText(id, image.type, image.externalId, image.location ?? '', detail))
  }

  private applyRelationship(key: RelationshipKey, element: CaptureElement, apply: () => string | null): string | null {
    const { written, isUpsert } = this
    const { routes } = this.request
    if (routes === null) return apply()
    // Only the context and deleted properties need an image.
    const needsImage = routes.readsContext || element.properties !== undefined
    const before = isUpsert || !needsImage ? null : written.relationshipImage(key)
    const id = apply()
    if (id === null) return null
    const image = needsImage ? (before ?? written.relationshipImage(key)) : null
    const detail = detailOf(element, image)
    const providers = detail === null ? 0 : match(routes, key.type, image)
    if (detail === null || providers === 0) return id
    const { source, type, target } = key
    const text = capturedRelationshipText(id, source, type, target, detail)
    this.events.add(this.request.type, providers, text)
    return id
  }

  end(): void {
    if (this.events.isEmpty) return
    const { origin, actor } = this.request
    const { requestId, address: client } = origin
    const address = client === '' ? undefined : client
    origin.noteCommit()
    this.events.appendTo(this.written, { requestId, address, ...tracedBy(origin) }, actor)
    origin.noteEvent()
  }
}

function match(routes: TypeRoutes, label: string, image: NodeImage | RelationshipImage | null): number {
  return routes.match(routes.readsContext && image !== null ? elementContext(label, image) : noContext)
}

/** What is deleted of the element; undefined: all of it, or nothing is deleted; null: it has none of what the caller named. */
function detailOf(
  { properties, metadata }: CaptureElement,
  before: NodeImage | RelationshipImage | null,
): CaptureDetail | undefined | null {
  if (properties === undefined) return undefined
  if (before === null) return null
  const stored = before.properties()
  if (metadata === undefined) {
    const deleted = properties.filter((name) => stored.has(name))
    return deleted.length === 0 ? null : deleted
  }
  const [property = ''] = properties
  const fields = stored.get(property)?.metadata ?? null
  const deleted = fields === null ? [] : metadata.filter((name) => hasMetadata(fields, name))
  return deleted.length === 0 ? null : [property, deleted]
}

/** `name`: as captures name it: `assurance_level`, or a key of the custom metadata. */
function hasMetadata({ custom = {}, ...own }: PropertyMetadata, name: string): boolean {
  const member = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return Object.hasOwn(own, member) || Object.hasOwn(custom, name)
}
