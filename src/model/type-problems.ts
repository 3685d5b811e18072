// Compares a text of Cypher with the declared types of a project: unknown names, properties that a type does not have, relationships
// between types that they cannot connect, and comparisons that are never true. It follows the variables through the clauses with
// the node and relationship types that each can have. What is not known is never a problem.
import type {
  Clause,
  Comparison,
  DefinitionText,
  Expression,
  LabelExpression,
  MapLiteral,
  MatchClause,
  Name,
  NodePattern,
  PathPattern,
  Projection,
  QuantifiedPath,
  Query,
  RelationshipPattern,
  SingleQuery,
  Span,
  SubqueryBody,
} from '../../grammar/ast.ts'
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { parse } from '../../grammar/index.ts'
import type { ValueType, ValueTypeName } from '../../grammar/value-types.ts'
import { labelNames } from '../engine/bind/bind-labels.ts'
import { symbolPhrases, UnknownSymbols } from '../engine/unknown-symbols.ts'
import { nodeFieldNames } from '../engine/value/element-properties.ts'
import { findFunction } from '../engine/value/functions/function-table.ts'
import type { StaticKind } from '../engine/value/static-type.ts'
import { valueTypesText } from '../engine/value/value-type.ts'
import { assertNever } from '../kernel/assert.ts'
import { isReservedName } from '../kernel/element-rules.ts'
import { intersection, type NodeTypes, narrow, textOf } from './connections.ts'
import { allows, type GraphTypes, type RelationshipTypeDeclaration } from './graph-types.ts'
import {
  absentMessage,
  itemOf,
  itemTypes,
  type KnownValue,
  type KnownVariables,
  kindsOf,
  nodesWith,
  nullable,
  only,
  type PossibleTypes,
  propertyOf,
  union,
} from './known-values.ts'

/** A text compared with declared types. */
interface TypedText {
  readonly problems: readonly Diagnostic[]
  /** The variables in scope at the end. */
  readonly variables: KnownVariables
  /** The types of the values that each parameter is compared with, if every use of it is such a comparison. By name without `$`. */
  readonly parameters: ReadonlyMap<string, readonly ValueType[]>
}

type VariableTypes = Map<string, KnownValue>

/** Problems of one text: more would not be read. */
const PROBLEMS_MAX = 100

/** A policy, query or definition is compared with the types only after it compiled, so a text that does not parse has no problems. */
const nothing: TypedText = { problems: [], variables: new Map(), parameters: new Map() }

/**
 * Compares a text with declared types. `labels`: the label of each variable that is bound before the text, such as `subject`. The
 * places of the problems are offsets of the text, in its order.
 */
export function textProblems(
  text: string,
  types: GraphTypes,
  labels: ReadonlyMap<string, string> = new Map(),
): TypedText {
  const parsed = parse(text)
  return parsed.ok ? queryProblems(parsed.query, types, labels) : nothing
}

/** As `textProblems`, for a text that was parsed. */
function queryProblems(query: Query, types: GraphTypes, labels: ReadonlyMap<string, string> = new Map()): TypedText {
  const check = new TypeCheck(types)
  const given: VariableTypes = new Map([...labels].map(([name, label]) => [name, nodesWith(types, label)]))
  const variables = check.query(query, given)
  return { problems: check.problems(), variables, parameters: check.parameters() }
}

/** Compares a definition with the declared types. */
export function definitionProblems({ source, target, body }: DefinitionText, types: GraphTypes): readonly Diagnostic[] {
  const check = new TypeCheck(types)
  const given: VariableTypes = new Map()
  for (const { variable, labels } of [source, target]) given.set(variable.text, check.labelled(labels))
  check.query(body, given)
  return check.problems()
}

const functionTypes: ReadonlyMap<string, ValueTypeName> = new Map([
  ['date', 'DATE'],
  ['localtime', 'LOCAL TIME'],
  ['time', 'ZONED TIME'],
  ['localdatetime', 'LOCAL DATETIME'],
  ['datetime', 'ZONED DATETIME'],
  ['duration', 'DURATION'],
])

const kindTypes: Partial<Readonly<Record<StaticKind, ValueTypeName>>> = {
  boolean: 'BOOLEAN',
  integer: 'INTEGER',
  float: 'FLOAT',
  number: 'FLOAT',
  string: 'STRING',
}

class TypeCheck {
  private readonly types: GraphTypes
  private readonly unknown: UnknownSymbols
  /** By place and message: a text may be visited more than once. */
  private readonly found = new Map<string, Diagnostic>()
  /** By name and place, the types that a parameter is compared with; empty for another use. */
  private readonly uses = new Map<string, Map<number, readonly ValueType[]>>()

  constructor(types: GraphTypes) {
    this.types = types
    this.unknown = new UnknownSymbols([types], 'declared')
  }

  problems(): readonly Diagnostic[] {
    return [...this.found.values()].sort((a, b) => a.span.start - b.span.start)
  }

  parameters(): ReadonlyMap<string, readonly ValueType[]> {
    return new Map(
      [...this.uses].flatMap(([name, places]) => {
        const types = [...places.values()]
        return types.every(({ length }) => length > 0) ? [[name, types.flat()] as const] : []
      }),
    )
  }

  /** Notes what a parameter is compared with; any other expression is ignored. */
  private use(expression: Expression, types: PossibleTypes): void {
    if (expression.kind !== 'parameter') return
    const places = this.uses.get(expression.name) ?? new Map<number, readonly ValueType[]>()
    this.uses.set(expression.name, places)
    const { start } = expression.span
    places.set(start, [...(places.get(start) ?? []), ...(types ?? [])])
  }

  private report(code: string, message: string, { start, end }: Span): void {
    if (this.found.size < PROBLEMS_MAX) this.found.set(`${start} ${message}`, { code, message, span: { start, end } })
  }

  /** Reports a name that the model does not declare. Returns whether it is one. */
  private isUnknown(
    kind: 'label' | 'type' | 'property',
    { text, span }: Name,
    element: 'node' | 'relationship' | null = null,
  ): boolean {
    const message = this.unknown.messageFor({ kind, name: text, element })
    if (message !== null) this.report(symbolPhrases[kind].code, message, span)
    return message !== null
  }

  // ---------------------------------------------------------------- clauses

  /** Returns the variables at the end: the columns of a query with RETURN. */
  query({ input, parts }: Query, outer: KnownVariables): KnownVariables {
    const start = input === null ? outer : new Map([...outer, ...this.query(input, outer)])
    const results = parts.map((part) => this.part(part, start))
    const [first, ...others] = results
    if (first === undefined) return new Map()
    if (others.length === 0) return first
    return new Map(
      [...first].map(([name, known]) => [
        name,
        others.reduce<KnownValue>((a, b) => union(a, b.get(name) ?? null), known),
      ]),
    )
  }

  private part({ clauses }: SingleQuery, outer: KnownVariables): KnownVariables {
    let scope: VariableTypes = new Map(outer)
    for (const clause of clauses) scope = this.clause(clause, scope)
    return scope
  }

  private clause(clause: Clause, scope: VariableTypes): VariableTypes {
    switch (clause.kind) {
      case 'use':
        this.expression(clause.argument, scope)
        return scope
      case 'match':
        this.match(clause, scope)
        return scope
      case 'unwind': {
        const list = this.expression(clause.list, scope)
        scope.set(clause.variable.text, itemOf(list))
        return scope
      }
      case 'with':
      case 'return':
        return this.projection(clause, clause.kind === 'with' ? clause.where : null, scope)
      case 'call': {
        const { imports, query } = clause
        const importsByWith = imports === null && query.parts[0]?.clauses[0]?.kind === 'with'
        const inner: KnownVariables =
          imports === '*' || importsByWith
            ? scope
            : new Map((imports ?? []).map(({ text }) => [text, scope.get(text) ?? null] as const))
        for (const [name, known] of this.query(query, inner)) if (!scope.has(name)) scope.set(name, known)
        return scope
      }
      case 'conditional': {
        const results = clause.branches.map(({ when, query }) => {
          if (when !== null) this.expression(when, scope)
          return this.query(query, scope)
        })
        for (const [name, known] of results[0] ?? []) {
          scope.set(
            name,
            results.reduce<KnownValue>((a, b) => union(a, b.get(name) ?? null), known),
          )
        }
        return scope
      }
      case 'block':
        return new Map(this.query(clause.query, scope))
      default:
        return assertNever(clause)
    }
  }

  private match({ optional, patterns, where }: MatchClause, scope: VariableTypes): void {
    const inner: VariableTypes = optional ? new Map(scope) : scope
    for (const pattern of patterns) this.path(pattern, inner)
    if (where !== null) this.expression(where, inner)
    // A row of an optional match that found nothing keeps what was known before.
    if (optional) for (const [name, known] of inner) if (!scope.has(name)) scope.set(name, known)
  }

  private projection(
    { star, items, orderBy, skip, limit }: Projection,
    where: Expression | null,
    scope: VariableTypes,
  ): VariableTypes {
    const after: VariableTypes = star ? new Map(scope) : new Map()
    for (const { expression, alias, text } of items) {
      const known = this.value(expression, scope)
      after.set(alias?.text ?? (expression.kind === 'variable' ? expression.name : text), known)
    }
    const both: VariableTypes = new Map([...scope, ...after])
    for (const { expression } of orderBy) this.expression(expression, both)
    for (const count of [skip, limit]) if (count !== null) this.expression(count, both)
    if (where !== null) this.expression(where, both)
    return after
  }

  // ---------------------------------------------------------------- patterns

  /** The nodes that a label expression allows. Reports unknown labels, and labels that no type has together. */
  labelled(labels: LabelExpression | null): KnownValue {
    const any: KnownValue = { kind: 'node', types: null }
    if (labels === null) return any
    const names = labelNames(labels)
    const unknown = names.filter(({ name, span }) => this.isUnknown('label', { text: name, span }))
    if (unknown.length > 0 || names.some(({ name }) => isReservedName(name))) return any
    const found = this.types.nodes.filter((type) => allows(labels, type.labels))
    if (found.length > 0) return { kind: 'node', types: new Set(found) }
    const all = names.map(({ name }) => `\`${name}\``).join(', ')
    this.report('ImpossiblePattern', `no declared node type has labels as the pattern asks for (${all})`, labels.span)
    return any
  }

  private path(pattern: PathPattern, scope: VariableTypes): void {
    const sets = pattern.nodes.map((node) => this.node(node, scope))
    const candidates = pattern.relationships.map((step) =>
      step.kind === 'relationship' ? this.relationshipTypes(step) : null,
    )
    narrow(pattern, sets, candidates, (message, span) => this.report('ImpossiblePattern', message, span))
    const nodes = pattern.nodes.map(({ labels }, at): KnownValue => {
      const types = sets[at]!
      // The names of the service's own nodes are not declared.
      const isOwn =
        types === null &&
        [labels, typesOf(pattern.relationships[at - 1]), typesOf(pattern.relationships[at])].some(isOfService)
      return isOwn ? null : { kind: 'node', types }
    })
    pattern.nodes.forEach(({ variable }, at) => {
      if (variable !== null) scope.set(variable.text, nodes[at]!)
    })
    const steps = pattern.relationships.map(
      (step, at): KnownValue =>
        isOfService(typesOf(step)) ? null : { kind: 'relationship', types: candidates[at] ?? null },
    )
    pattern.relationships.forEach((step, at) => {
      if (step.kind === 'quantified-path') {
        const inner: VariableTypes = new Map(scope)
        this.path(step.pattern, inner)
        if (step.where !== null) this.expression(step.where, inner)
        for (const name of inner.keys()) if (!scope.has(name)) scope.set(name, null)
      } else if (step.variable !== null) {
        scope.set(step.variable.text, step.range === null ? steps[at]! : null)
      }
    })
    if (pattern.variable !== null) scope.set(pattern.variable.text, null)
    pattern.nodes.forEach(({ properties, where }, at) => {
      if (properties?.kind === 'map') this.entries(properties, nodes[at]!, scope)
      if (where !== null) this.expression(where, scope)
    })
    pattern.relationships.forEach((step, at) => {
      if (step.kind === 'quantified-path') return
      if (step.properties?.kind === 'map') this.entries(step.properties, steps[at]!, scope)
      if (step.where !== null) this.expression(step.where, scope)
    })
    if (pattern.where !== null) this.expression(pattern.where, scope)
  }

  private node({ variable, labels }: NodePattern, scope: KnownVariables): NodeTypes {
    const own = this.labelled(labels)
    const types = own?.kind === 'node' ? own.types : null
    const before = variable === null ? null : (scope.get(variable.text) ?? null)
    if (before?.kind !== 'node' || before.types === null) return types
    if (types === null) return before.types
    const both = intersection(before.types, types)
    if (both.size > 0) return both
    const message = `\`${variable!.text}\` is ${textOf(before.types)}, so it cannot be ${textOf(types)}`
    this.report('ImpossiblePattern', message, labels!.span)
    return null
  }

  /** The declarations that a relationship of a pattern can have; null: not known. */
  private relationshipTypes({ types }: RelationshipPattern): readonly RelationshipTypeDeclaration[] | null {
    if (types === null) return null
    const names = labelNames(types)
    const unknown = names.filter(({ name, span }) => this.isUnknown('type', { text: name, span }))
    if (unknown.length > 0 || !isAlternatives(types) || names.some(({ name }) => isReservedName(name))) return null
    return names.flatMap(({ name }) => this.types.relationshipsNamed(name))
  }

  /** The entries of a map in a pattern: properties that must be equal to a value. */
  private entries({ entries }: MapLiteral, known: KnownValue, scope: KnownVariables): void {
    for (const { key, value } of entries) {
      const left = this.property(known, key)
      this.use(value, left)
      this.compare(left, this.expression(value, scope), { start: key.span.start, end: value.span.end })
    }
  }

  // ---------------------------------------------------------------- expressions

  /** The types of a property of an element. Reports a property that its types do not have. */
  private property(known: KnownValue, key: Name): PossibleTypes {
    const element = known?.kind === 'node' || known?.kind === 'relationship' ? known.kind : null
    const { text } = key
    if (isReservedName(text) || (element !== 'relationship' && nodeFieldNames.includes(text))) return null
    if (element === null) return null
    if (this.isUnknown('property', key, element)) return null
    const found = propertyOf(known, text)
    if (found !== 'absent') return found
    this.report('UnknownProperty', absentMessage(known, text, this.types), key.span)
    return null
  }

  private value(expression: Expression, scope: KnownVariables): KnownValue {
    if (expression.kind === 'variable') return scope.get(expression.name) ?? null
    const types = this.expression(expression, scope)
    return types === null ? null : { kind: 'value', types }
  }

  private all(expressions: readonly (Expression | null)[], scope: KnownVariables): null {
    for (const expression of expressions) if (expression !== null) this.expression(expression, scope)
    return null
  }

  /** Checks an expression. Returns the types that its value can have; null: not known. */
  private expression(expression: Expression, scope: KnownVariables): PossibleTypes {
    switch (expression.kind) {
      case 'integer':
        return only('INTEGER')
      case 'float':
        return only('FLOAT')
      case 'string':
        return only('STRING')
      case 'boolean':
        return only('BOOLEAN')
      case 'parameter':
        this.use(expression, null)
        return null
      case 'null':
      case 'count-star':
      case 'case-operand':
        return null
      case 'variable': {
        const known = scope.get(expression.name) ?? null
        return known?.kind === 'value' ? known.types : null
      }
      case 'list': {
        const items = expression.items.map((item) => this.expression(item, scope))
        const isKnown = items.length > 0 && items.every((item) => item !== null)
        return isKnown ? [{ name: 'LIST', items: items.flatMap((item) => item ?? []), nullable: true }] : null
      }
      case 'map':
        return this.all(
          expression.entries.map(({ value }) => value),
          scope,
        )
      case 'property':
        return this.read(expression, scope)
      case 'index':
        return this.all([expression.target, expression.index], scope)
      case 'slice':
        return this.all([expression.target, expression.from, expression.to], scope)
      case 'label-test':
        this.labelTest(expression.target, expression.labels, scope)
        return only('BOOLEAN')
      case 'binary':
        return this.binary(expression, scope)
      case 'comparison':
        this.comparison(expression, scope)
        return only('BOOLEAN')
      case 'unary': {
        const operand = this.expression(expression.operand, scope)
        return expression.operator === 'NOT' ? only('BOOLEAN') : operand
      }
      case 'null-test':
      case 'value-test':
        this.expression(expression.operand, scope)
        return only('BOOLEAN')
      case 'case':
        return this.all(
          [
            expression.subject,
            ...expression.branches.flatMap(({ when, then }) => [...when, then]),
            expression.otherwise,
          ],
          scope,
        )
      case 'function': {
        const { name, args } = expression
        for (const one of args) this.expression(one, scope)
        const temporal = functionTypes.get(name.text.toLowerCase())
        if (temporal !== undefined) return only(temporal)
        const kind = findFunction(name.text)?.resultType.kind
        const result = kind === undefined ? undefined : kindTypes[kind]
        return result === undefined ? null : only(result)
      }
      case 'list-comprehension': {
        const inner = this.withItem(expression.variable, expression.list, scope)
        return this.all([expression.where, expression.projection], inner)
      }
      case 'quantifier': {
        const inner = this.withItem(expression.variable, expression.list, scope)
        this.all([expression.where], inner)
        return only('BOOLEAN')
      }
      case 'reduce': {
        this.expression(expression.initial, scope)
        const inner = this.withItem(expression.variable, expression.list, scope)
        inner.set(expression.accumulator.text, null)
        return this.all([expression.expression, expression.condition], inner)
      }
      case 'pattern-comprehension': {
        const inner: VariableTypes = new Map(scope)
        this.path(expression.pattern, inner)
        return this.all([expression.where, expression.projection], inner)
      }
      case 'map-projection': {
        const known = scope.get(expression.variable.text) ?? null
        for (const item of expression.items) {
          if (item.kind === 'property') this.property(known, item.key)
          else if (item.kind === 'entry') this.expression(item.value, scope)
        }
        return null
      }
      case 'pattern-predicate':
        this.path(expression.pattern, new Map(scope))
        return only('BOOLEAN')
      case 'exists':
        this.subquery(expression.body, scope)
        return only('BOOLEAN')
      case 'count-subquery':
        this.subquery(expression.body, scope)
        return only('INTEGER')
      case 'collect-subquery':
        this.query(expression.query, scope)
        return null
      default:
        return assertNever(expression)
    }
  }

  private subquery(body: SubqueryBody, scope: KnownVariables): void {
    if (body.kind === 'query') {
      this.query(body.query, scope)
      return
    }
    const inner: VariableTypes = new Map(scope)
    for (const pattern of body.patterns) this.path(pattern, inner)
    if (body.where !== null) this.expression(body.where, inner)
  }

  private withItem({ text }: Name, list: Expression, scope: KnownVariables): VariableTypes {
    const inner: VariableTypes = new Map(scope)
    inner.set(text, itemOf(this.expression(list, scope)))
    return inner
  }

  private read({ target, key }: Extract<Expression, { kind: 'property' }>, scope: KnownVariables): PossibleTypes {
    if (target.kind === 'variable') {
      const known = scope.get(target.name) ?? null
      // `n.property` is the map of all properties, and `n.trust_score` another node.
      if (key.text === 'property' || (key.text === 'trust_score' && known?.kind === 'node')) return null
      return this.property(known, key)
    }
    if (target.kind === 'property' && target.target.kind === 'variable') {
      const known = scope.get(target.target.name) ?? null
      if (target.key.text === 'property') return this.property(known, key)
      if (target.key.text === 'trust_score') return null
    }
    this.expression(target, scope)
    return null
  }

  private labelTest(target: Expression, labels: LabelExpression, scope: KnownVariables): void {
    this.expression(target, scope)
    const known = target.kind === 'variable' ? (scope.get(target.name) ?? null) : null
    const kind = known?.kind === 'relationship' ? 'type' : 'label'
    if (known?.kind !== 'node' && known?.kind !== 'relationship') return
    for (const { name, span } of labelNames(labels)) this.isUnknown(kind, { text: name, span })
  }

  private binary(
    { operator, left, right, span }: Extract<Expression, { kind: 'binary' }>,
    scope: KnownVariables,
  ): PossibleTypes {
    const types = this.expression(left, scope)
    const others = this.expression(right, scope)
    switch (operator) {
      case 'AND':
      case 'OR':
      case 'XOR':
        return only('BOOLEAN')
      case 'IN':
        this.use(left, itemTypes(others))
        this.use(right, types && [{ name: 'LIST', items: types, nullable: true }])
        this.compare(types, itemTypes(others), span)
        return only('BOOLEAN')
      case 'STARTS WITH':
      case 'ENDS WITH':
      case 'CONTAINS':
      case '=~':
        for (const operand of [left, right]) this.use(operand, only('STRING'))
        for (const operand of [types, others]) this.compare(operand, only('STRING'), span, operator)
        return only('BOOLEAN')
      case '+':
      case '||':
      case '-':
      case '*':
      case '/':
      case '%':
      case '^': {
        const kinds = [kindsOf(types), kindsOf(others)]
        if (kinds.every((one) => one?.size === 1 && one.has('INTEGER'))) return only('FLOAT')
        return null
      }
      default:
        return assertNever(operator)
    }
  }

  private comparison({ first, rest }: Comparison, scope: KnownVariables): void {
    let [left, types] = [first, this.expression(first, scope)]
    for (const { operand } of rest) {
      const others = this.expression(operand, scope)
      this.use(left, others)
      this.use(operand, types)
      this.compare(types, others, { start: left.span.start, end: operand.span.end })
      left = operand
      types = others
    }
  }

  /** Reports values of which none can be equal, less or greater. */
  private compare(left: PossibleTypes, right: PossibleTypes, span: Span, operator: string | null = null): void {
    const [kinds, others] = [kindsOf(left), kindsOf(right)]
    if (kinds === null || others === null || left === null || right === null) return
    for (const kind of kinds) if (others.has(kind)) return
    const [a, b] = [left, right].map((types) => valueTypesText(nullable(types)))
    const message =
      operator === null
        ? `a value of type \`${a}\` is compared with one of type \`${b}\`, which is never true`
        : `\`${operator}\` needs a \`STRING\`, found \`${a}\``
    this.report('IncompatibleTypes', message, span)
  }
}

function typesOf(step: RelationshipPattern | QuantifiedPath | undefined): LabelExpression | null {
  return step?.kind === 'relationship' ? step.types : null
}

function isOfService(labels: LabelExpression | null): boolean {
  return labels !== null && labelNames(labels).some(({ name }) => isReservedName(name))
}

function isAlternatives(labels: LabelExpression): boolean {
  return labels.kind === 'label-or' ? labels.operands.every(isAlternatives) : labels.kind === 'label'
}
