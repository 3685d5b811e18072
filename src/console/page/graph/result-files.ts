// The rows of an answer as files.
import { exactText, plainValue } from '../exact-json.ts'
import type { GraphRows } from '../graph-api.ts'
import { isElement } from './elements.ts'

/** CSV by RFC 4180. A text that a spreadsheet would execute as a formula begins with an apostrophe. */
export function csvText({ columns, rows }: GraphRows): string {
  return [columns.map(csvValue), ...rows.map((row) => row.map(csvValue))]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('')
}

function csvValue(value: unknown): string {
  if (value === null) return ''
  if (typeof value === 'string') return csvCell(/^[=+\-@\t\r]/.test(value) ? `'${value}` : value)
  return csvCell(isElement(value) ? elementText(value) : plainValue(value))
}

function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The first rows as a JSON array of objects. */
export function jsonRows({ columns, rows }: GraphRows, count = rows.length): string {
  const objects = rows
    .slice(0, count)
    .map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])))
  return exactText(objects, 2)
}

/** A short text for an element. */
export function elementText(value: Parameters<typeof isElement>[0]): string {
  if (!isElement(value)) return plainValue(value)
  switch (value.kind) {
    case 'node':
      return `${value.type ?? ''}:${value.external_id ?? ''}`
    case 'relationship':
      return `${value.source.type}:${value.source.external_id} ${value.type} ${value.target.type}:${value.target.external_id}`
    case 'path':
      return value.nodes
        .map((node, index) => {
          const relationship = value.relationships[index]
          return relationship === undefined ? elementText(node) : `${elementText(node)} ${relationship.type} `
        })
        .join('')
  }
}
