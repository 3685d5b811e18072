// A pattern while it is bound: what was found of it so far, and which slot each of its names stands for.
import type { Expression, Name, Span } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { mayBeOneOf } from '../value/static-type.ts'
import type { BoundExpression, BoundMatch, BoundNode, BoundRelationship, Slot, SlotKind } from './bound.ts'
import type { ExpressionPosition } from './expression-scope.ts'
import type { VariableScope } from './frame-layout.ts'

/** What a pattern needs from the binder of the query. */
export interface PatternDeps {
  /** Names known before the pattern. */
  readonly outer: VariableScope
  /** The graph that the pattern is matched in. */
  readonly graph: number
  /** False in a pattern predicate, where a new name is a mistake. */
  readonly mayDeclare: boolean
  newSlot(name: string | null, kind: SlotKind): Slot
  bind(expression: Expression, scope: VariableScope, place: ExpressionPosition): BoundExpression
  report(issue: Diagnostic): void
}

type PatternElementKind = 'node' | 'relationship' | 'relationships'

export class PatternBuilder {
  readonly deps: PatternDeps
  readonly scope: Map<string, Slot>
  readonly nodes: BoundNode[] = []
  readonly nodeIndexBySlot = new Map<number, number>()
  readonly relationships: BoundRelationship[] = []
  readonly paths: BoundMatch['paths'][number][] = []
  readonly casts: BoundMatch['casts'][number][] = []
  /** Bound after every name of the pattern is declared, since maps may look sideways. */
  readonly deferredPredicates: (() => BoundExpression)[] = []

  constructor(site: PatternDeps) {
    this.deps = site
    this.scope = new Map(site.outer)
  }

  /** Declares the name where it is new. `known`: it was bound before this pattern, and not by it. */
  element(name: Name | null, kind: PatternElementKind): { readonly slot: Slot; readonly known: boolean } {
    const { deps } = this
    if (!name) return { slot: deps.newSlot(null, kind), known: false }
    const existing = this.scope.get(name.text)
    if (existing) {
      if (existing.kind === 'value' && canCast(existing, kind)) {
        return { slot: this.cast(existing, name, kind), known: true }
      }
      if (existing.kind !== kind) {
        const is = existing.type?.kind ?? existing.kind
        const message = `variable \`${name.text}\` is a ${is} and cannot be a ${kind} too`
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

  declare(name: Name, kind: SlotKind): Slot {
    const slot = this.deps.newSlot(name.text, kind)
    this.scope.set(name.text, slot)
    return slot
  }

  bind(expression: Expression, place: ExpressionPosition): BoundExpression {
    return this.deps.bind(expression, this.scope, place)
  }

  report(code: string, message: string, span: Span): void {
    this.deps.report({ code, message, span })
  }

  private cast(from: Slot, name: Name, kind: PatternElementKind): Slot {
    const to = this.declare(name, kind)
    this.casts.push({ from, to })
    return to
  }

  private isBoundOutside(slot: Slot): boolean {
    return this.casts.some((cast) => cast.to === slot) || [...this.deps.outer.values()].includes(slot)
  }
}

function canCast({ type }: Slot, kind: PatternElementKind): boolean {
  if (!type) return true
  if (kind === 'relationships')
    return mayBeOneOf(['list'], type.kind) && mayBeOneOf(['relationship'], type.item?.kind ?? 'any')
  return mayBeOneOf([kind], type.kind)
}
