// Finds elements that earlier versions stored, and that this version refuses or stores in another way. They are no damage: they are read
// as before, and an integer in more bits than it needs as the number that it equals.

import { canonicalProperty, elementNameIssue, externalIdIssue } from '../../engine/value/canonical-property.ts'
import { TRUST_SCORE_LABEL } from '../../kernel/element-rules.ts'
import type { ValueView } from '../format/bytes.ts'
import {
  externalIdOf,
  hasWideIntegers,
  labelsOf,
  type StoredProperties,
  storedPropertiesOf,
  typeOf,
} from '../format/records.ts'
import { symbolText } from '../format/symbol-names.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'

/** More than this does not help an operator. */
const NOTICES_MAX = 100

/** Whether this version would write the name of a label or of a type. */
export function isUsualName(name: string): boolean {
  return name === TRUST_SCORE_LABEL || elementNameIssue(name) === null
}

/** Whether this version would write the external id. */
export function isUsualId(externalId: string): boolean {
  return externalIdIssue(externalId) === null
}

/** Whether this version would write the properties of a record as they are stored. */
export function hasUsualProperties(valueView: ValueView, properties: StoredProperties): boolean {
  if (hasWideIntegers(valueView)) return false
  for (const { value } of properties.values()) if (value !== null && !canonicalProperty(value).ok) return false
  return true
}

/** Returns a sentence for each such element, at most a hundred. `which`: `rewritten`: only those that `migrate` stores in another way. */
export function earlierValues(
  databases: Databases,
  readOptions: ReadOptions,
  which: 'all' | 'rewritten' = 'all',
): string[] {
  const names: string[][] = [[], [], []]
  const range = { end: undefined, ...readOptions }
  for (const { key, valueView } of databases.symbols.entries({ start: { kind: 0, symbol: 0 }, ...range }))
    names[key.kind]![key.symbol] = symbolText(valueView)
  const notices: string[] = []
  const add = (element: string, valueView: ValueView, symbols: readonly string[]): void => {
    for (const name of which === 'all' ? symbols : [])
      if (!isUsualName(name)) notices.push(`${element}: \`${name}\`: ${elementNameIssue(name)}`)
    if (hasWideIntegers(valueView))
      notices.push(`${element}: an integer is stored in more bits than it needs: \`migrate\` stores it as the number`)
    if (which === 'rewritten') return
    for (const [symbol, { value }] of storedPropertiesOf(valueView)) {
      const canonical = value === null ? null : canonicalProperty(value)
      if (canonical !== null && !canonical.ok)
        notices.push(`${element}: the property \`${names[2]![symbol]}\`: ${canonical.error}: write it again`)
    }
  }
  for (const { key, valueView } of databases.nodes.entries({ start: 1, ...range })) {
    if (notices.length >= NOTICES_MAX) break
    const type = typeOf(valueView)
    const [label, externalId] = [names[0]![type], externalIdOf(valueView)]
    const element = type === 0 ? `the node ${key}` : `the node \`${label}\` ${JSON.stringify(externalId)}`
    if (which === 'all' && type !== 0 && !isUsualId(externalId))
      notices.push(`${element}: the external id: ${externalIdIssue(externalId)}`)
    add(
      element,
      valueView,
      labelsOf(valueView).map((symbol) => names[0]![symbol]!),
    )
  }
  for (const { key, valueView } of databases.relationships.entries({ start: 1, ...range })) {
    if (notices.length >= NOTICES_MAX) break
    const type = names[1]![typeOf(valueView)]!
    add(`the relationship ${key} \`${type}\``, valueView, [type])
  }
  return notices.slice(0, NOTICES_MAX)
}
