// Finds exclusions that a null turns off: a comparison with null is not true, so a pattern or a filter that excludes by it finds
// nothing, and the request is granted. Reads the syntax tree; lint and the warnings of stored policies report the findings.
import type { Expression, Query, Span } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { walkTree } from '../../grammar/walk.ts'

/** A comparison inside of an exclusion that may be null. */
export interface OpenExclusion {
  readonly span: Span
  readonly message: string
  /** The text to write at `span`: with it a null excludes. Null if the comparison must be moved to a WHERE first. */
  readonly suggestion: string | null
}

/** Parameters that always have a value. */
const alwaysSet: ReadonlySet<string> = new Set([
  'subject_external_id',
  'subject_type',
  'resource_external_id',
  'resource_type',
])

/** Fields that every element has. */
const alwaysThere: ReadonlySet<string> = new Set(['external_id', 'type', 'id', 'create_time', 'update_time'])

/** The exclusions of a text that a null turns off; none if the text does not parse. */
export function openExclusionsIn(text: string): readonly OpenExclusion[] {
  const parsed = parse(text)
  return parsed.ok ? openExclusions(parsed.query, text) : []
}

/** The exclusions of a query that a null turns off. `text`: its source. */
export function openExclusions(query: Query, text: string): readonly OpenExclusion[] {
  const search = new ExclusionSearch(query, text)
  walkTree(query, (node) => search.enter(node as Expression))
  return search.found
}

/** A part of the tree by its members: bodies of subqueries and clauses differ, and all may have these. */
interface TreePart {
  readonly kind?: string
  readonly span?: Span
  readonly variable?: { readonly text: string } | null
  readonly where?: Expression | null
  readonly range?: unknown
  readonly properties?: Expression | null
}

class ExclusionSearch {
  readonly found: OpenExclusion[] = []
  private readonly text: string
  /** The texts of the operands of IS NULL and IS NOT NULL: their author has decided what a null means. */
  private readonly tested = new Set<string>()
  private readonly entered = new WeakSet<object>()
  /** The OPTIONAL MATCH that declares a name. */
  private readonly optional = new Map<string, object>()
  /** The expressions of WITH that have a name. */
  private readonly projected = new Map<string, Expression>()
  private readonly reported = new Set<number>()
  /** The names of the excluded pattern, or of the item of a list. */
  private own: ReadonlySet<string> = new Set()

  constructor(query: Query, text: string) {
    this.text = text
    walkTree(query, (node) => {
      if (node.kind === 'match' && node.optional) {
        for (const name of declaredBy(node)) this.optional.set(name, node)
      }
      if (node.kind === 'with') {
        for (const { alias, expression } of node.items) {
          if (alias !== null && expression.kind !== 'variable') this.projected.set(alias.text, expression)
        }
      }
      if (node.kind === 'null-test') this.tested.add(this.textOf(node.operand))
    })
  }

  /** Each expression of the query, parents first: one that tests for emptiness begins an exclusion. */
  enter(expression: Expression): void {
    if (!this.entered.has(expression)) this.condition(expression, true)
  }

  /** `mustHold`: the row is kept if the expression is true; otherwise if it is false. */
  private condition(expression: Expression, mustHold: boolean): void {
    this.entered.add(expression)
    switch (expression.kind) {
      case 'unary':
        if (expression.operator === 'NOT') this.condition(expression.operand, !mustHold)
        return
      case 'binary':
        if (expression.operator !== 'AND' && expression.operator !== 'OR') return
        this.condition(expression.left, mustHold)
        this.condition(expression.right, mustHold)
        return
      case 'exists':
      case 'pattern-predicate':
        if (!mustHold) this.excluded(expression)
        return
      case 'quantifier':
        if (expression.quantifier === (mustHold ? 'none' : 'any')) this.excluded(expression)
        return
      case 'function':
        if (mustHold && expression.name.text.toLowerCase() === 'isempty') this.excluded(expression.args)
        return
      case 'comparison': {
        const [only, ...others] = expression.rest
        if (only === undefined || others.length > 0) return
        const { operator, operand } = only
        if (operand.kind === 'boolean' && (operator === '=' || operator === '<>')) {
          this.condition(expression.first, mustHold === (operand.value === (operator === '=')))
        } else if (operand.kind === 'integer') {
          const isEmpty = `${operator}${operand.value}`
          if ((mustHold ? ['=0', '<1', '<=0'] : ['>0', '>=1', '<>0']).includes(isEmpty)) this.excluded(expression.first)
        } else if (expression.first.kind === 'integer') {
          const isEmpty = `${expression.first.value}${operator}`
          if ((mustHold ? ['0=', '1>', '0>='] : ['0<', '1<=', '0<>']).includes(isEmpty)) this.excluded(operand)
        }
        return
      }
      case 'variable': {
        const projected = this.projected.get(expression.name)
        if (projected === undefined) return
        // A name may be projected again from itself.
        this.projected.delete(expression.name)
        this.condition(projected, mustHold)
        this.projected.set(expression.name, projected)
        return
      }
      case 'null-test': {
        const { operand } = expression
        if (operand.kind === 'variable' && expression.negated !== mustHold) this.excluded(operand)
      }
    }
  }

  /** The tree, or the expression or the OPTIONAL MATCH whose name it is, must be empty for the row to be kept. */
  private excluded(given: unknown): void {
    const { kind, name } = given as { kind?: string; name?: string }
    const tree = kind === 'variable' ? (this.optional.get(name!) ?? this.projected.get(name!)) : given
    if (tree === undefined) return
    const before = this.own
    const own = new Set(before)
    collectNames(tree, own)
    this.own = own
    this.predicates(tree, true)
    this.own = before
  }

  /** The predicates of a pattern, a subquery or a list. `safe`: the value that a null must count as to exclude. */
  private predicates(tree: unknown, safe: boolean): void {
    if (tree === null || typeof tree !== 'object') return
    if (Array.isArray(tree)) {
      for (const item of tree) this.predicates(item, safe)
      return
    }
    const part = tree as TreePart
    if (part.where) this.predicate(part.where, safe)
    if (part.properties?.kind === 'map') this.map(part, part.properties, safe)
    for (const [member, child] of Object.entries(tree)) {
      if (member !== 'where' && member !== 'properties' && member !== 'span') this.predicates(child, safe)
    }
  }

  private predicate(expression: Expression, safe: boolean): void {
    this.entered.add(expression)
    switch (expression.kind) {
      case 'unary':
        if (expression.operator === 'NOT') this.predicate(expression.operand, !safe)
        return
      case 'binary':
        if (expression.operator === 'AND' || expression.operator === 'OR') {
          this.predicate(expression.left, safe)
          this.predicate(expression.right, safe)
          return
        }
        this.compared(expression, [expression.left, expression.right], safe)
        return
      case 'comparison':
        this.compared(expression, [expression.first, ...expression.rest.map(({ operand }) => operand)], safe)
        return
      case 'quantifier':
        if (expression.where) this.predicate(expression.where, expression.quantifier === 'none' ? !safe : safe)
        return
      case 'exists':
      case 'pattern-predicate':
        // Its value is never null: a comparison with null inside of it makes it false.
        if (safe) this.predicates(expression, safe)
        return
      case 'parameter':
      case 'property':
        this.compared(expression, [expression], safe)
    }
  }

  private compared({ span }: Expression, operands: readonly Expression[], safe: boolean): void {
    const nullable = operands.map((operand) => this.nullableIn(operand)).find((name) => name !== null)
    if (nullable !== undefined)
      this.report(span, nullable, `coalesce(${this.text.slice(span.start, span.end)}, ${safe})`)
  }

  private map({ variable, where, range }: TreePart, map: Extract<Expression, { kind: 'map' }>, safe: boolean): void {
    const nullable = map.entries.map(({ value }) => this.nullableIn(value)).find((name) => name !== null)
    if (nullable === undefined) return
    const tests = map.entries.map(({ key, value }) => {
      const test = `${variable?.text}.${this.text.slice(key.span.start, key.span.end)} = ${this.textOf(value)}`
      return this.nullableIn(value) === null ? test : `coalesce(${test}, ${safe})`
    })
    this.report(map.span, nullable, variable && !where && !range ? `WHERE ${tests.join(' AND ')}` : null)
  }

  private report(span: Span, nullable: string, suggestion: string | null): void {
    if (this.reported.has(span.start)) return
    this.reported.add(span.start)
    const message = `\`${nullable}\` may be null, and then this comparison excludes nothing and the request is granted: ${
      suggestion === null ? 'move the comparison to a WHERE and write `coalesce(…, true)`' : `write \`${suggestion}\``
    }`
    this.found.push({ span, message, suggestion })
  }

  /** The text of a parameter, a claim, or a property of an element outside of the exclusion, that may be null. */
  private nullableIn(expression: Expression): string | null {
    const isNullable =
      expression.kind === 'parameter'
        ? !alwaysSet.has(expression.name)
        : expression.kind === 'property' && this.isOuterProperty(expression)
    if (isNullable) return this.tested.has(this.textOf(expression)) ? null : this.textOf(expression)
    if (expression.kind === 'property') {
      const { target } = expression
      // The claim, not the token, is compared.
      const root = this.nullableIn(target)
      return root === null || this.tested.has(this.textOf(expression)) ? null : this.textOf(expression)
    }
    if (expression.kind === 'binary') return this.nullableIn(expression.left) ?? this.nullableIn(expression.right)
    if (expression.kind === 'function' && expression.name.text.toLowerCase() !== 'coalesce') {
      return expression.args.map((arg) => this.nullableIn(arg)).find((name) => name !== null) ?? null
    }
    return null
  }

  private isOuterProperty({ target, key }: Extract<Expression, { kind: 'property' }>): boolean {
    return target.kind === 'variable' && !this.own.has(target.name) && !alwaysThere.has(key.text)
  }

  private textOf({ span }: Expression): string {
    return this.text.slice(span.start, span.end)
  }
}

/** The names that patterns and lists of the tree declare, and those of outer elements that a pattern repeats apart. */
function collectNames(tree: unknown, names: Set<string>): void {
  walkTree(tree, (node) => {
    if (node.kind === 'relationship' && node.variable) names.add(node.variable.text)
    if (node.kind === 'node' && node.variable && !outerNames.has(node.variable.text)) names.add(node.variable.text)
    if (node.kind === 'quantifier' || node.kind === 'list-comprehension') names.add(node.variable.text)
  })
}

function declaredBy(tree: unknown): ReadonlySet<string> {
  const names = new Set<string>()
  collectNames(tree, names)
  return names
}

/** The two elements that every condition binds. */
const outerNames: ReadonlySet<string> = new Set(['subject', 'resource'])
