// The own fields of elements in the mapping of the stored graph: external id, type, times and ids as properties of a server.
import type { BoundExpression, Slot } from '../../engine/bind/bound.ts'
import type { ElementField } from '../../engine/store.ts'
import { hidden, quoted, quotedSymbol } from './names.ts'
import { NotPrintable } from './not-printable.ts'
import type { Printing } from './printing.ts'

/** Labels of a node without those of the service. */
export function labelsOf(node: string, printing: Printing): string {
  const label = printing.fresh()
  return `[${label} IN labels(${node}) WHERE NOT toLower(${label}) STARTS WITH '_verdigraph']`
}

/** The type of a node: that of the service, or the first label by name; null without a label. As arguments of `coalesce`. */
function typesOf(node: string, printing: Printing): string {
  const [first, label] = [printing.fresh(), printing.fresh()]
  const least = `reduce(${first} = null, ${label} IN ${labelsOf(node, printing)} | CASE WHEN ${first} IS NULL OR ${label} < ${first} THEN ${label} ELSE ${first} END)`
  return `${node}.${quoted(hidden.type)}, ${least}`
}

/** An own field of a node. As in the engine, a captured property of this name is read from a node without the field. */
export function ownField(node: string, field: ElementField, printing: Printing): string {
  const captured = `${node}.${quoted(field)}`
  switch (field) {
    case 'external_id':
      return captured
    case 'type':
      return `coalesce(${typesOf(node, printing)}, ${captured})`
    case 'create_time':
      return `coalesce(${node}.${quoted(hidden.created)}, ${captured})`
    case 'update_time':
      return `coalesce(${node}.${quoted(hidden.updated)}, ${captured})`
    case 'is_identity':
      return `(CASE WHEN ${node} IS NULL THEN null ELSE coalesce(${node}.${quoted(hidden.identity)}, false) = true END)`
    default:
      throw new NotPrintable(`the own field ${field}`)
  }
}

/** `n.type = 'T'`, so that an index of the label can be used; null for another comparison. */
export function typeTest(expression: BoundExpression, printing: Printing): string | null {
  const read = typeComparison(expression)
  if (read === null) return null
  const node = printing.name(read.slot)
  const type = printing.parameter({ kind: 'constant', value: read.type }, 'any')
  return `(${node}:${quotedSymbol(read.type)} AND coalesce(${typesOf(node, printing)}) = ${type})`
}

/** The slot and the type of a comparison with a constant type; null for another expression. */
export function typeComparison(expression: BoundExpression): { readonly slot: Slot; readonly type: string } | null {
  if (expression.kind !== 'comparison' || expression.operator !== '=') return null
  const { left, right } = expression
  if (right.kind !== 'constant' || typeof right.value !== 'string' || right.value === '') return null
  if (left.kind === 'element-property' && left.own === 'type') return { slot: left.slot, type: right.value }
  const isNode = left.kind === 'property' && left.target.kind === 'slot' && left.target.slot.type?.kind === 'node'
  return isNode && left.key === 'type' ? { slot: (left.target as { slot: Slot }).slot, type: right.value } : null
}

/** The global id of an element; without one, its id as text. */
export function elementId(element: string): string {
  return `coalesce(${element}.${quoted(hidden.id)}, toString(id(${element}) + 1))`
}
