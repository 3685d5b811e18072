// The state of printing one query: generated names, the parameters of the text, and facts of slots that limit their use.

import type { BoundExpression, BoundMatch, BoundPart, Slot } from '../../engine/bind/bound.ts'
import { containsSubquery, slotsOf, someChild } from '../../engine/bind/expression-tree.ts'
import { findFunction } from '../../engine/value/functions/function-table.ts'
import { NotPrintable } from './not-printable.ts'
import type { ParameterKind, PrintedParameter } from './parameter.ts'

/** The parts of the printer that call each other. */
export interface PrinterParts {
  /** A query inside an expression, without RETURN; then its last lines. */
  subquery(part: BoundPart, form: 'exists' | 'count' | 'collect', printing: Printing): string
  /** Whether a MATCH has a row. */
  exists(match: BoundMatch, printing: Printing): string
}

/** The state of printing one query. */
export class Printing {
  readonly parameters = new Map<string, PrintedParameter>()
  readonly propertyNames = new Set<string>()
  /** Slots whose list has no defined order, such as the result of `collect`. */
  readonly unordered = new Set<number>()
  /** Slots whose value is neither a list nor a map, except a stored list. */
  readonly scalars = new Set<number>()
  /** Slots whose value may be NaN. */
  readonly maybeNaN = new Set<number>()
  readonly parts: PrinterParts
  /** Slots that expressions read, those inside of path selectors excepted. */
  readonly reads: ReadonlySet<number>
  /** Above 0 within the WHERE of an OPTIONAL MATCH. */
  optionalDepth = 0
  /** Above 0 within subqueries. */
  subqueryDepth = 0
  private readonly aliases = new Map<number, string>()
  private freshNames = 0
  private zero: string | null = null

  constructor(parts: PrinterParts, reads: ReadonlySet<number>) {
    this.parts = parts
    this.reads = reads
  }

  /** The variable of a slot. */
  name({ index }: Slot): string {
    return this.aliases.get(index) ?? `v${index}`
  }

  /** Gives the slot the variable of another one. */
  alias(slot: Slot, name: string): void {
    this.aliases.set(slot.index, name)
  }

  /** A variable that no slot has. */
  fresh(): string {
    return `x${this.freshNames++}`
  }

  /** A parameter of the text with the value of an expression. */
  parameter(expression: BoundExpression, takes: ParameterKind): string {
    const name = `p${this.parameters.size}`
    this.parameters.set(name, { expression, takes })
    return `$${name}`
  }

  /** An expression that fails when it is evaluated: the engine would fail with an error of its own. */
  failure(): string {
    this.zero ??= this.parameter({ kind: 'constant', value: 0 }, 'any')
    return `1 / ${this.zero}`
  }
}

/** Whether the expression has the same value for all rows of a run, whatever the graph contains. */
export function isClosed(expression: BoundExpression): boolean {
  return slotsOf(expression).length === 0 && !containsSubquery(expression) && !readsGraph(expression)
}

function readsGraph(expression: BoundExpression): boolean {
  if (expression.kind === 'exists') return true
  if (expression.kind === 'function' && findFunction(expression.name)?.pure === false) {
    throw new NotPrintable(`the function ${expression.name}`)
  }
  return someChild(expression, readsGraph)
}
