// Writes random expressions of a type over the names in scope, from the templates of expression-grammar.ts.
import type { Random } from '../generate/random.ts'
import { type GeneratedScope, someNodes } from '../generate/scope.ts'
import {
  composed,
  type ExpressionType,
  expressionTypes,
  leaves,
  scalarTypes,
  type Template,
} from './expression-grammar.ts'

/** Names with values of the types, in addition to those of the scope of clauses. */
export type TypedNames = ReadonlyMap<string, ExpressionType>

/** Writes expressions. `isUsed`: whether a template may be used. */
export class ExpressionWriter {
  private readonly random: Random
  private readonly isUsed: (template: Template) => boolean

  constructor(random: Random, isUsed: (template: Template) => boolean = () => true) {
    this.random = random
    this.isUsed = isUsed
  }

  /** An expression of the type, in parentheses where another may be put next to it. */
  write(type: ExpressionType, scope: GeneratedScope, typed: TypedNames, depth: number): string {
    const { random } = this
    const names = this.namesOf(type, scope, typed)
    const templates = depth > 0 ? (composed[type] ?? []).filter(this.isUsed) : []
    const simple = (leaves[type] ?? []).filter(this.isUsed)
    const choices = [
      [names.length > 0 ? 4 : 0, () => random.pick(names)],
      [simple.length > 0 ? 2 : names.length > 0 ? 0 : 0.01, () => (simple.length > 0 ? random.pick(simple) : 'null')],
      [templates.length > 0 ? 4 : 0, () => this.fill(random.pick(templates), scope, typed, depth - 1)],
    ] as const
    return random.weighted(choices)()
  }

  /** Fills the holes of a template. */
  fill(template: Template, scope: GeneratedScope, typed: TypedNames, depth: number): string {
    const text = template.replaceAll(/\{\{|\}\}|\{([a-z-]+)\}/g, (found, hole?: string) => {
      if (found === '{{') return '{'
      if (found === '}}') return '}'
      return this.hole(hole as string, scope, typed, depth)
    })
    // The holes of templates are atoms: a template with an operator at its top is one only in parentheses.
    return /^[\w.]+\(.*\)$|^\[[^|]*\]$|^\{.*\}$/.test(template) ? text : `(${text})`
  }

  private hole(hole: string, scope: GeneratedScope, typed: TypedNames, depth: number): string {
    const { random } = this
    if (hole === 'small') return String(random.between(0, 3))
    // Without a node in scope: any node.
    if (hole === 'node-name') return someNodes(scope).length > 0 ? random.pick(someNodes(scope)) : ''
    if (hole === 'positive') return String(random.between(1, 5))
    const type =
      hole === 'any'
        ? random.pick(expressionTypes)
        : hole === 'scalar'
          ? random.pick(scalarTypes)
          : (hole as ExpressionType)
    return this.write(type, scope, typed, depth)
  }

  private namesOf(type: ExpressionType, scope: GeneratedScope, typed: TypedNames): string[] {
    const { random } = this
    const own = [...typed].filter(([, of]) => of === type).map(([name]) => name)
    const nodes = someNodes(scope)
    const ofNode = (key: string): string[] => (nodes.length > 0 ? [`${random.pick(nodes)}.${key}`] : [])
    switch (type) {
      case 'node':
        return [...own, ...nodes]
      case 'relationship':
        return [...own, ...scope.relationships]
      case 'path':
        return [...own, ...scope.paths]
      case 'relationships':
        return [...own, ...scope.trails]
      case 'string':
        return [...own, ...ofNode('name'), ...ofNode('external_id')]
      case 'bool':
        return [...own, ...ofNode('flag')]
      case 'strings':
        return [...own, ...ofNode('tags')]
      case 'float':
        return [...own, ...ofNode('num')]
      case 'odd':
        return [...own, ...ofNode('odd'), ...ofNode('num')]
      default:
        return own
    }
  }
}
