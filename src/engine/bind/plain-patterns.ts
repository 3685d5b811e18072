// Syntax trees of patterns that no text contains: nodes, relationships and paths without conditions, which rewritten texts are built from.
import type {
  LabelExpression,
  MatchClause,
  NodePattern,
  PathPattern,
  RelationshipPattern,
  Span,
} from '../../../grammar/ast.ts'

/** `(name:labels)`. Null: without a name. */
export function plainNode(name: string | null, span: Span, labels: LabelExpression | null = null): NodePattern {
  const variable = name === null ? null : { text: name, span }
  return { kind: 'node', variable, labels, properties: null, where: null, span }
}

/** `-[:type]->`. Null: of any type. */
export function plainStep(type: string | null, span: Span): RelationshipPattern {
  const types: LabelExpression | null = type === null ? null : { kind: 'label', name: type, span }
  return {
    kind: 'relationship',
    variable: null,
    direction: 'right',
    types,
    range: null,
    properties: null,
    where: null,
    span,
  }
}

/** The nodes with the relationships between them. */
export function plainPath(
  nodes: readonly NodePattern[],
  relationships: PathPattern['relationships'],
  span: Span,
): PathPattern {
  return { kind: 'path', variable: null, shortest: null, selector: null, nodes, relationships, where: null, span }
}

/** `MATCH pattern WHERE where`. */
export function plainMatch(pattern: PathPattern, where: MatchClause['where'] = null): MatchClause {
  return { kind: 'match', optional: false, mode: null, patterns: [pattern], where, span: pattern.span }
}
