// Nodes and relationships as events show them: JSON texts, written member by member. A capture with change data capture spends most
// of its additional time here, so no objects are built first.
import type { NodeImage, NodeKey, RelationshipImage, StoredProperty } from '../engine/store.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import { writeJson } from '../kernel/json/json.ts'
import { timestamp } from '../kernel/time/clock.ts'
import { subjectOf } from './event-text.ts'
import type { ContextValue, EventContext } from './sink-routes.ts'

/** Different times that are remembered. */
const TIMES_MAX = 1000

/** The subject of events about an element. */
export function subjectOfElement(image: NodeImage | RelationshipImage): string {
  if (!('source' in image)) return subjectOf('nodes', image.type, image.externalId)
  const { source, type, target } = image
  return subjectOf('relationships', source.type, source.externalId, type, target.type, target.externalId)
}

/** The context of an event about an element: its type and its properties. */
export function elementContext(label: string, image: NodeImage | RelationshipImage): EventContext {
  return (key): ContextValue => (key === 'captureLabel' ? label : image.property(key))
}

/** Writes elements. Use one for many elements: most times and names of properties repeat. */
export class ElementWriter {
  private readonly times = new Map<number, string>()
  private readonly names = new Map<string, string>()

  /** An element as events show it: a JSON object. */
  element(image: NodeImage | RelationshipImage): string {
    return 'source' in image ? this.relationship(image) : this.node(image)
  }

  private node(node: NodeImage): string {
    const { id, externalId, type, labels, isIdentity, location } = node
    const key = `"id":${JSON.stringify(id)},"externalId":${JSON.stringify(externalId)},"type":${this.name(type)}`
    const place = location === null ? '' : `,"location":${JSON.stringify(location)}`
    const fields = `"labels":[${labels.map((label) => this.name(label)).join()}],"isIdentity":${isIdentity}${place}`
    return `{${key},${fields},${this.timesAndProperties(node)}}`
  }

  private relationship(relationship: RelationshipImage): string {
    const { id, type, source, target } = relationship
    const key = `"id":${JSON.stringify(id)},"type":${this.name(type)}`
    const ends = `"source":${this.end(source)},"target":${this.end(target)}`
    return `{${key},${ends},${this.timesAndProperties(relationship)}}`
  }

  private end({ externalId, type }: NodeKey): string {
    return `{"externalId":${JSON.stringify(externalId)},"type":${this.name(type)}}`
  }

  private timesAndProperties(image: NodeImage | RelationshipImage): string {
    let properties = ''
    for (const [name, property] of image.properties()) {
      properties += `${properties === '' ? '' : ','}${this.name(name)}:${this.property(property)}`
    }
    const times = `"createTime":${this.time(image.createdMs)},"updateTime":${this.time(image.updatedMs)}`
    return `${times},"properties":{${properties}}`
  }

  private property({ value, externalValue, updatedMs, metadata }: StoredProperty): string {
    const shown = value === null ? '' : `"value":${writeJson(toJson(value, () => null))},`
    const external = externalValue === null ? '' : `"externalValue":${writeJson(externalValue)},`
    return `{${shown}${external}"updateTime":${this.time(updatedMs)}${metadata === null ? '' : metadataMember(metadata)}}`
  }

  private time(ms: number): string {
    let text = this.times.get(ms)
    if (text === undefined) {
      text = `"${timestamp(ms)}"`
      if (this.times.size === TIMES_MAX) this.times.clear()
      this.times.set(ms, text)
    }
    return text
  }

  /** A label, or the name of a type or a property. */
  private name(name: string): string {
    let text = this.names.get(name)
    if (text === undefined) {
      text = JSON.stringify(name)
      this.names.set(name, text)
    }
    return text
  }
}

function metadataMember({
  source,
  assuranceLevel,
  verifiedTime,
  custom,
}: NonNullable<StoredProperty['metadata']>): string {
  const members = {
    ...(source !== undefined && { source }),
    ...(assuranceLevel !== undefined && { assuranceLevel }),
    ...(verifiedTime !== undefined && { verifiedTime }),
    ...(custom !== undefined && { customMetadata: custom }),
  }
  return `,"metadata":${writeJson(members)}`
}
