// Which node and relationship types the parts of a path pattern can have together: what the declared relationships of a project can connect,
// in one step and along paths of any length.

import type { PathPattern, RelationshipPattern, Span } from '../../grammar/ast.ts'
import { cypherName } from '../kernel/text/cypher-names.ts'
import type { NodeTypeDeclaration, RelationshipTypeDeclaration } from './graph-types.ts'

/** The types that a node can have; null: not known. */
export type NodeTypes = ReadonlySet<NodeTypeDeclaration> | null

/**
 * Removes from the node and relationship types of a path what no other part of it allows. `sets`: of each node; `candidates`: of each
 * relationship; null: not known. `report` is called for a relationship that cannot connect its ends.
 */
export function narrow(
  { relationships }: PathPattern,
  sets: NodeTypes[],
  candidates: (readonly RelationshipTypeDeclaration[] | null)[],
  report: (message: string, span: Span) => void,
): void {
  // Each round that changes something removes a type, and a path rarely needs more than two.
  for (let isChanged = true, rounds = 0; isChanged && rounds < 10; rounds++) {
    isChanged = false
    relationships.forEach((step, at) => {
      const types = candidates[at]
      if (step.kind !== 'relationship' || types === null || types === undefined) return
      const [left, right] = [sets[at]!, sets[at + 1]!]
      const fitting = step.range === null ? types.filter((type) => connects(type, step, left, right)) : types
      const after = step.range === null ? hop(fitting, step, left, right) : hops(types, step, left, right)
      if (after === 'unlimited') return
      if (after === null) {
        report(unconnected(step, types, left, right), step.types!.span)
        candidates[at] = null
        return
      }
      if (after.left.size !== left?.size || after.right.size !== right?.size) isChanged = true
      sets[at] = after.left
      sets[at + 1] = after.right
      candidates[at] = fitting
    })
  }
}

function unconnected(
  step: RelationshipPattern,
  types: readonly RelationshipTypeDeclaration[],
  left: NodeTypes,
  right: NodeTypes,
): string {
  const names = [...new Set(types.map(({ name }) => cypherName(name)))].join('|')
  const [from, to] = step.direction === 'left' ? [right, left] : [left, right]
  const isReversed = types.some((type) => joins(type, to, from))
  const declared = types.slice(0, 3).map(({ text }) => text)
  const rest = types.length > declared.length ? ', …' : ''
  const turned = step.direction === 'left' ? `-[:${names}]->` : `<-[:${names}]-`
  const hint = isReversed ? `; did you mean \`${turned}\`?` : `; the model declares ${declared.join(', ')}${rest}`
  return `\`${names}\` cannot connect ${textOf(from)} to ${textOf(to)}${hint}`
}

function meets(a: ReadonlySet<NodeTypeDeclaration>, b: NodeTypes): boolean {
  if (b === null) return true
  for (const type of a) if (b.has(type)) return true
  return false
}

/** Whether a relationship can begin at one of the first and end at one of the others. */
function joins({ sources, targets }: RelationshipTypeDeclaration, from: NodeTypes, to: NodeTypes): boolean {
  return meets(sources, from) && meets(targets, to)
}

type HopEnds = { readonly left: ReadonlySet<NodeTypeDeclaration>; readonly right: ReadonlySet<NodeTypeDeclaration> }

function connects(
  type: RelationshipTypeDeclaration,
  { direction }: RelationshipPattern,
  left: NodeTypes,
  right: NodeTypes,
): boolean {
  return (direction !== 'left' && joins(type, left, right)) || (direction !== 'right' && joins(type, right, left))
}

/** The nodes at both ends of one relationship; null: no declared relationship fits. */
function hop(
  types: readonly RelationshipTypeDeclaration[],
  { direction }: RelationshipPattern,
  left: NodeTypes,
  right: NodeTypes,
): HopEnds | null {
  const ends = { left: new Set<NodeTypeDeclaration>(), right: new Set<NodeTypeDeclaration>() }
  const add = (from: ReadonlySet<NodeTypeDeclaration>, to: ReadonlySet<NodeTypeDeclaration>): void => {
    if (!meets(from, left) || !meets(to, right)) return
    for (const type of from) if (left === null || left.has(type)) ends.left.add(type)
    for (const type of to) if (right === null || right.has(type)) ends.right.add(type)
  }
  for (const { sources, targets } of types) {
    if (direction !== 'left') add(sources, targets)
    if (direction !== 'right') add(targets, sources)
  }
  return ends.left.size === 0 ? null : ends
}

/**
 * The nodes at both ends of a path of relationships, of any length; null: no declared path fits. `unlimited`: one end is not known, and a path
 * of no relationship can begin and end at any node.
 */
function hops(
  types: readonly RelationshipTypeDeclaration[],
  step: RelationshipPattern,
  left: NodeTypes,
  right: NodeTypes,
): HopEnds | null | 'unlimited' {
  const isOptional = step.range?.min === 0
  if (isOptional && (left === null || right === null)) return 'unlimited'
  const all = hop(types, step, null, null)
  const ahead = closure(left ?? all?.left ?? none, (from) => hop(types, step, from, null)?.right)
  const back = closure(right ?? all?.right ?? none, (to) => hop(types, step, null, to)?.left)
  const [starts, ends] = [left ?? back, right ?? ahead]
  const found = {
    left: intersection(starts, isOptional ? new Set([...back, ...ends]) : back),
    right: intersection(ends, isOptional ? new Set([...ahead, ...starts]) : ahead),
  }
  return found.left.size === 0 || found.right.size === 0 ? null : found
}

const none: ReadonlySet<NodeTypeDeclaration> = new Set()

/** What is reached with at least one step. */
function closure(
  start: ReadonlySet<NodeTypeDeclaration>,
  next: (from: ReadonlySet<NodeTypeDeclaration>) => ReadonlySet<NodeTypeDeclaration> | undefined,
): ReadonlySet<NodeTypeDeclaration> {
  const all = new Set<NodeTypeDeclaration>()
  for (let from = start; from.size > 0; ) {
    const added = new Set([...(next(from) ?? [])].filter((type) => !all.has(type)))
    for (const type of added) all.add(type)
    from = added
  }
  return all
}

/** Types for a message. */
export function textOf(types: NodeTypes): string {
  if (types === null) return 'any node'
  const shown = [...types].slice(0, 3).map(({ text }) => `\`${text}\``)
  return types.size > shown.length ? `${shown.join(', ')} or others` : shown.join(' or ')
}

export function intersection(
  a: ReadonlySet<NodeTypeDeclaration>,
  b: ReadonlySet<NodeTypeDeclaration>,
): ReadonlySet<NodeTypeDeclaration> {
  return new Set([...a].filter((type) => b.has(type)))
}
