// Prints expressions. Each is printed so that the server returns the value of the engine, or fails where the engine fails:
// the server accepts some values that the engine refuses, such as one value for a list.
import { isDynamic } from '../../engine/bind/bind-labels.ts'
import type { BoundExpression, BoundLabels, Slot } from '../../engine/bind/bound.ts'
import { nodeField } from '../../engine/value/element-properties.ts'
import { MAP_PROJECTION } from '../../engine/value/functions/function-table.ts'
import { assertNever } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import { elementId, labelsOf, ownField, typeTest } from './element-fields.ts'
import { quotedKey, quotedSymbol } from './names.ts'
import { NotPrintable } from './not-printable.ts'
import type { ParameterKind } from './parameter.ts'
import { isClosed, type Printing } from './printing.ts'
import { javaPattern } from './regular-expression.ts'
import { kindOf } from './static-kind.ts'

type OfKind<Kind extends BoundExpression['kind']> = Extract<BoundExpression, { readonly kind: Kind }>

/** An expression whose value may be of any kind, but has a defined order if it is a list. */
export function printValue(expression: BoundExpression, printing: Printing): string {
  if (isUnordered(expression, printing)) throw new NotPrintable('a list without a defined order')
  return print(expression, 'any', printing)
}

/** An expression whose value may be of any kind, and a list in any order. */
export function printUnordered(expression: BoundExpression, printing: Printing): string {
  return print(expression, 'any', printing)
}

/** A condition. The server accepts some values that are not boolean. */
export function printCondition(expression: BoundExpression, printing: Printing): string {
  const text = print(expression, 'boolean', printing)
  const kind = kindOf(expression)
  if (isClosed(expression) || kind === 'boolean' || kind === 'null') return text
  return guarded(expression, text, 'BOOLEAN', `${printing.failure()} = 1`, printing)
}

/** A list in any order. The server accepts one value for a list in some positions. */
export function printList(expression: BoundExpression, printing: Printing): string {
  const text = print(expression, 'list', printing)
  const kind = kindOf(expression)
  if (isClosed(expression) || kind === 'list' || kind === 'null' || isUnordered(expression, printing)) return text
  return guarded(expression, text, 'LIST<ANY>', `[${printing.failure()}]`, printing)
}

/** The value if it is null or has the type; else a failure. */
function guarded(expression: BoundExpression, text: string, type: string, failure: string, printing: Printing): string {
  const test = (value: string): string => `CASE WHEN ${value} IS :: ${type} THEN ${value} ELSE ${failure} END`
  if (expression.kind === 'slot' || expression.kind === 'element-property') return `(${test(text)})`
  const value = printing.fresh()
  return `head([${value} IN [${text}] | ${test(value)}])`
}

function print(expression: BoundExpression, takes: ParameterKind, printing: Printing): string {
  if (expression.kind === 'constant' && (expression.value === null || typeof expression.value === 'boolean')) {
    return String(expression.value)
  }
  if (isClosed(expression)) return printing.parameter(expression, takes)
  const value = (inner: BoundExpression): string => printValue(inner, printing)
  const any = (inner: BoundExpression): string => printUnordered(inner, printing)
  const condition = (inner: BoundExpression): string => printCondition(inner, printing)
  switch (expression.kind) {
    case 'constant':
    case 'parameter':
      return printing.parameter(expression, takes)
    case 'slot':
      return printing.name(expression.slot)
    case 'element-property':
      if (expression.own !== null) return ownField(printing.name(expression.slot), expression.own, printing)
      // The property of that name on the server is the own field.
      if (expression.slot.kind === 'node' && expression.key === 'external_id') {
        throw new NotPrintable('a captured property with the name of an own field')
      }
      return `${printing.name(expression.slot)}.${capturedKey(expression.key, printing)}`
    case 'element-properties':
      throw new NotPrintable('all properties of an element')
    case 'property':
      return printProperty(expression, printing)
    case 'index':
      return `${value(expression.target)}[${printIndex(expression, printing)}]`
    case 'slice': {
      const bound = (inner: BoundExpression | null): string =>
        inner === null ? '' : printInteger(inner, 'integer', printing)
      return `${printOrderedList(expression.target, printing)}[${bound(expression.from)}..${bound(expression.to)}]`
    }
    case 'label-test':
      if (isDynamic(expression.labels)) return printDynamicTest(expression, printing)
      return `(${any(expression.target)}:${printLabels(expression.labels)})`
    case 'and':
    case 'or':
      return printJunction(expression, printing)
    case 'xor':
      return `(${condition(expression.left)} XOR ${condition(expression.right)})`
    case 'not':
      return `(NOT ${condition(expression.operand)})`
    case 'comparison':
      return typeTest(expression, printing) ?? printComparison(expression, printing)
    case 'binary':
      return printBinary(expression, printing)
    case 'negate':
      return `(-${value(expression.operand)})`
    case 'null-test':
      return `(${any(expression.operand)} IS ${expression.negated ? 'NOT ' : ''}NULL)`
    case 'list':
      return `[${expression.items.map(value).join(', ')}]`
    case 'map':
      return `{${expression.entries.map((entry) => `${quotedKey(entry.key)}: ${value(entry.value)}`).join(', ')}}`
    case 'value-test':
      throw new NotPrintable('a test of a type')
    case 'case':
      return printCase(expression, printing)
    case 'function':
      return printFunction(expression, printing)
    case 'list-comprehension': {
      const { variable, list, where, projection } = expression
      if (where === null && projection === null) return printList(list, printing)
      const from = `${printing.name(variable)} IN ${printList(list, printing)}`
      const kept = where === null ? '' : ` WHERE ${condition(where)}`
      return `[${from}${kept}${projection === null ? '' : ` | ${value(projection)}`}]`
    }
    case 'quantifier': {
      const { quantifier, variable, list, where } = expression
      return `${quantifier}(${printing.name(variable)} IN ${printList(list, printing)} WHERE ${condition(where)})`
    }
    case 'reduce': {
      const { accumulator, initial, variable, list, condition: every } = expression
      if (every !== null) throw new NotPrintable('allReduce')
      const from = `${printing.name(variable)} IN ${printOrderedList(list, printing)}`
      return `reduce(${printing.name(accumulator)} = ${value(initial)}, ${from} | ${value(expression.expression)})`
    }
    case 'exists':
      return printing.parts.exists(expression.match, printing)
    case 'subquery': {
      const { form, part } = expression
      if (printing.optionalDepth > 0 && form !== 'exists') throw new NotPrintable('a subquery in OPTIONAL MATCH')
      return `${form.toUpperCase()} { ${printing.parts.subquery(part, form, printing)} }`
    }
    default:
      return assertNever(expression)
  }
}

/** The server need not evaluate every operand, so operands that may be no conditions are tested before. */
function printJunction({ kind, operands }: OfKind<'and' | 'or'>, printing: Printing): string {
  const tests: string[] = []
  const texts = operands.map((operand) => {
    if (isClosed(operand) || kindOf(operand) !== 'any') return printCondition(operand, printing)
    const text = print(operand, 'boolean', printing)
    tests.push(`${text} IS :: BOOLEAN`)
    return text
  })
  const joined = `(${texts.join(kind === 'and' ? ' AND ' : ' OR ')})`
  if (tests.length === 0) return joined
  return `(CASE WHEN ${tests.join(' AND ')} THEN ${joined} ELSE ${printing.failure()} = 1 END)`
}

/** A list whose order counts. */
function printOrderedList(expression: BoundExpression, printing: Printing): string {
  if (isUnordered(expression, printing)) throw new NotPrintable('a list without a defined order')
  return printList(expression, printing)
}

/** Of an empty list or text, the server accepts any value as a position. */
function printInteger(expression: BoundExpression, takes: 'integer' | 'count', printing: Printing): string {
  if (isClosed(expression)) return printing.parameter(expression, takes)
  if (takes === 'integer' && kindOf(expression) === 'integer') return printValue(expression, printing)
  throw new NotPrintable('a computed position')
}

function capturedKey(key: string, printing: Printing): string {
  const text = quotedKey(key)
  printing.propertyNames.add(key)
  return text
}

function printProperty({ target, key }: OfKind<'property'>, printing: Printing): string {
  const kind = kindOf(target)
  const text = printValue(target, printing)
  const field = nodeField(key)
  if (kind === 'node' && field !== null) {
    if (field === 'external_id' || target.kind === 'slot') return ownField(text, field, printing)
    throw new NotPrintable('an own field of a computed node')
  }
  const isOwn = (field !== null && field !== 'external_id') || key === 'property'
  if (isOwn && kind !== 'map') throw new NotPrintable('an own field of an unknown value')
  // Before 1970 the server rounds it in another direction.
  if (key === 'epochSeconds') throw new NotPrintable('a component of a time')
  return `${text}.${capturedKey(key, printing)}`
}

/** By a text, the index could name an own field of an element. */
function printIndex({ target, index }: OfKind<'index'>, printing: Printing): string {
  const kind = kindOf(target)
  if (kind === 'map' || kindOf(index) === 'integer') return printValue(index, printing)
  if (isClosed(index)) return printing.parameter(index, 'integer')
  throw new NotPrintable('an index of unknown kind')
}

/** A label test with names that only a run knows. */
function printDynamicTest({ target, labels }: OfKind<'label-test'>, printing: Printing): string {
  if (!isElement(target)) throw new NotPrintable('a dynamic label of a computed element')
  const element = printing.name(target.slot)
  const carried = kindOf(target) === 'node' ? `labels(${element})` : `[type(${element})]`
  const test = (part: BoundLabels): string => {
    switch (part.kind) {
      case 'label-and':
      case 'label-or':
        return `(${part.operands.map(test).join(part.kind === 'label-and' ? ' AND ' : ' OR ')})`
      case 'label-not':
        return `(NOT ${test(part.operand)})`
      case 'label-dynamic': {
        if (!isClosed(part.expression)) throw new NotPrintable('a dynamic label that depends on a row')
        const [names, name] = [printing.parameter(part.expression, 'names'), printing.fresh()]
        const list = `CASE WHEN ${names} IS :: STRING THEN [${names}] ELSE ${names} END`
        return `${part.quantifier}(${name} IN ${list} WHERE ${name} IN ${carried})`
      }
      case 'label':
      case 'label-any':
        return `${element}:${printLabels(part)}`
      default:
        return assertNever(part)
    }
  }
  return `(CASE WHEN ${element} IS NULL THEN null ELSE ${test(labels)} END)`
}

/** A label expression in parentheses. */
function printLabels(labels: BoundLabels): string {
  switch (labels.kind) {
    case 'label':
      return quotedSymbol(labels.name)
    case 'label-and':
      return `(${labels.operands.map(printLabels).join('&')})`
    case 'label-or':
      return `(${labels.operands.map(printLabels).join('|')})`
    case 'label-not':
      return `!(${printLabels(labels.operand)})`
    case 'label-any':
      return '%'
    case 'label-dynamic':
      throw new NotPrintable('a dynamic label')
    default:
      return assertNever(labels)
  }
}

function printBinary({ operator, left, right }: OfKind<'binary'>, printing: Printing): string {
  switch (operator) {
    case 'IN':
      return `(${printValue(left, printing)} IN ${printList(right, printing)})`
    case '=~': {
      if (right.kind !== 'constant' || typeof right.value !== 'string') throw new NotPrintable('a regular expression')
      const pattern = printing.parameter({ kind: 'constant', value: javaPattern(right.value) }, 'any')
      return `(${printValue(left, printing)} =~ ${pattern})`
    }
    case '^':
      throw new NotPrintable('the operator ^')
    case '*':
    case '/':
      // Durations of the server are inexact.
      if ([left, right].some((operand) => kindOf(operand) === 'temporal')) throw new NotPrintable('a duration')
      return `(${printFactor(left, printing)} ${operator} ${printFactor(right, printing)})`
    case '+':
      return `(${printSummand(left, right, printing)} + ${printSummand(right, left, printing)})`
    case '-':
    case '%':
    case '||':
    case 'STARTS WITH':
    case 'ENDS WITH':
    case 'CONTAINS':
      return `(${printValue(left, printing)} ${operator} ${printValue(right, printing)})`
    default:
      return assertNever(operator)
  }
}

function printFactor(factor: BoundExpression, printing: Printing): string {
  if (isClosed(factor)) return printing.parameter(factor, 'number')
  const text = printValue(factor, printing)
  // The server computes with durations that are no numbers in another way. A stored value is no duration.
  const isSafe = kindOf(factor) !== 'any' || factor.kind === 'element-property'
  return isSafe ? text : guarded(factor, text, 'INTEGER | FLOAT', printing.failure(), printing)
}

/** The server adds any value to a text; for the engine this is an error. */
function printSummand(summand: BoundExpression, other: BoundExpression, printing: Printing): string {
  const [kind, otherKind] = [kindOf(summand), kindOf(other)]
  if (kind === 'boolean' || kind === 'map')
    throw new NotPrintable('a sum of other values than numbers, texts and lists')
  if (kind === 'temporal' && otherKind !== 'temporal') throw new NotPrintable('a sum of a time and an unknown value')
  const text = printUnordered(summand, printing)
  if (kind !== 'any' || ['integer', 'float', 'number', 'list', 'temporal'].includes(otherKind)) return text
  const value = printing.fresh()
  const test = `CASE WHEN ${value} IS :: INTEGER | FLOAT | STRING | LIST<ANY> THEN ${value} ELSE ${printing.failure()} END`
  return `head([${value} IN [${text}] | ${test}])`
}

function printComparison({ operator, left, right }: OfKind<'comparison'>, printing: Printing): string {
  if (operator === '=' || operator === '<>') {
    return `(${printValue(left, printing)} ${operator} ${printValue(right, printing)})`
  }
  // The server has an order of maps, and compares NaN in lists in another way.
  if (![left, right].some((operand) => isClosed(operand) || isScalar(operand, printing)))
    throw new NotPrintable('an order of values that may be lists or maps')
  const [a, b] = [left, right].map((operand) => {
    if (isClosed(operand)) return printing.parameter(asFloatZero(operand), 'scalar')
    return printValue(operand, printing)
  })
  // Durations have no order on the server. A parameter of the text is never a duration.
  const mayBeDurations = [left, right].every((operand) => !isClosed(operand) && MAY_BE_DURATION.has(kindOf(operand)))
  if (!mayBeDurations) return `(${a} ${operator} ${b})`
  const tested = (text: string): string =>
    `(CASE WHEN ${text} IS :: DURATION NOT NULL THEN ${printing.failure()} = 1 ELSE ${text} ${operator} ${b} END)`
  // A text that is printed twice is short, so that nested comparisons do not grow with each level.
  if (left.kind === 'element-property' || left.kind === 'slot') return tested(a!)
  const value = printing.fresh()
  return `head([${value} IN [${a}] | ${tested(value)}])`
}

const MAY_BE_DURATION: ReadonlySet<string> = new Set(['any', 'temporal'])

const SCALAR_KINDS: ReadonlySet<string> = new Set([
  'null',
  'boolean',
  'integer',
  'float',
  'number',
  'string',
  'temporal',
])

/** Whether the value is no list and no map, or a stored list, which has no NaN: no JSON can contain it. */
export function isScalar(expression: BoundExpression, printing: Printing): boolean {
  if (expression.kind === 'slot' && printing.scalars.has(expression.slot.index)) return true
  return expression.kind === 'element-property' || SCALAR_KINDS.has(kindOf(expression))
}

/** For the server, the float -0.0 is less than the integer 0, but equal to the float 0.0. */
function asFloatZero(expression: BoundExpression): BoundExpression {
  const isZero = expression.kind === 'constant' && expression.value === 0
  return isZero ? { kind: 'constant', value: new Float(0) } : expression
}

function printCase(expression: OfKind<'case'>, printing: Printing): string {
  const { subject, variable, branches, otherwise } = expression
  const value = (inner: BoundExpression): string => printUnordered(inner, printing)
  const last = otherwise === null ? '' : ` ELSE ${value(otherwise)}`
  const tests = (print: (when: BoundExpression) => string): string =>
    branches.map(({ when, then }) => `WHEN ${print(when)} THEN ${value(then)}`).join(' ')
  if (subject === null) return `(CASE ${tests((when) => printCondition(when, printing))}${last} END)`
  const subjectText = printValue(subject, printing)
  // Conditions on the subject: a list of one item gives it a variable.
  const slot = variable ?? { index: -1, name: '', kind: 'value', graph: 0 }
  const name = variable === null ? printing.fresh() : printing.name(slot)
  const text = tests((when) =>
    variable === null ? `${name} = ${printValue(when, printing)}` : printCondition(when, printing),
  )
  return `head([${name} IN [${subjectText}] | CASE ${text}${last} END])`
}

/** Whether the expression is a list whose order depends on the order of rows or of stored labels. */
export function isUnordered(expression: BoundExpression, printing: Printing): boolean {
  const inner = (other: BoundExpression | null): boolean => other !== null && isUnordered(other, printing)
  switch (expression.kind) {
    case 'slot':
      return printing.unordered.has(expression.slot.index)
    case 'subquery':
      return expression.form === 'collect'
    case 'list-comprehension':
      return inner(expression.list)
    case 'slice':
      return inner(expression.target)
    case 'binary':
      return expression.operator === '+' && (inner(expression.left) || inner(expression.right))
    case 'case':
      return inner(expression.otherwise) || expression.branches.some(({ then }) => inner(then))
    case 'function':
      return expression.name === 'labels' || (expression.name === 'coalesce' && expression.args.some(inner))
    default:
      return false
  }
}

/** Whether the value can be NaN, which the server does not group with itself. */
export function maybeNaN(expression: BoundExpression, printing: Printing): boolean {
  switch (expression.kind) {
    case 'slot':
      return printing.maybeNaN.has(expression.slot.index)
    case 'binary':
      return ['+', '-', '*', '/', '%'].includes(expression.operator)
    case 'function':
      return ['sqrt', 'round', 'ceil', 'floor', 'abs'].includes(expression.name) || someOf(expression.args, printing)
    case 'negate':
      return true
    case 'case':
      return someOf(
        [...expression.branches.map(({ then }) => then), ...(expression.otherwise ? [expression.otherwise] : [])],
        printing,
      )
    case 'list':
      return someOf(expression.items, printing)
    case 'map':
      return someOf(
        expression.entries.map(({ value }) => value),
        printing,
      )
    case 'index':
    case 'slice':
    case 'property':
      return maybeNaN(expression.target, printing)
    case 'list-comprehension':
      return (
        maybeNaN(expression.list, printing) ||
        (expression.projection !== null && maybeNaN(expression.projection, printing))
      )
    case 'reduce':
      return true
    case 'subquery':
      return expression.form === 'collect'
    default:
      return false
  }
}

const someOf = (expressions: readonly BoundExpression[], printing: Printing): boolean =>
  expressions.some((expression) => maybeNaN(expression, printing))

// ---------------------------------------------------------------- functions

type Argument = 'value' | 'list' | 'any' | 'integer' | 'count'

/** Functions that have the same value on the server for every argument that the engine accepts, with their arguments. */
const functions: Readonly<Record<string, readonly Argument[]>> = {
  nullIf: ['value', 'value'],
  size: ['any'],
  isEmpty: ['any'],
  head: ['list'],
  last: ['list'],
  tail: ['list'],
  reverse: ['value'],
  range: ['integer', 'integer', 'integer'],
  abs: ['value'],
  sign: ['value'],
  ceil: ['value'],
  floor: ['value'],
  sqrt: ['value'],
  isNaN: ['value'],
  char_length: ['value'],
  substring: ['value', 'count', 'count'],
  left: ['value', 'count'],
  right: ['value', 'count'],
  type: ['value'],
  startNode: ['value'],
  endNode: ['value'],
  nodes: ['value'],
  relationships: ['value'],
  length: ['value'],
}

function printFunction({ name, args }: OfKind<'function'>, printing: Printing): string {
  const [first] = args
  const value = (expression: BoundExpression): string => printValue(expression, printing)
  switch (name) {
    case 'coalesce':
      return `coalesce(${args.map((arg) => printUnordered(arg, printing)).join(', ')})`
    case 'labels':
      if (first?.kind !== 'slot') throw new NotPrintable('labels of a computed node')
      return `(CASE WHEN ${printing.name(first.slot)} IS NULL THEN null ELSE ${labelsOf(printing.name(first.slot), printing)} END)`
    case 'id':
      return `(id(${value(first!)}) + 1)`
    case 'elementId':
      if (!isElement(first)) throw new NotPrintable('elementId of a computed element')
      return elementId(printing.name(first.slot))
    case 'toUpper':
    case 'toLower': {
      const text = printing.fresh()
      const pattern = printing.parameter({ kind: 'constant', value: STABLE_CASE }, 'any')
      const test = `CASE WHEN ${text} IS NULL THEN null WHEN ${text} =~ ${pattern} THEN ${name}(${text}) ELSE ${printing.failure()} END`
      return `head([${text} IN [${value(first!)}] | ${test}])`
    }
    case MAP_PROJECTION: {
      const [, entries, all] = args
      if (all?.kind !== 'constant' || all.value !== false) throw new NotPrintable('all properties of an element')
      return `(CASE WHEN ${value(first!)} IS NULL THEN null ELSE ${value(entries!)} END)`
    }
    case 'date':
    case 'datetime':
      return printTemporal(name, first!, printing)
    case 'round':
      if (args.length > 1) throw new NotPrintable('the function round with a precision')
      return `round(${value(first!)})`
    case 'replace':
    case 'split': {
      // The server takes an empty text apart by UTF-16 units.
      const second = args[1]
      const isPlain = second?.kind === 'constant' && typeof second.value === 'string' && second.value !== ''
      if (!isPlain) throw new NotPrintable(`the function ${name} with a computed text`)
      return `${name}(${args.map(value).join(', ')})`
    }
    default: {
      const takes = Object.hasOwn(functions, name) ? functions[name] : undefined
      if (takes === undefined) throw new NotPrintable(`the function ${name}`)
      const printed = args.map((arg, i) => printArgument(arg, takes[i] ?? 'value', printing))
      return `${name}(${printed.join(', ')})`
    }
  }
}

/** Texts with letters whose case has not changed for many versions of Unicode. The server may have another version. */
const STABLE_CASE = '[\\x{0}-\\x{17F}\\x{370}-\\x{52F}]*'

function printArgument(argument: BoundExpression, takes: Argument, printing: Printing): string {
  switch (takes) {
    case 'any':
      return printUnordered(argument, printing)
    case 'list':
      return printOrderedList(argument, printing)
    case 'integer':
    case 'count':
      return printInteger(argument, takes, printing)
    case 'value':
      return printValue(argument, printing)
    default:
      return assertNever(takes)
  }
}

/** Texts of dates and instants that have one meaning: the zone of an instant is an offset in the text. */
const TEMPORAL_TEXTS: Readonly<Record<string, string>> = {
  date: '[0-9]{4}-[0-9]{2}-[0-9]{2}',
  datetime:
    '[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,9})?(?:Z|[+-](?:0[0-9]|1[0-7]):[0-5][0-9])',
}

/** A date or an instant from a text. The server reads more texts than the engine, and completes them by its own zone. */
function printTemporal(name: string, argument: BoundExpression, printing: Printing): string {
  const value = printing.fresh()
  const pattern = printing.parameter({ kind: 'constant', value: TEMPORAL_TEXTS[name]! }, 'any')
  const test = `CASE WHEN ${value} IS NULL THEN null WHEN ${value} =~ ${pattern} THEN ${name}(${value}) ELSE ${printing.failure()} END`
  return `head([${value} IN [${printValue(argument, printing)}] | ${test}])`
}

function isElement(
  expression: BoundExpression | undefined,
): expression is { readonly kind: 'slot'; readonly slot: Slot } {
  return expression?.kind === 'slot' && ['node', 'relationship'].includes(kindOf(expression))
}
