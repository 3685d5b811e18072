// Smaller texts of a query, each with one part of the syntax tree removed. Some no longer bind; the caller checks that.
import { parse } from '../../grammar/index.ts'
import { print } from '../support/print-cypher.ts'

/** Parts that a tree can omit. */
const LEFT_OUT = new Set(['where', 'properties', 'labels', 'types', 'range', 'skip', 'limit', 'variable', 'otherwise'])
const SWITCHED_OFF = new Set(['distinct', 'optional', 'descending'])

type SyntaxTree = Readonly<Record<string, unknown>>

export function* smallerTexts(text: string): Generator<string> {
  const parsed = parse(text)
  if (!parsed.ok) return
  const seen = new Set([print(parsed.query)])
  for (const smaller of smallerTrees(parsed.query as unknown as SyntaxTree)) {
    let printed: string
    try {
      printed = print(smaller as never)
    } catch {
      // For example a path without nodes.
      continue
    }
    if (seen.has(printed)) continue
    seen.add(printed)
    yield printed
  }
}

function* smallerTrees(tree: SyntaxTree): Generator<unknown> {
  yield* ownSmaller(tree)
  for (const [key, child] of Object.entries(tree)) {
    if (key === 'span' || child === null) continue
    if (child === true && SWITCHED_OFF.has(key)) yield { ...tree, [key]: false }
    if (typeof child !== 'object') continue
    if (LEFT_OUT.has(key)) yield { ...tree, [key]: null }
    if (!Array.isArray(child)) {
      for (const smaller of smallerTrees(child as SyntaxTree)) yield { ...tree, [key]: smaller }
      continue
    }
    for (const at of child.keys()) yield { ...tree, [key]: child.filter((_, index) => index !== at) }
    for (const [at, item] of child.entries()) {
      if (item === null || typeof item !== 'object') continue
      for (const smaller of smallerTrees(item as SyntaxTree)) yield { ...tree, [key]: child.with(at, smaller) }
    }
  }
}

/** Candidates that replace a node of the tree, or shorten it. */
function* ownSmaller(tree: SyntaxTree): Generator<unknown> {
  switch (tree.kind) {
    case 'query': {
      // The body of a subquery has this form too, with the query inside.
      const parts = (tree.parts ?? []) as unknown[]
      if (parts.length > 1) for (const part of parts) yield { ...tree, parts: [part], unions: [] }
      return
    }
    case 'path': {
      const { nodes, relationships } = tree as { nodes: unknown[]; relationships: unknown[] }
      if (relationships.length === 0) return
      yield { ...tree, nodes: nodes.slice(1), relationships: relationships.slice(1) }
      yield { ...tree, nodes: nodes.slice(0, -1), relationships: relationships.slice(0, -1) }
      return
    }
    case 'binary':
      yield tree.left
      yield tree.right
      return
    case 'unary':
      yield tree.operand
      return
    case 'case':
      for (const { then } of tree.branches as { then: unknown }[]) yield then
      if (tree.otherwise) yield tree.otherwise
      return
    case 'label-or':
    case 'label-and':
      yield* tree.operands as unknown[]
      return
    default:
      return
  }
}
