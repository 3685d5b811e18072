// The values of a query as text: in the notation of Cypher for people, and as cells of CSV.

import { writeJson } from '../../kernel/json/json.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { escapeInvisible } from '../../kernel/text/invisible-characters.ts'

type ElementData = Readonly<Record<string, unknown>>

/** A value in one line. Elements are shown as in a pattern, with external ids. */
export function valueText(value: unknown): string {
  return printable(plainText(value))
}

function plainText(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return `[${value.map(nested).join(', ')}]`
  if (!isJsonObject(value)) return writeJson(value)
  return elementText(value) ?? mapText(value)
}

/** A text within another value is quoted. */
function nested(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : plainText(value)
}

function mapText(map: ElementData): string {
  return `{${Object.entries(map)
    .map(([name, value]) => `${name}: ${nested(value)}`)
    .join(', ')}}`
}

function elementText(value: ElementData): string | null {
  switch (value.kind) {
    case 'node':
      return `(${keyText(value)}${propertiesText(value)})`
    case 'relationship':
      return `(${keyText(value.source as ElementData)})${hopText(value)}(${keyText(value.target as ElementData)})`
    case 'path':
      return pathText(value)
    default:
      return null
  }
}

function pathText({ nodes, relationships }: ElementData): string {
  const [first, ...others] = nodes as readonly ElementData[]
  const hops = relationships as readonly ElementData[]
  let before = first as ElementData
  return others.reduce(
    (text, node, at) => {
      const hop = hops[at] as ElementData
      const isForward = keyText(hop.source as ElementData) === keyText(before)
      before = node
      return `${text}${isForward ? hopText(hop) : `<-${relationshipText(hop)}-`}(${keyText(node)})`
    },
    `(${keyText(before)})`,
  )
}

function hopText(relationship: ElementData): string {
  return `-${relationshipText(relationship)}->`
}

function relationshipText(relationship: ElementData): string {
  return `[:${String(relationship.type)}${propertiesText(relationship)}]`
}

function keyText({ type, external_id }: ElementData): string {
  return `${String(type ?? '')}:${String(external_id ?? '')}`
}

function propertiesText({ properties }: ElementData): string {
  return isJsonObject(properties) && Object.keys(properties).length > 0 ? ` ${mapText(properties)}` : ''
}

/** A text in one line, without characters that could change the terminal or cannot be seen: they are shown as escapes. */
export function printable(text: string): string {
  return escapeInvisible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\u0009')
}

/** The issue of an option whose text a record keeps for people: it must be one line, in which each character can be seen. */
export function unseenCharacterIssue(option: string, text: string): string | null {
  if (printable(text) === text) return null
  return `${option}: it has a character that cannot be seen: write one line of visible characters`
}

/** A line of CSV (RFC 4180). */
export function csvLine(cells: readonly unknown[]): string {
  return cells.map(csvCell).join(',')
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : writeJson(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
