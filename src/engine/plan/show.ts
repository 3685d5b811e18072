// A bound expression as text close to Cypher.
import { unreachable } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import type { BoundExpression, BoundLabels } from '../bind/bound.ts'
import type { Value } from '../value/value.ts'

function labelText(labels: BoundLabels): string {
  switch (labels.kind) {
    case 'label':
      return labels.name
    case 'label-and':
      return labels.operands.map(labelText).join('&')
    case 'label-or':
      return `(${labels.operands.map(labelText).join('|')})`
    case 'label-not':
      return `!${labelText(labels.operand)}`
    case 'label-any':
      return '%'
    default:
      return unreachable(labels)
  }
}

export function show(e: BoundExpression): string {
  switch (e.kind) {
    case 'constant':
      return constant(e.value)
    case 'parameter':
      return `$${[e.name, ...e.path].join('.')}`
    case 'slot':
      return e.slot.name
    case 'element-property':
      return `${e.slot.name}.${e.key}`
    case 'element-properties':
      return `properties(${e.slot.name})`
    case 'property':
      return `${show(e.target)}.${e.key}`
    case 'index':
      return `${show(e.target)}[${show(e.index)}]`
    case 'slice':
      return `${show(e.target)}[${e.from ? show(e.from) : ''}..${e.to ? show(e.to) : ''}]`
    case 'label-test':
      return `${show(e.target)}:${labelText(e.labels)}`
    case 'and':
      return `(${e.operands.map(show).join(' AND ')})`
    case 'or':
      return `(${e.operands.map(show).join(' OR ')})`
    case 'xor':
      return `(${show(e.left)} XOR ${show(e.right)})`
    case 'not':
      return `NOT ${show(e.operand)}`
    case 'comparison':
    case 'binary':
      return `${show(e.left)} ${e.operator} ${show(e.right)}`
    case 'negate':
      return `-${show(e.operand)}`
    case 'null-test':
      return `${show(e.operand)} IS ${e.negated ? 'NOT ' : ''}NULL`
    case 'list':
      return `[${e.items.map(show).join(', ')}]`
    case 'map':
      return `{${e.entries.map((entry) => `${entry.key}: ${show(entry.value)}`).join(', ')}}`
    case 'case': {
      const branches = e.branches.map((b) => `WHEN ${show(b.when)} THEN ${show(b.then)}`)
      return [
        'CASE',
        ...(e.subject ? [show(e.subject)] : []),
        ...branches,
        ...(e.otherwise ? [`ELSE ${show(e.otherwise)}`] : []),
        'END',
      ].join(' ')
    }
    case 'function':
      return `${e.name}(${e.args.map(show).join(', ')})`
    case 'list-comprehension':
      return `[${e.variable.name} IN ${show(e.list)}${e.where ? ` WHERE ${show(e.where)}` : ''}${e.projection ? ` | ${show(e.projection)}` : ''}]`
    case 'quantifier':
      return `${e.quantifier}(${e.variable.name} IN ${show(e.list)} WHERE ${show(e.where)})`
    case 'reduce':
      return `reduce(${e.accumulator.name} = ${show(e.initial)}, ${e.variable.name} IN ${show(e.list)} | ${show(e.expression)})`
    case 'subquery':
      return `${e.form} { query }`
    case 'exists':
      return `exists { ${e.match.relationships.map((r) => `${e.match.nodes[r.left]!.slot.name} to ${e.match.nodes[r.right]!.slot.name}`).join(', ')} }`
    default:
      return unreachable(e)
  }
}

function constant(value: Value): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  if (value instanceof Float) return Number.isInteger(value.value) ? value.value.toFixed(1) : String(value.value)
  if (Array.isArray(value)) return `[${value.map((item) => constant(item as Value)).join(', ')}]`
  if (value instanceof Map)
    return `{${[...value].map(([key, item]) => `${key}: ${constant(item as Value)}`).join(', ')}}`
  return String(value)
}
