// Renders bound expressions as text close to Cypher, for explain.
import type { ValueTestKind } from '../../../grammar/ast.ts'
import { assertNever } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import type { BoundExpression, BoundLabels, BoundMatch } from '../bind/bound.ts'
import { scoreText } from '../bind/score-expression.ts'
import type { Value } from '../value/value.ts'
import { valueTypesText } from '../value/value-type.ts'

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
    case 'label-dynamic':
      return `$${labels.quantifier === 'any' ? 'any' : ''}(${showExpression(labels.expression)})`
    default:
      return assertNever(labels)
  }
}

function stepsText({ nodes, relationships, derived }: BoundMatch): string {
  const ends = [
    ...relationships.map(({ left, right }) => [left, right] as const),
    ...derived.map(({ source, target }) => [source, target] as const),
  ]
  return ends.map(([from, to]) => `${nodes[from]!.slot.name} to ${nodes[to]!.slot.name}`).join(', ')
}

/** The text of an expression. Subqueries are abbreviated. */
export function showExpression(e: BoundExpression): string {
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
      return `${showExpression(e.target)}.${e.key}`
    case 'index':
      return scoreText(e.target) ?? `${showExpression(e.target)}[${showExpression(e.index)}]`
    case 'slice':
      return `${showExpression(e.target)}[${e.from ? showExpression(e.from) : ''}..${e.to ? showExpression(e.to) : ''}]`
    case 'label-test':
      return `${showExpression(e.target)}:${labelText(e.labels)}`
    case 'and':
      return `(${e.operands.map(showExpression).join(' AND ')})`
    case 'or':
      return `(${e.operands.map(showExpression).join(' OR ')})`
    case 'xor':
      return `(${showExpression(e.left)} XOR ${showExpression(e.right)})`
    case 'not':
      return `NOT ${showExpression(e.operand)}`
    case 'comparison':
    case 'binary':
      return `${showExpression(e.left)} ${e.operator} ${showExpression(e.right)}`
    case 'negate':
      return `-${showExpression(e.operand)}`
    case 'null-test':
      return `${showExpression(e.operand)} IS ${e.negated ? 'NOT ' : ''}NULL`
    case 'value-test':
      return `${showExpression(e.operand)} IS ${e.negated ? 'NOT ' : ''}${showValueTest(e.test)}`
    case 'list':
      return `[${e.items.map(showExpression).join(', ')}]`
    case 'map':
      return `{${e.entries.map((entry) => `${entry.key}: ${showExpression(entry.value)}`).join(', ')}}`
    case 'case': {
      const branches = e.branches.map((b) => `WHEN ${showExpression(b.when)} THEN ${showExpression(b.then)}`)
      return [
        'CASE',
        ...(e.subject ? [showExpression(e.subject)] : []),
        ...branches,
        ...(e.otherwise ? [`ELSE ${showExpression(e.otherwise)}`] : []),
        'END',
      ].join(' ')
    }
    case 'function':
      return `${e.name}(${e.args.map(showExpression).join(', ')})`
    case 'list-comprehension':
      return `[${e.variable.name} IN ${showExpression(e.list)}${e.where ? ` WHERE ${showExpression(e.where)}` : ''}${e.projection ? ` | ${showExpression(e.projection)}` : ''}]`
    case 'quantifier':
      return `${e.quantifier}(${e.variable.name} IN ${showExpression(e.list)} WHERE ${showExpression(e.where)})`
    case 'reduce':
      return `${e.condition ? 'allReduce' : 'reduce'}(${e.accumulator.name} = ${showExpression(e.initial)}, ${e.variable.name} IN ${showExpression(e.list)} | ${showExpression(e.expression)}${e.condition ? `, ${showExpression(e.condition)}` : ''})`
    case 'subquery':
      return `${e.form} { query }`
    case 'exists':
      return `exists { ${stepsText(e.match)} }`
    default:
      return assertNever(e)
  }
}

function showValueTest(test: ValueTestKind): string {
  return test.kind === 'type' ? `:: ${valueTypesText(test.types)}` : `${test.form} NORMALIZED`
}

function constant(value: Value): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  if (value instanceof Float) return Number.isInteger(value.value) ? value.value.toFixed(1) : String(value.value)
  if (Array.isArray(value)) return `[${value.map((item) => constant(item as Value)).join(', ')}]`
  if (value instanceof Map)
    return `{${[...value].map(([key, item]) => `${key}: ${constant(item as Value)}`).join(', ')}}`
  return String(value)
}
