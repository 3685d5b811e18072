// Visits the nodes of a syntax tree.
import type {
  Clause,
  DefinitionText,
  Expression,
  GraphTypeText,
  LabelExpression,
  ModelText,
  NodePattern,
  NodeTypeText,
  PathPattern,
  PathSelector,
  PropertyTypeText,
  QuantifiedPath,
  Query,
  RelationshipPattern,
  RelationshipTypeText,
} from './ast.ts'

/** The nodes of a syntax tree that have a kind. */
export type CypherNode =
  | ModelText
  | GraphTypeText
  | NodeTypeText
  | RelationshipTypeText
  | PropertyTypeText
  | DefinitionText
  | Query
  | Clause
  | PathPattern
  | PathSelector
  | QuantifiedPath
  | NodePattern
  | RelationshipPattern
  | LabelExpression
  | Expression

/** Calls `enter` for each node below and including `tree`, parents first, in the order of the members of the tree. */
export function walkTree(tree: unknown, enter: (node: CypherNode) => void): void {
  if (tree === null || typeof tree !== 'object') return
  if (Array.isArray(tree)) {
    for (const item of tree) walkTree(item, enter)
    return
  }
  if ('kind' in tree && 'span' in tree) {
    const node = tree as CypherNode
    enter(node)
    if (node.kind === 'map-projection') {
      // Its items have kinds of their own.
      for (const item of node.items) if (item.kind === 'entry') walkTree(item.value, enter)
      return
    }
  }
  for (const child of Object.values(tree)) walkTree(child, enter)
}
