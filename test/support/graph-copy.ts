// A copy of a graph that is built from change events alone, and the comparison with an export of the graph.
import { createHash } from 'node:crypto'

interface ImageProperty {
  readonly value?: unknown
  readonly externalValue?: string
  readonly updateTime: string
}

interface ReceivedElement {
  readonly id: string
  readonly type: string
  readonly externalId?: string
  readonly labels?: readonly string[]
  readonly isIdentity?: boolean
  readonly source?: { readonly type: string; readonly externalId: string }
  readonly target?: { readonly type: string; readonly externalId: string }
  readonly createTime: string
  readonly updateTime: string
  readonly properties: Readonly<Record<string, ImageProperty>>
}

/** The payload of a change event. */
export interface ChangePayload {
  readonly before: ReceivedElement | null
  readonly after: ReceivedElement | null
}

/** Whether the type is one of change data capture. */
export function isChange(type: string): boolean {
  return type.startsWith('svc.audit.cdc.')
}

/** Applies change events in the order of their arrival; of an event that arrives twice, only the first one. */
export class GraphCopy {
  private readonly elements = new Map<string, ReceivedElement>()
  private readonly applied = new Set<string>()

  apply(id: string, { before, after }: ChangePayload): void {
    if (this.applied.has(id)) return
    this.applied.add(id)
    const element = (after ?? before) as ReceivedElement
    if (after === null) this.elements.delete(element.id)
    else this.elements.set(element.id, after)
  }

  get size(): number {
    return this.elements.size
  }

  /** One line for each element, sorted. */
  lines(): string[] {
    return Array.from(this.elements.values(), lineOfImage).sort()
  }
}

function lineOfImage(image: ReceivedElement): string {
  const { id, type, externalId, labels, isIdentity, source, target, createTime, updateTime, properties } = image
  const others = (labels ?? []).filter((label) => label !== type).sort()
  const key =
    source === undefined || target === undefined
      ? [type, externalId, others, isIdentity === true]
      : [source.type, source.externalId, type, target.type, target.externalId]
  const own = Object.entries(properties)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, property]) => [name, property.value ?? property.externalValue, property.updateTime])
  return JSON.stringify([id, key, createTime, updateTime, own])
}

/** The lines of the graphs in an export, in the form of `GraphCopy.lines`. Only for values that JSON contains as they are. */
export function linesOfExport(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{"node"') || line.startsWith('{"relationship"'))
    .map((line) => {
      const { node, relationship } = JSON.parse(line)
      const element = node ?? relationship
      const key =
        node === undefined
          ? [
              relationship.source.type,
              relationship.source.external_id,
              relationship.type,
              relationship.target.type,
              relationship.target.external_id,
            ]
          : [node.type, node.external_id, node.labels ?? [], node.is_identity === true]
      const updated = element.update_time ?? element.create_time
      const properties = (element.properties ?? []).map(
        (property: { type: string; value?: unknown; external_value?: string; update_time?: string }) => [
          property.type,
          property.value ?? property.external_value,
          property.update_time ?? updated,
        ],
      )
      return JSON.stringify([element.id, key, element.create_time, updated, properties])
    })
    .sort()
}

/** SHA-256 of the lines. */
export function hashOfLines(lines: readonly string[]): string {
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}
