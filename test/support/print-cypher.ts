// Prints an AST as Cypher: parse(print(query)) is the same tree, apart from spans and `text`.
// Parentheses are printed only where the tree would otherwise be parsed differently.
import type {
  Clause,
  Expression,
  FunctionCall,
  HopRange,
  LabelExpression,
  MapLiteral,
  MapProjectionItem,
  MatchMode,
  NodePattern,
  Parameter,
  PathPattern,
  PathSelector,
  Projection,
  QuantifiedPath,
  Query,
  RelationshipPattern,
  SubqueryBody,
  ValueTestKind,
} from '../../grammar/ast.ts'
import { isKeyword } from '../../grammar/tokens.ts'
import type { ValueType } from '../../grammar/value-types.ts'

/** Prints a query on one line. */
export function print(query: Query): string {
  const input = query.input === null ? '' : `${print(query.input)} NEXT `
  return input + printParts(query)
}

function printParts(query: Query): string {
  return query.parts
    .map((part, i) => {
      const joint = i === 0 ? '' : query.unions[i - 1] === 'all' ? ' UNION ALL ' : ' UNION '
      return joint + part.clauses.map(printClause).join(' ')
    })
    .join('')
}

// ---------------------------------------------------------------- clauses

function printClause(clause: Clause): string {
  switch (clause.kind) {
    case 'use':
      return `USE graph.byName(${printExpression(clause.argument)})`
    case 'match':
      return `${clause.optional ? 'OPTIONAL ' : ''}MATCH ${printMode(clause.mode)}${printPatterns(clause.patterns)}${where(clause.where)}`
    case 'unwind':
      return `UNWIND ${printExpression(clause.list)} AS ${freeName(clause.variable.text)}`
    case 'conditional':
      return clause.branches
        .map(({ when, query }) => `${when === null ? 'ELSE' : `WHEN ${printExpression(when)} THEN`} ${print(query)}`)
        .join(' ')
    case 'block':
      return `{ ${print(clause.query)} }`
    case 'with':
      if (clause.keyword === 'FILTER') return `FILTER${where(clause.where).replace(/^ WHERE/, '')}`
      if (clause.keyword === 'LET') {
        const items = clause.items.map(
          ({ alias, expression }) => `${freeName(alias!.text)} = ${printExpression(expression)}`,
        )
        return `LET ${items.join(', ')}`
      }
      if (clause.keyword === 'ORDER BY') return printOrder(clause).trimStart()
      return `WITH ${printProjection(clause)}${where(clause.where)}`
    case 'return':
      return `RETURN ${printProjection(clause)}`
    case 'call': {
      const { imports } = clause
      const list = imports === null ? '' : imports === '*' ? '(*) ' : `(${names(imports)}) `
      return `${clause.optional ? 'OPTIONAL ' : ''}CALL ${list}{ ${print(clause.query)} }`
    }
  }
}

function names(list: readonly { readonly text: string }[]): string {
  return list.map((name) => freeName(name.text)).join(', ')
}

function where(condition: Expression | null): string {
  return condition === null ? '' : ` WHERE ${printExpression(condition)}`
}

function printProjection(projection: Projection): string {
  const items = projection.items.map(
    (item) => printExpression(item.expression) + (item.alias === null ? '' : ` AS ${freeName(item.alias.text)}`),
  )
  return [
    projection.distinct ? 'DISTINCT ' : '',
    (projection.star ? ['*', ...items] : items).join(', '),
    printOrder(projection),
  ].join('')
}

function printOrder(projection: Projection): string {
  const order = projection.orderBy.map((item) => printExpression(item.expression) + (item.descending ? ' DESC' : ''))
  return [
    order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`,
    projection.skip === null ? '' : ` SKIP ${printExpression(projection.skip)}`,
    projection.limit === null ? '' : ` LIMIT ${printExpression(projection.limit)}`,
  ].join('')
}

// ---------------------------------------------------------------- patterns

function printMode(mode: MatchMode | null): string {
  if (mode === null) return ''
  return mode === 'different' ? 'DIFFERENT RELATIONSHIPS ' : 'REPEATABLE ELEMENTS '
}

function printPatterns(patterns: readonly PathPattern[]): string {
  return patterns.map(printPath).join(', ')
}

function printPath(path: PathPattern): string {
  let chain = printNode(path.nodes[0]!)
  path.relationships.forEach((relationship, i) => {
    chain +=
      relationship.kind === 'quantified-path'
        ? ` ${printQuantified(relationship)} ${printNode(path.nodes[i + 1]!)}`
        : printRelationship(relationship) + printNode(path.nodes[i + 1]!)
  })
  // The condition may read the path, which Neo4j knows within the parentheses only.
  const isInner = path.where !== null && path.selector !== null && path.variable !== null
  const inner = isInner ? `${freeName(path.variable.text)} = ${chain}` : chain
  if (path.where !== null) chain = `(${inner}${where(path.where)})`
  const shortest = path.shortest === 'single' ? 'shortestPath' : 'allShortestPaths'
  const selector = path.selector === null ? '' : `${printSelector(path.selector)} `
  const element = path.shortest === null ? `${selector}${chain}` : `${shortest}(${chain})`
  return path.variable === null || isInner ? element : `${freeName(path.variable.text)} = ${element}`
}

function printSelector({ keep, count }: PathSelector): string {
  switch (keep) {
    case 'any':
      return `ANY ${count}`
    case 'shortest':
      return `SHORTEST ${count}`
    case 'groups':
      return `SHORTEST ${count} GROUPS`
    case 'all':
      return 'ALL'
  }
}

function printQuantified({ pattern, where: condition, range }: QuantifiedPath): string {
  return `(${printPath(pattern)}${where(condition)}){${range.min ?? 0},${range.max ?? ''}}`
}

function printNode(node: NodePattern): string {
  return `(${[
    (node.variable === null ? '' : freeName(node.variable.text)) + labelSuffix(node.labels),
    node.properties === null ? '' : printProperties(node.properties),
    where(node.where).trimStart(),
  ]
    .filter((part) => part !== '')
    .join(' ')})`
}

function printRelationship(relationship: RelationshipPattern): string {
  const { direction, variable, types, range, properties } = relationship
  const detail = [
    (variable === null ? '' : freeName(variable.text)) +
      labelSuffix(types) +
      (range === null || range.form === 'quantifier' ? '' : printRange(range)),
    properties === null ? '' : printProperties(properties),
    where(relationship.where).trimStart(),
  ]
    .filter((part) => part !== '')
    .join(' ')
  const arrow = `${direction === 'left' ? '<' : ''}-${detail === '' ? '' : `[${detail}]`}-${direction === 'right' ? '>' : ''}`
  return range?.form === 'quantifier' ? `${arrow}{${range.min ?? 0},${range.max ?? ''}}` : arrow
}

function printRange({ min, max }: HopRange): string {
  if (min !== null && min === max) return `*${min}`
  return min === null && max === null ? '*' : `*${min ?? ''}..${max ?? ''}`
}

function printProperties(properties: MapLiteral | Parameter): string {
  return printExpression(properties)
}

function labelSuffix(labels: LabelExpression | null): string {
  return labels === null ? '' : `:${printLabels(labels, 0)}`
}

const labelStrength = {
  'label-or': 1,
  'label-and': 2,
  'label-not': 3,
  label: 4,
  'label-any': 4,
  'label-dynamic': 4,
} as const

function printLabels(labels: LabelExpression, atLeast: number): string {
  const own = labelStrength[labels.kind]
  const text = (() => {
    switch (labels.kind) {
      case 'label':
        return anyName(labels.name)
      case 'label-any':
        return '%'
      case 'label-dynamic':
        return `$${labels.quantifier}(${printExpression(labels.expression)})`
      case 'label-not':
        return `!${printLabels(labels.operand, own)}`
      case 'label-and':
        return labels.operands.map((operand) => printLabels(operand, own + 1)).join('&')
      case 'label-or':
        return labels.operands.map((operand) => printLabels(operand, own + 1)).join('|')
    }
  })()
  return own < atLeast ? `(${text})` : text
}

// ---------------------------------------------------------------- expressions

/** Binding strength of each level of rules/expressions.ts. */
const strength = {
  OR: 1,
  XOR: 2,
  AND: 3,
  NOT: 4,
  comparison: 5,
  predicate: 6,
  sum: 7,
  product: 8,
  power: 9,
  sign: 10,
  postfix: 11,
  atom: 12,
} as const

function strengthOf(expression: Expression): number {
  switch (expression.kind) {
    case 'binary':
      switch (expression.operator) {
        case 'OR':
        case 'XOR':
        case 'AND':
          return strength[expression.operator]
        case '+':
        case '||':
        case '-':
          return strength.sum
        case '*':
        case '/':
        case '%':
          return strength.product
        case '^':
          return strength.power
        default:
          return strength.predicate
      }
    case 'unary':
      return expression.operator === 'NOT' ? strength.NOT : strength.sign
    case 'comparison':
      return strength.comparison
    case 'null-test':
    case 'value-test':
      return strength.predicate
    case 'integer':
    case 'float':
      return expression.value < 0 || Object.is(expression.value, -0) ? strength.sign : strength.atom
    case 'property':
    case 'index':
    case 'slice':
    case 'label-test':
      return strength.postfix
    default:
      return strength.atom
  }
}

/** Prints an expression, in parentheses if it binds less tightly than `atLeast`. */
export function printExpression(expression: Expression, atLeast = 0): string {
  const text = printBare(expression)
  return strengthOf(expression) < atLeast ? `(${text})` : text
}

function list(expressions: readonly Expression[]): string {
  return expressions.map((expression) => printExpression(expression)).join(', ')
}

function printBare(expression: Expression): string {
  const own = strengthOf(expression)
  switch (expression.kind) {
    case 'integer':
      return String(expression.value)
    case 'float':
      return printFloat(expression.value)
    case 'string':
      return printString(expression.value)
    case 'boolean':
      return String(expression.value)
    case 'null':
      return 'null'
    case 'list':
      return `[${list(expression.items)}]`
    case 'map':
      return `{${expression.entries.map((entry) => `${anyName(entry.key.text)}: ${printExpression(entry.value)}`).join(', ')}}`
    case 'parameter':
      return `$${/^\d+$/.test(expression.name) ? expression.name : anyName(expression.name)}`
    case 'variable':
      return freeName(expression.name)
    case 'property':
      return `${printExpression(expression.target, own)}.${anyName(expression.key.text)}`
    case 'index':
      return `${printExpression(expression.target, own)}[${printExpression(expression.index)}]`
    case 'slice': {
      const from = expression.from === null ? '' : printExpression(expression.from)
      const to = expression.to === null ? '' : printExpression(expression.to)
      return `${printExpression(expression.target, own)}[${from}..${to}]`
    }
    case 'label-test': {
      // A second label test would merge with the first, and a bar could be read as that of a surrounding comprehension.
      // Parentheses around labels do not change them and cannot be read as a node.
      const target = printExpression(expression.target, expression.target.kind === 'label-test' ? strength.atom : own)
      const labels = printLabels(expression.labels, 0)
      return expression.labels.kind === 'label-or' ? `${target}:(${labels})` : `${target}:${labels}`
    }
    case 'binary':
      return `${printExpression(expression.left, own)} ${expression.operator} ${printExpression(expression.right, own + 1)}`
    case 'comparison':
      return (
        printExpression(expression.first, own + 1) +
        expression.rest.map(({ operator, operand }) => ` ${operator} ${printExpression(operand, own + 1)}`).join('')
      )
    case 'unary':
      return printUnary(expression.operator, expression.operand, own)
    case 'null-test':
      return `${printExpression(expression.operand, own)} IS ${expression.negated ? 'NOT ' : ''}NULL`
    case 'value-test':
      return `${printExpression(expression.operand, own)} IS ${expression.negated ? 'NOT ' : ''}${printTest(expression.test)}`
    case 'case-operand':
      return ''
    case 'case':
      return [
        expression.subject === null ? 'CASE' : `CASE ${printExpression(expression.subject)}`,
        ...expression.branches.map(
          (branch) =>
            `WHEN ${branch.when.map((test) => printExpression(test).trimStart()).join(', ')} THEN ${printExpression(branch.then)}`,
        ),
        ...(expression.otherwise === null ? [] : [`ELSE ${printExpression(expression.otherwise)}`]),
        'END',
      ].join(' ')
    case 'function':
      return printCall(expression)
    case 'count-star':
      return 'count(*)'
    case 'list-comprehension': {
      const projection = expression.projection === null ? '' : ` | ${printExpression(expression.projection)}`
      const head = `${freeName(expression.variable.text)} IN ${printExpression(expression.list)}`
      return `[${head}${where(expression.where)}${projection}]`
    }
    case 'pattern-comprehension':
      return `[${printPath(expression.pattern)}${where(expression.where)} | ${printExpression(expression.projection)}]`
    case 'quantifier': {
      const head = `${freeName(expression.variable.text)} IN ${printExpression(expression.list)}`
      return `${expression.quantifier}(${head}${where(expression.where)})`
    }
    case 'reduce': {
      const start = `${freeName(expression.accumulator.text)} = ${printExpression(expression.initial)}`
      const walk = `${freeName(expression.variable.text)} IN ${printExpression(expression.list)}`
      const step = `${start}, ${walk} | ${printExpression(expression.expression)}`
      return expression.condition === null
        ? `reduce(${step})`
        : `allReduce(${step}, ${printExpression(expression.condition)})`
    }
    case 'map-projection':
      return `${freeName(expression.variable.text)} {${expression.items.map(printProjected).join(', ')}}`
    case 'pattern-predicate':
      return printPath(expression.pattern)
    case 'exists':
      return `exists { ${printBody(expression.body)} }`
    case 'count-subquery':
      return `count { ${printBody(expression.body)} }`
    case 'collect-subquery':
      return `collect { ${print(expression.query)} }`
  }
}

function printTest(test: ValueTestKind): string {
  return test.kind === 'type' ? `:: ${printTypes(test.types)}` : `${test.form} NORMALIZED`
}

function printTypes(types: readonly ValueType[]): string {
  return types
    .map(
      ({ name, items, nullable }) =>
        `${name}${items === null ? '' : `<${printTypes(items)}>`}${nullable ? '' : ' NOT NULL'}`,
    )
    .join(' | ')
}

function printUnary(operator: 'NOT' | '-' | '+', operand: Expression, own: number): string {
  if (operator === 'NOT') return `NOT ${printExpression(operand, own)}`
  // Without parentheses: a chain of signs may be longer than the maximum nesting.
  if (operand.kind === 'unary') return `${operator} ${printExpression(operand, own)}`
  // A sign directly before a number would become part of the literal.
  const isNumber = operand.kind === 'integer' || operand.kind === 'float'
  return `${operator}${printExpression(operand, isNumber ? strength.atom + 1 : own)}`
}

function printCall(call: FunctionCall): string {
  const { text } = call.name
  const parts = text.split('.')
  // A name with an empty part was written in back-ticks, including its dots.
  const name = parts.includes('')
    ? quoted(text)
    : parts.map((part, i) => (i === 0 ? functionName(part) : anyName(part))).join('.')
  return `${name}(${call.distinct ? 'DISTINCT ' : ''}${list(call.args)})`
}

function printProjected(item: MapProjectionItem): string {
  switch (item.kind) {
    case 'all':
      return '.*'
    case 'property':
      return `.${anyName(item.key.text)}`
    case 'variable':
      return freeName(item.variable.text)
    case 'entry':
      return `${anyName(item.key.text)}: ${printExpression(item.value)}`
  }
}

function printBody(body: SubqueryBody): string {
  return body.kind === 'query' ? print(body.query) : printPatterns(body.patterns) + where(body.where)
}

// ---------------------------------------------------------------- names and values

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

/** Prints a name where keywords are allowed as names. */
function anyName(name: string): string {
  return plainName.test(name) ? name : quoted(name)
}

function freeName(name: string): string {
  return plainName.test(name) && !isKeyword(name) ? name : quoted(name)
}

/** Keywords that are functions: `(` after them begins nothing else. */
function functionName(name: string): string {
  return /^(?:count|collect|exists)$/i.test(name) ? name : freeName(name)
}

function printFloat(value: number): string {
  const text = Object.is(value, -0) ? '-0.0' : String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function printString(value: string): string {
  return `'${value.replace(/[\\'\n\r\t]/g, (char) => escapes[char]!)}'`
}
