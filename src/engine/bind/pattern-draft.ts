// A pattern while it is bound: what was found of it so far, and which slot each of its names stands for.
import type { Expression, Name, Span } from '../../../grammar/ast.ts'
import type { Issue } from '../../../grammar/issue.ts'
import { admits } from '../value/static-type.ts'
import type { BoundExpression, BoundMatch, BoundNode, BoundRelationship, Slot, SlotKind } from './bound.ts'
import type { Scope } from './frame.ts'
import type { Place } from './scope.ts'

/** What a pattern needs from the binder of the query. */
export interface PatternSite {
  /** Names known before the pattern. */
  readonly outer: Scope
  /** The graph that the pattern is matched in. */
  readonly graph: number
  /** False in a pattern predicate, where a new name is a mistake. */
  readonly mayDeclare: boolean
  fresh(name: string | null, kind: SlotKind): Slot
  bind(expression: Expression, scope: Scope, place: Place): BoundExpression
  report(issue: Issue): void
}

type ElementKind = 'node' | 'relationship' | 'relationships'

export class PatternDraft {
  readonly site: PatternSite
  readonly scope: Map<string, Slot>
  readonly nodes: BoundNode[] = []
  readonly nodeIndexBySlot = new Map<number, number>()
  readonly relationships: BoundRelationship[] = []
  readonly paths: BoundMatch['paths'][number][] = []
  readonly casts: BoundMatch['casts'][number][] = []
  /** Bound after every name of the pattern is declared, since maps may look sideways. */
  readonly later: (() => BoundExpression)[] = []

  constructor(site: PatternSite) {
    this.site = site
    this.scope = new Map(site.outer)
  }

  /** Declares the name where it is new. `known`: it was bound before this pattern, and not by it. */
  element(name: Name | null, kind: ElementKind): { readonly slot: Slot; readonly known: boolean } {
    const { site } = this
    if (!name) return { slot: site.fresh(null, kind), known: false }
    const existing = this.scope.get(name.text)
    if (existing) {
      if (existing.kind === 'value' && castable(existing, kind)) {
        return { slot: this.cast(existing, name, kind), known: true }
      }
      if (existing.kind !== kind) {
        const is = existing.type?.kind ?? existing.kind
        const message = `variable \`${name.text}\` is a ${is} and cannot be a ${kind} too`
        this.report('VariableTypeConflict', message, name.span)
      } else if (existing.graph !== site.graph) {
        const message = `\`${name.text}\` belongs to another graph than this pattern`
        this.report('InvalidGraphReference', message, name.span)
      }
      return { slot: existing, known: this.isKnown(existing) }
    }
    if (!site.mayDeclare) {
      const message = `a pattern predicate cannot introduce the variable \`${name.text}\``
      this.report('UndefinedVariable', message, name.span)
    }
    return { slot: this.declare(name, kind), known: false }
  }

  declare(name: Name, kind: SlotKind): Slot {
    const slot = this.site.fresh(name.text, kind)
    this.scope.set(name.text, slot)
    return slot
  }

  bind(expression: Expression, place: Place): BoundExpression {
    return this.site.bind(expression, this.scope, place)
  }

  report(code: string, message: string, span: Span): void {
    this.site.report({ code, message, span })
  }

  private cast(from: Slot, name: Name, kind: ElementKind): Slot {
    const to = this.declare(name, kind)
    this.casts.push({ from, to })
    return to
  }

  private isKnown(slot: Slot): boolean {
    return this.casts.some((cast) => cast.to === slot) || [...this.site.outer.values()].includes(slot)
  }
}

function castable({ type }: Slot, kind: ElementKind): boolean {
  if (!type) return true
  if (kind === 'relationships') return admits(['list'], type.kind) && admits(['relationship'], type.item?.kind ?? 'any')
  return admits([kind], type.kind)
}
