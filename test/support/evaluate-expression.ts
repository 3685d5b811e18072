// Text → one expression, bound, compiled and run over a frame set up by hand: the whole path of an expression, without
// plans.
import type { Expression } from '../../grammar/ast.ts'
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { parse } from '../../grammar/index.ts'
import { bindExpression } from '../../src/engine/bind/bind-expression.ts'
import type { BoundAggregate, BoundExpression, Slot, SlotKind } from '../../src/engine/bind/bound.ts'
import type { ExpressionPosition, ExpressionScope } from '../../src/engine/bind/expression-scope.ts'
import { Budget } from '../../src/engine/budget.ts'
import {
  compileExpression,
  compilePredicate,
  compileTest,
  type ExpressionCompilerDeps,
} from '../../src/engine/exec/compile-expression.ts'
import type { ExecutionContext } from '../../src/engine/exec/execution-context.ts'
import type { Snapshot } from '../../src/engine/store.ts'
import { StatementClock } from '../../src/engine/value/expression-context.ts'
import type { Value } from '../../src/engine/value/value.ts'

/** A variable in scope: the kind of its slot and the slot's value. */
export interface FrameValue {
  readonly kind: SlotKind
  readonly holds: unknown
}

export interface Surroundings {
  readonly variables?: Readonly<Record<string, FrameValue>>
  readonly parameters?: Readonly<Record<string, Value>>
  readonly snapshot?: Snapshot
  /** Aggregates are allowed, as in RETURN. */
  readonly aggregating?: boolean
  readonly place?: ExpressionPosition
  readonly stepsMax?: number
  /** The result of every EXISTS and pattern predicate. */
  readonly exists?: boolean
}

export interface BoundText {
  readonly bound: BoundExpression
  readonly issues: readonly Diagnostic[]
  readonly parameters: readonly string[]
  readonly aggregates: readonly BoundAggregate[]
  readonly frameSize: number
}

/** `text` is anything that is valid after RETURN; conditions that are not are read from WHERE. */
export function expressionOf(text: string, place: ExpressionPosition = 'open'): Expression {
  const query = place === 'condition' ? `MATCH (anything) WHERE ${text} RETURN 1` : `RETURN ${text} AS it`
  const parsed = parse(query)
  if (!parsed.ok) throw new Error(`${parsed.diagnostics[0]?.code}: ${parsed.diagnostics[0]?.message}`)
  const clause = parsed.query.parts[0]!.clauses[0]!
  if (clause.kind === 'match' && clause.where) return clause.where
  if (clause.kind === 'return') return clause.items[0]!.expression
  throw new Error('the text holds no expression')
}

export function bindText(text: string, around: Surroundings = {}): BoundText {
  const issues: Diagnostic[] = []
  const parameters: string[] = []
  const aggregates: BoundAggregate[] = []
  const names = new Map<string, Slot>()
  let next = 0
  const fresh = (name: string, kind: SlotKind): Slot => ({ index: next++, name, kind, graph: 0 })
  for (const [name, held] of Object.entries(around.variables ?? {})) names.set(name, fresh(name, held.kind))
  const scopeWith = (taking: boolean): ExpressionScope => ({
    scoredVariables: null,
    allowsImpure: true,
    isDerived: () => false,
    lookup: (name) => names.get(name),
    names: () => [...names.keys()],
    withLocal: (name, kind, body) => {
      const hidden = names.get(name)
      const slot = fresh(name, kind)
      names.set(name, slot)
      try {
        return body(slot)
      } finally {
        if (hidden) names.set(name, hidden)
        else names.delete(name)
      }
    },
    nameSymbol: () => undefined,
    parameter: (name) => parameters.push(name),
    exists: (_, span) => ({
      kind: 'exists',
      match: {
        optional: false,
        repeatable: false,
        nodes: [],
        casts: [],
        relationships: [],
        derived: [],
        predicates: [],
        paths: [],
      },
      span,
    }),
    count: queryElsewhere,
    collect: queryElsewhere,
    comprehension: queryElsewhere,
    report: (issue) => issues.push(issue),
    aggregates: taking
      ? (aggregate) => {
          const slot = fresh(aggregate.name, 'value')
          aggregates.push({ slot, ...aggregate })
          return slot
        }
      : null,
    withoutAggregates: () => scopeWith(false),
  })
  const { place = 'open' } = around
  const bound = bindExpression(expressionOf(text, place), scopeWith(around.aggregating ?? false), place)
  return { bound, issues, parameters, aggregates, frameSize: next }
}

/** The codes of the diagnostics, in the order of the text. */
export function refusalsOf(text: string, around: Surroundings = {}): readonly string[] {
  return bindText(text, around).issues.map((issue) => issue.code)
}

/** Subqueries need a graph: test/unit/engine/conditions.subqueries-and-unions.test.ts tests them. */
function queryElsewhere(): never {
  throw new Error('not asked here')
}

/** The value; a boolean is also evaluated as truth and as test, and all three must agree. */
export function evaluate(text: string, around: Surroundings = {}): Value {
  const { bound, issues, frameSize } = bindText(text, around)
  if (issues.length > 0) throw new Error(issues.map(({ code, message }) => `${code}: ${message}`).join('\n'))
  const site: ExpressionCompilerDeps = {
    snapshots: around.snapshot ? [around.snapshot] : [],
    compileExists: () => () => around.exists ?? true,
    compileSubquery: queryElsewhere,
  }
  return valueIn(text, bound, site, runOver(around, frameSize))
}

function valueIn(text: string, bound: BoundExpression, site: ExpressionCompilerDeps, run: ExecutionContext): Value {
  const value = compileExpression(bound, site)(run)
  if (value === null || typeof value === 'boolean') {
    const truth = compilePredicate(bound, site)(run)
    const test = compileTest(bound, site)(run)
    if (truth !== value || test !== (value === true)) {
      throw new Error(`${text}: value ${value}, truth ${truth}, test ${test}`)
    }
  }
  return value
}

function runOver(around: Surroundings, frameSize: number): ExecutionContext {
  const frame: unknown[] = new Array(frameSize).fill(null)
  Object.values(around.variables ?? {}).forEach((held, i) => {
    frame[i] = held.holds
  })
  const budget = new Budget()
  budget.start({ stepsMax: around.stepsMax ?? 10_000_000, timeMs: 10_000 })
  return {
    frame,
    parameters: new Map(Object.entries(around.parameters ?? {})),
    graphs: around.snapshot ? [around.snapshot] : [],
    budget,
    clock: new StatementClock(),
    unknownProperty: null,
    derived: null,
    resumeAfter: 0,
    isIncremental: false,
  }
}
