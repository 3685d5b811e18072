// Reads of elements whose slot and key are known at compile time. The symbol is a constant of the closure, and the
// element is read by its id without a handle.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, BoundLabels, Slot } from '../bind/bound.ts'
import { ExecutionError } from '../errors.ts'
import type { Snapshot, SymbolId } from '../store.ts'
import {
  type GraphElementKind,
  isExternallySupplied,
  mayHaveExternal,
  requirePresentValue,
  requirePresentValues,
} from '../value/external-properties.ts'
import { kindName } from '../value/kind-name.ts'
import { NodeValue, type PathValue, type PropertyValue, RelationshipValue, type Value } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'

/** Compiles the read of a slot as a value. */
export function compileSlotRead(slot: Slot): CompiledExpression {
  const { index, graph } = slot
  switch (slot.kind) {
    case 'value':
      return (run) => run.frame[index] as Value
    case 'path':
      return (run) => run.frame[index] as PathValue | null
    case 'node':
      return (run) => {
        const id = run.frame[index] as number
        return id === 0 ? null : new NodeValue(graph, id)
      }
    case 'relationship':
      return (run) => {
        const id = run.frame[index] as number
        return id === 0 ? null : new RelationshipValue(graph, id)
      }
    case 'relationships':
      return (run) => {
        const ids = run.frame[index] as ArrayLike<number> | null
        if (ids === null) return null
        run.budget.chargeSteps(ids.length)
        return Array.from(ids, (id) => new RelationshipValue(graph, id))
      }
    default:
      return assertNever(slot.kind)
  }
}

/**
 * Compiles `slot.key`. If no element ever had a property of that name from a resolver, the closure does not check for one.
 */
export function compilePropertyRead(
  expression: Extract<BoundExpression, { kind: 'element-property' }>,
  snapshots: readonly Snapshot[],
): CompiledExpression {
  const { slot, key, own } = expression
  const { index, graph } = slot
  const symbol = snapshots[graph]!.symbol('property', key)
  if (slot.kind === 'relationship') {
    if (own) {
      return (run) => {
        const id = run.frame[index] as number
        if (id === 0) return null
        const snapshot = run.graphs[graph]!
        return snapshot.relationshipField(id, own) ?? (symbol === 0 ? null : snapshot.relationshipProperty(id, symbol))
      }
    }
    if (symbol === 0) return () => null
    if (mayHaveExternal(snapshots[graph]!, key)) {
      const read = externalAwareReader('relationship', symbol, expression)
      return (run) => {
        const id = run.frame[index] as number
        const of = run.graphs[graph]!
        return id === 0 ? null : read(run, of, id, of.relationshipProperty(id, symbol))
      }
    }
    return (run) => {
      const id = run.frame[index] as number
      return id === 0 ? null : run.graphs[graph]!.relationshipProperty(id, symbol)
    }
  }
  if (own) {
    return (run) => {
      const id = run.frame[index] as number
      if (id === 0) return null
      const snapshot = run.graphs[graph]!
      return snapshot.nodeField(id, own) ?? (symbol === 0 ? null : snapshot.nodeProperty(id, symbol))
    }
  }
  if (symbol === 0) return () => null
  if (mayHaveExternal(snapshots[graph]!, key)) {
    const read = externalAwareReader('node', symbol, expression)
    return (run) => {
      const id = run.frame[index] as number
      const of = run.graphs[graph]!
      return id === 0 ? null : read(run, of, id, of.nodeProperty(id, symbol))
    }
  }
  return (run) => {
    const id = run.frame[index] as number
    return id === 0 ? null : run.graphs[graph]!.nodeProperty(id, symbol)
  }
}

type ExternalAwareReader = (
  run: ExecutionContext,
  graph: Snapshot,
  id: number,
  value: PropertyValue | null,
) => PropertyValue | null

function externalAwareReader(
  kind: GraphElementKind,
  symbol: SymbolId,
  { key, mayBeUnknown }: Extract<BoundExpression, { kind: 'element-property' }>,
): ExternalAwareReader {
  if (mayBeUnknown !== true) return (_, graph, id, value) => requirePresentValue(graph, kind, id, symbol, value)
  return (run, graph, id, value) => {
    if (value === null && isExternallySupplied(graph, kind, id, symbol)) run.unknownProperty = key
    return value
  }
}

/**
 * Compiles `n.type = 'Name'`. A node carries its type as a label, and the label bits fit a few pages, so they decide first:
 * without the label, the type is another one. If only nodes of that type carry the label, the label decides alone.
 */
export function compileTypeTest(
  slot: Slot,
  name: string,
  snapshots: readonly Snapshot[],
): (run: ExecutionContext) => boolean {
  const { index, graph } = slot
  const label = snapshots[graph]!.symbol('label', name)
  const property = snapshots[graph]!.symbol('property', 'type')
  let counted: Snapshot | null = null
  let labelIsType = false
  return (run) => {
    const id = run.frame[index] as number
    if (id === 0) return false
    const snapshot = run.graphs[graph]!
    if (snapshot.hasLabel(id, label)) {
      if (snapshot !== counted) {
        counted = snapshot
        labelIsType = snapshot.isOnlyType(label)
      }
      if (labelIsType) return true
    } else if (property === 0) return false
    return (snapshot.nodeField(id, 'type') ?? (property === 0 ? null : snapshot.nodeProperty(id, property))) === name
  }
}

/** Compiles the read of all properties of an element. */
export function compilePropertiesRead(slot: Slot): CompiledExpression {
  const { index, graph } = slot
  if (slot.kind === 'relationship') {
    return (run) => {
      const id = run.frame[index] as number
      return id === 0 ? null : requirePresentValues(run.graphs[graph]!, 'relationship', id)
    }
  }
  return (run) => {
    const id = run.frame[index] as number
    return id === 0 ? null : requirePresentValues(run.graphs[graph]!, 'node', id)
  }
}

/** Whether an existing element has the labels, or the relationship the type. */
type LabelCheck = (run: ExecutionContext, id: number) => boolean

/** Compiles a label expression for nodes or relationships of one graph. */
export function compileLabelCheck(
  labels: BoundLabels,
  element: 'node' | 'relationship',
  graph: number,
  of: Snapshot,
  compile: (expression: BoundExpression) => CompiledExpression,
): LabelCheck {
  switch (labels.kind) {
    case 'label': {
      const symbol = of.symbol(element === 'node' ? 'label' : 'type', labels.name)
      return symbol === 0 ? () => false : compileSymbolCheck(symbol, element, graph)
    }
    case 'label-and': {
      const checks = labels.operands.map((operand) => compileLabelCheck(operand, element, graph, of, compile))
      return (run, id) => checks.every((check) => check(run, id))
    }
    case 'label-or': {
      const checks = labels.operands.map((operand) => compileLabelCheck(operand, element, graph, of, compile))
      return (run, id) => checks.some((check) => check(run, id))
    }
    case 'label-not': {
      const check = compileLabelCheck(labels.operand, element, graph, of, compile)
      return (run, id) => !check(run, id)
    }
    case 'label-any':
      // Every relationship has a type; a node may have no label.
      return element === 'node' ? (run, id) => run.graphs[graph]!.labels(id).length > 0 : () => true
    case 'label-dynamic':
      return compileDynamicLabel(labels, element, graph, compile(labels.expression))
    default:
      return assertNever(labels)
  }
}

/** The names are known for each row. A name that the graph has never seen is carried by no element. */
function compileDynamicLabel(
  { quantifier }: Extract<BoundLabels, { kind: 'label-dynamic' }>,
  element: 'node' | 'relationship',
  graph: number,
  evaluate: CompiledExpression,
): LabelCheck {
  const carries = (run: ExecutionContext, id: number, name: Value): boolean => {
    if (typeof name !== 'string') {
      const message = `a dynamic ${element === 'node' ? 'label' : 'type'} must be a string or a list of strings, not ${kindName(name)}`
      throw new ExecutionError('type', message, null, 'InvalidArgumentType')
    }
    run.budget.chargeSteps(1)
    const snapshot = run.graphs[graph]!
    const symbol = snapshot.symbol(element === 'node' ? 'label' : 'type', name)
    if (symbol === 0) return false
    return element === 'node' ? snapshot.hasLabel(id, symbol) : snapshot.relationshipType(id) === symbol
  }
  return (run, id) => {
    const names = evaluate(run)
    if (!Array.isArray(names)) return carries(run, id, names)
    const list: readonly Value[] = names
    return quantifier === 'all'
      ? list.every((name) => carries(run, id, name))
      : list.some((name) => carries(run, id, name))
  }
}

function compileSymbolCheck(symbol: SymbolId, element: 'node' | 'relationship', graph: number): LabelCheck {
  return element === 'node'
    ? (run, id) => run.graphs[graph]!.hasLabel(id, symbol)
    : (run, id) => run.graphs[graph]!.relationshipType(id) === symbol
}
