// Collects the bound form of the patterns of one MATCH, and resolves the names in them to slots.
import type { Expression, Name, Span } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { mayBeOneOf, type StaticType } from '../value/static-type.ts'
import type {
  BoundDerived,
  BoundExpression,
  BoundMatch,
  BoundNode,
  BoundRelationship,
  NamedSymbol,
  Slot,
  SlotKind,
} from './bound.ts'
import type { Definition } from './definitions.ts'
import type { ExpressionPosition } from './expression-scope.ts'
import type { VariableScope } from './frame-layout.ts'

/** The functions of the query binder that patterns use. */
export interface PatternDeps {
  /** The names in scope before the pattern. */
  readonly outer: VariableScope
  /** Index of the graph in which the pattern is matched. */
  readonly graph: number
  /** False in a pattern predicate, which must not introduce names. */
  readonly mayDeclare: boolean
  /** A new slot of the graph; null for an element without a name, whose pattern is at `span`. */
  newSlot(name: string | null, kind: SlotKind, span?: Span, type?: StaticType): Slot
  /** Binds an expression in a scope. */
  bind(expression: Expression, scope: VariableScope, position: ExpressionPosition): BoundExpression
  /** Whether a name in scope had no value: an end of a definition, which this pattern introduces. */
  introduces(slot: Slot): boolean
  /** The names that definitions give to relationship types. */
  readonly definitions: DerivedTypes
  /** Binds a step over a derived relationship between two slots. */
  bindDerived(name: string, source: Slot, target: Slot): BoundDerived['branches']
  /** Records what the text names in the graph. */
  nameSymbol(symbol: NamedSymbol): void
  /** Adds a diagnostic. */
  report(diagnostic: Diagnostic): void
}

/** The relationship types that are derived. */
interface DerivedTypes {
  has(name: string): boolean
  get(name: string): Pick<Definition, 'step'> | undefined
}

type PatternElementKind = 'node' | 'relationship' | 'relationships'

/** The patterns of one MATCH while they are bound. */
export class PatternBuilder {
  readonly deps: PatternDeps
  readonly scope: Map<string, Slot>
  readonly nodes: BoundNode[] = []
  readonly nodeIndexBySlot = new Map<number, number>()
  readonly relationships: BoundRelationship[] = []
  readonly derived: BoundDerived[] = []
  readonly paths: BoundMatch['paths'][number][] = []
  readonly casts: BoundMatch['casts'][number][] = []
  /** Predicates to bind after all names of the patterns are declared: inline maps may read other elements. */
  readonly deferredPredicates: (() => BoundExpression)[] = []

  /** `scope`: the names that the patterns can use and to which they add theirs. Default: those before the patterns. */
  constructor(deps: PatternDeps, scope: Map<string, Slot> = new Map(deps.outer)) {
    this.deps = deps
    this.scope = scope
  }

  /** The slot of an element; declares a new name. `known` means that the slot has a value before these patterns. */
  element(name: Name | null, kind: PatternElementKind, span?: Span): { readonly slot: Slot; readonly known: boolean } {
    const { deps } = this
    if (!name) return { slot: deps.newSlot(null, kind, span), known: false }
    const existing = this.scope.get(name.text)
    if (existing) {
      if (existing.kind === 'value' && canCast(existing, kind)) {
        return { slot: this.cast(existing, name, kind), known: true }
      }
      if (existing.kind !== kind) {
        const is = inWords(existing.type?.kind ?? existing.kind)
        const message = `variable \`${name.text}\` is ${is} and cannot be ${inWords(kind)} too`
        this.report('VariableTypeConflict', message, name.span)
      } else if (existing.graph !== deps.graph) {
        const message = `\`${name.text}\` belongs to another graph than this pattern`
        this.report('InvalidGraphReference', message, name.span)
      }
      return { slot: existing, known: this.isBoundOutside(existing) }
    }
    if (!deps.mayDeclare) {
      const message = `a pattern predicate cannot introduce the variable \`${name.text}\``
      this.report('UndefinedVariable', message, name.span)
    }
    return { slot: this.declare(name, kind), known: false }
  }

  /** Declares a name with a new slot. */
  declare(name: Name, kind: SlotKind): Slot {
    const slot = this.deps.newSlot(name.text, kind)
    this.scope.set(name.text, slot)
    return slot
  }

  /** Binds an expression in the scope of the patterns. */
  bind(expression: Expression, position: ExpressionPosition): BoundExpression {
    return this.deps.bind(expression, this.scope, position)
  }

  /** Adds a diagnostic. */
  report(code: string, message: string, span: Span): void {
    this.deps.report({ code, message, span })
  }

  private cast(from: Slot, name: Name, kind: PatternElementKind): Slot {
    const to = this.declare(name, kind)
    this.casts.push({ from, to })
    return to
  }

  private isBoundOutside(slot: Slot): boolean {
    if (this.deps.introduces(slot)) return false
    return this.casts.some((cast) => cast.to === slot) || [...this.deps.outer.values()].includes(slot)
  }
}

function canCast({ type }: Slot, kind: PatternElementKind): boolean {
  if (!type) return true
  if (kind === 'relationships')
    return mayBeOneOf(['list'], type.kind) && mayBeOneOf(['relationship'], type.item?.kind ?? 'any')
  return mayBeOneOf([kind], type.kind)
}

/** The kind of a variable with its article. */
function inWords(kind: string): string {
  if (kind === 'relationships') return 'a list of relationships'
  return `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`
}
