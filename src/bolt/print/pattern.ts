// Prints MATCH: each relationship as a pattern between variables, and every label and property as a condition in WHERE.
import type {
  BoundExpression,
  BoundHop,
  BoundLabels,
  BoundMatch,
  BoundRelationship,
  BoundSelection,
  Slot,
} from '../../engine/bind/bound.ts'
import { slotsOf } from '../../engine/bind/expression-tree.ts'
import { typeComparison } from './element-fields.ts'
import { printCondition } from './expression.ts'
import { quoted, quotedSymbol, STATE_LABEL } from './names.ts'
import { NotPrintable } from './not-printable.ts'
import type { Printing } from './printing.ts'

/** A MATCH without derived steps and walks, or several that match the same, with one WHERE at the end. `further`: conditions in addition. */
export function printMatch(whole: BoundMatch, printing: Printing, further: () => readonly string[] = () => []): string {
  const { match, conditions } = withoutEmptyWalks(whole, printing)
  for (const { from, to } of match.casts) {
    if (to.kind === 'relationships') throw new NotPrintable('a list of relationships as a pattern')
    printing.alias(to, printing.name(from))
  }
  const { relationships, optional } = match
  const selected = relationships.filter(({ selection }) => selection !== null)
  const others = relationships.filter(({ selection }) => selection === null)
  const patterns = plainPatterns(match, others, printing)
  const matches = selected.map((step) => selectedPattern(match, step, printing))
  if (match.repeatable) {
    if (optional || others.some(({ range }) => range !== null) || matches.length > 0 || match.paths.length > 0) {
      throw new NotPrintable('REPEATABLE ELEMENTS')
    }
    matches.push(...patterns)
  } else if (patterns.length > 0) matches.unshift(patterns.join(', '))
  if (optional && matches.length > 1) throw new NotPrintable('an optional path selector with other patterns')
  const where = [
    ...conditions,
    ...wherePredicates(match, optional, printing),
    ...stateNodeTests(match, printing),
    ...further(),
  ]
  const keyword = optional ? 'OPTIONAL MATCH ' : 'MATCH '
  return `${matches.map((one) => `${keyword}${one}`).join('\n')}${where.length > 0 ? `\nWHERE ${where.join(' AND ')}` : ''}`
}

/** The match with a condition for each repetition of no hops: both ends are one node. The server has no such repetition. */
function withoutEmptyWalks(
  match: BoundMatch,
  printing: Printing,
): { readonly match: BoundMatch; readonly conditions: readonly string[] } {
  const isEmpty = ({ range, named, quantified }: BoundRelationship): boolean =>
    range?.max === 0 && !named && quantified?.groups.length === 0
  const empty = match.paths.length > 0 ? [] : match.relationships.filter(isEmpty)
  if (empty.length === 0) return { match, conditions: [] }
  const id = (node: number): string => `id(${printing.name(match.nodes[node]!.slot)})`
  return {
    match: { ...match, relationships: match.relationships.filter((step) => !empty.includes(step)) },
    conditions: empty.map(({ left, right }) => `${id(left)} = ${id(right)}`),
  }
}

function wherePredicates(match: BoundMatch, optional: boolean, printing: Printing): string[] {
  if (optional) printing.optionalDepth += 1
  const printed = match.predicates.map((predicate) => printCondition(predicate, printing))
  if (optional) printing.optionalDepth -= 1
  return printed
}

function plainPatterns(match: BoundMatch, relationships: readonly BoundRelationship[], printing: Printing): string[] {
  const { nodes } = match
  const name = (node: number): string => `(${printing.name(nodes[node]!.slot)})`
  const printed = new Set<BoundRelationship>()
  const reached = new Set<number>()
  const patterns: string[] = []
  const step = (relationship: BoundRelationship): string => {
    printed.add(relationship)
    reached.add(relationship.left).add(relationship.right)
    return printStep(relationship, match, printing)
  }
  for (const path of match.paths) {
    const steps = path.relationships.map((index) => match.relationships[index]!)
    if (steps.some(({ selection }) => selection !== null)) continue
    for (const node of path.nodes) reached.add(node)
    const rest = steps.map((relationship, i) => `${step(relationship)}${name(path.nodes[i + 1]!)}`)
    patterns.push(`${printing.name(path.slot)} = ${name(path.nodes[0]!)}${rest.join('')}`)
  }
  for (const relationship of relationships) {
    if (printed.has(relationship)) continue
    patterns.push(`${name(relationship.left)}${step(relationship)}${name(relationship.right)}`)
  }
  const separate = match.relationships.filter((step) => !relationships.includes(step))
  const ends = new Set(separate.flatMap(({ left, right }) => [left, right]))
  nodes.forEach((_, node) => {
    if (!reached.has(node) && !ends.has(node)) patterns.push(name(node))
  })
  return patterns
}

/** The relationship between two nodes, with its repetitions. */
function printStep(step: BoundRelationship, match: BoundMatch, printing: Printing): string {
  const { slot, range, each, quantified, bound } = step
  if (range !== null && bound) throw new NotPrintable('a bound list of relationships in a pattern')
  if (quantified !== null) return ` ${printQuantified(step, printing)} `
  if (range === null) {
    const isRead = step.named || bound || match.predicates.some((p) => slotsOf(p).some((s) => s.index === slot.index))
    return arrow(step, isRead ? printing.name(slot) : '', '')
  }
  const name = step.named || each !== null ? printing.name(slot) : ''
  if (each === null) return `${arrow(step, name, '')}${quantifier(range)}`
  printing.alias(each.element, name)
  return `${arrow(step, name, ` WHERE ${printCondition(each.predicate, printing)}`)}${quantifier(range)}`
}

function arrow({ direction, types }: BoundHop, name: string, where: string): string {
  const type = types.length === 0 ? '' : `:${types.map(quotedSymbol).join('|')}`
  const inner = `[${name}${type}${where}]`
  if (direction === 'both') return `-${inner}-`
  return direction === 'right' ? `-${inner}->` : `<-${inner}-`
}

function quantifier({ min, max }: { readonly min: number; readonly max: number | null }): string {
  for (const count of [min, max ?? 0]) {
    if (!Number.isSafeInteger(count) || count < 0) throw new NotPrintable('the length of a repetition')
  }
  if (max !== null && (max < 1 || max < min)) throw new NotPrintable('an empty repetition')
  return `{${min},${max ?? ''}}`
}

/** A quantified path pattern. Outside, its variables are lists; inside, the elements of one repetition. */
function printQuantified(step: BoundRelationship, printing: Printing): string {
  const { quantified, range, slot } = step
  const { further, nodes, relationships, predicates, groups } = quantified!
  for (const { slot: group, element, index } of groups) {
    printing.alias((element === 'node' ? nodes : relationships)[index]!, printing.name(group))
  }
  if (further.length === 0) printing.alias(relationships[0]!, printing.name(slot))
  const hops: readonly BoundHop[] = [step, ...further]
  const tests = [...hops.flatMap(({ each }) => (each === null ? [] : [each.predicate])), ...predicates]
  const node = (index: number): string => `(${printing.name(nodes[index]!)})`
  const chain = hops.map((hop, i) => `${arrow(hop, printing.name(relationships[i]!), '')}${node(i + 1)}`).join('')
  return `(${node(0)}${chain}${whereText(tests, printing)})${quantifier(range!)}`
}

function whereText(predicates: readonly BoundExpression[], printing: Printing): string {
  if (predicates.length === 0) return ''
  return ` WHERE ${predicates.map((predicate) => printCondition(predicate, printing)).join(' AND ')}`
}

/**
 * The walk of a recursive definition. It takes no relationship twice, as paths of the server do, and loses no end by that
 * (engine/definitions/linear.ts). The server looks for its ends alone, and not for all paths, if the hop has one relationship and the
 * ends are made distinct, or are only tested. A selector such as `SHORTEST 1` would look for far more.
 */
export function printWalk(match: BoundMatch, step: BoundRelationship, printing: Printing): string {
  if (step.quantified!.further.length > 0) throw new NotPrintable('a walk with hops of several relationships')
  const name = (node: number): string => `(${printing.name(match.nodes[node]!.slot)})`
  return `MATCH ${name(step.left)} ${printQuantified(step, printing)} ${name(step.right)}`
}

// ---------------------------------------------------------------- selectors

function selectedPattern(match: BoundMatch, step: BoundRelationship, printing: Printing): string {
  const { keep, count, nodes, nodeTests, steps, predicates, path } = step.selection!
  const named = match.paths.find(({ relationships }) => match.relationships[relationships[0]!] === step)
  if (path !== null) throw new NotPrintable('a path selector with a condition on the path')
  if (!Number.isSafeInteger(count) || count < 1) throw new NotPrintable('the count of a path selector')
  rejectAnyPath(step, named?.slot ?? null, printing)
  // The engine refuses such a path from a node to itself.
  if (steps.some(({ direction }) => direction === 'both')) throw new NotPrintable('an undirected path selector')
  const tests: BoundExpression[] = nodeTests.flat()
  const name = (slot: Slot): string => `(${printing.name(slot)})`
  let chain = name(nodes[0]!)
  steps.forEach((inner, i) => {
    const { each, range, quantified } = inner
    if (each !== null && range === null) {
      printing.alias(each.element, printing.name(inner.slot))
      tests.push(each.predicate)
    }
    const text =
      range === null && quantified === null
        ? arrow(inner, printing.name(inner.slot), '')
        : printStep({ ...inner, bound: false }, match, printing)
    chain += `${text}${name(nodes[i + 1]!)}`
  })
  tests.push(...predicates)
  const groups = keep === 'groups' ? ' GROUPS' : ''
  // Paths of one length are one group. Neo4j 5.26 fails with an internal error for such a selector with a condition.
  const isOfOneGroup = keep === 'groups' && tests.length > 0 && steps.every(({ range }) => range === null)
  const selector = isOfOneGroup ? '' : `SHORTEST ${count}${groups} `
  const pathName = named === undefined ? '' : `${printing.name(named.slot)} = `
  return `${pathName}${selector}(${chain}${whereText(tests, printing)})`
}

/** Of several shortest paths, the server may keep another one than the engine. */
function rejectAnyPath({ selection, slot }: BoundRelationship, path: Slot | null, printing: Printing): void {
  const { keep, nodes, steps } = selection as BoundSelection
  if (keep === 'groups') return
  const inside = [slot, ...nodes.slice(1, -1), ...steps.flatMap((step) => [step.slot, ...groupsOf(step)])]
  if (path !== null) inside.push(path)
  if (inside.some(({ index }) => printing.reads.has(index))) throw new NotPrintable('the path of a path selector')
}

const groupsOf = ({ quantified }: BoundRelationship): readonly Slot[] =>
  quantified === null ? [] : quantified.groups.map(({ slot }) => slot)

// ---------------------------------------------------------------- the state node

/** Excludes the node with the state of the database, which has no relationships, from nodes that could be this node. */
function stateNodeTests({ nodes, relationships, predicates }: BoundMatch, printing: Printing): string[] {
  const reached = new Set(
    relationships
      .filter(({ range, selection }) => selection === null && (range === null || range.min > 0))
      .flatMap(({ left, right }) => [left, right]),
  )
  const labelled = new Set(predicates.flatMap(labelledSlot))
  return nodes.flatMap(({ slot, bound }, node) => {
    if (bound || reached.has(node) || labelled.has(slot.index)) return []
    return [`NOT ${printing.name(slot)}:${quoted(STATE_LABEL)}`]
  })
}

/** The slot of a node that certainly has a label of the graph. */
function labelledSlot(predicate: BoundExpression): readonly number[] {
  const read = typeComparison(predicate)
  if (read !== null) return [read.slot.index]
  if (predicate.kind !== 'label-test' || predicate.target.kind !== 'slot') return []
  return hasLabel(predicate.labels) ? [predicate.target.slot.index] : []
}

function hasLabel(labels: BoundLabels): boolean {
  if (labels.kind === 'label') return true
  if (labels.kind === 'label-and') return labels.operands.some(hasLabel)
  return labels.kind === 'label-or' && labels.operands.every(hasLabel)
}
