// Joins the parts of a path pattern that stand next to each other: chains, and parenthesised paths with a quantifier. A
// quantified path has a node at each end, so between two of them, and at the ends of the pattern, the node is implicit.
import type {
  Expression,
  HopRange,
  Name,
  NodePattern,
  PathPattern,
  PathSelector,
  QuantifiedPath,
  RelationshipPattern,
  Span,
} from '../ast.ts'
import * as build from '../build-ast.ts'
import { throwSyntaxError } from '../syntax-error.ts'

/** A part of a path pattern: a chain, or a path in parentheses. */
export type PathPart = { readonly chain: build.PatternChain; readonly span: Span } | ParenthesisedPath

interface ParenthesisedPath {
  readonly path: PathPattern
  readonly variable: Name | null
  readonly where: Expression | null
  readonly range: HopRange | null
  readonly span: Span
}

/** Builds the path pattern of parts. Throws a CypherSyntaxError if they cannot be joined. */
export function joinParts(parts: readonly PathPart[], span: Span): PathPattern {
  const [first] = parts
  if (parts.length === 1 && first !== undefined) {
    if ('chain' in first) return build.path(null, first.chain, span)
    if (first.range === null) return inParentheses(first)
  }
  const nodes: NodePattern[] = []
  const relationships: (RelationshipPattern | QuantifiedPath)[] = []
  let previous: PathPart | null = null
  for (const part of parts) {
    if ('chain' in part) {
      if (previous !== null && 'chain' in previous) rejectNeighbours(part.chain.nodes[0]!.span)
      nodes.push(...part.chain.nodes)
      relationships.push(...part.chain.relationships)
    } else {
      if (part.range === null) rejectNeighbours(part.span)
      if (previous === null || !('chain' in previous)) nodes.push(implicitNode(part.span.start))
      relationships.push(quantified(part, part.range))
    }
    previous = part
  }
  if (previous !== null && !('chain' in previous)) nodes.push(implicitNode(previous.span.end))
  return build.path(null, { nodes, relationships }, span)
}

/** The path with the variable and the selector in front of it. */
export function withNameAndSelector(
  path: PathPattern,
  variable: Name | null,
  selector: PathSelector | null,
  span: Span,
): PathPattern {
  if (selector !== null && path.shortest !== null) {
    const message = 'a path selector cannot be combined with `shortestPath` or `allShortestPaths`'
    throwSyntaxError({
      code: 'InvalidPathSelector',
      message,
      span: selector.span,
      found: 'a path selector',
      expected: '`(`',
    })
  }
  if (selector === null && path.variable !== null) {
    const message = 'a path inside parentheses can be named only after a path selector such as `SHORTEST 1`'
    reject(message, path.variable.span, `\`${path.variable.text}\``)
  }
  if (variable !== null && path.variable !== null) {
    reject('the path is named twice', path.variable.span, `\`${path.variable.text}\``)
  }
  return { ...path, variable: variable ?? path.variable, selector, span }
}

function inParentheses({ path, variable, where, span }: ParenthesisedPath): PathPattern {
  if (where === null && variable === null) return path
  if (path.where !== null || path.variable !== null) {
    reject('a path is in parentheses with a name or WHERE twice', span, '`(`')
  }
  return { ...path, variable, where }
}

function quantified({ path, variable, where, span }: ParenthesisedPath, range: HopRange): QuantifiedPath {
  if (variable !== null || path.variable !== null) {
    reject('a path inside a quantified path pattern cannot be named', (variable ?? path.variable)!.span, '`=`')
  }
  if (path.where !== null) reject('a quantified path pattern has two pairs of parentheses', path.span, '`(`')
  if (path.relationships.length === 0) {
    reject('a quantified path pattern needs at least one relationship', path.span, '`)`')
  }
  for (const inner of path.relationships) {
    if (inner.kind === 'relationship' && inner.range === null) continue
    const message =
      inner.range?.form === 'star'
        ? 'a variable-length relationship cannot be inside a quantified path pattern'
        : 'quantified path patterns cannot be nested'
    reject(message, inner.range!.span, 'a quantifier')
  }
  return { kind: 'quantified-path', pattern: path, where, range, span }
}

function implicitNode(at: number): NodePattern {
  return build.node({ variable: null, labels: null, properties: null, where: null }, { start: at, end: at })
}

function rejectNeighbours(span: Span): never {
  const message =
    'two patterns can be next to each other only if one of them is quantified, as in `(a) ((x)-->(y))+ (b)`'
  throwSyntaxError({ code: 'UnexpectedSyntax', message, span, found: '`(`', expected: 'an arrow, `,` or a quantifier' })
}

function reject(message: string, span: Span, found: string): never {
  throwSyntaxError({ code: 'InvalidQuantifiedPath', message, span, found, expected: 'a path of relationships' })
}
