// Finds effects in looks, the functions that read graphs and may be run again from the start (src/engine/read-graph.ts). Their type
// excludes promises and functions without a result. This finds what a type cannot: changes of variables and members from outside.
import { type ParsedSource, type SyntaxNode, visitNodes } from './parse-source.ts'
import { lookPlaces } from './rules.ts'

const functionTypes = new Set(['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration'])
/** Methods that change their object, or a graph. */
const changingMethods = new Set(['add', 'clear', 'delete', 'push', 'set', 'unshift', 'write'])

/** The lines with an effect, counted from 1. */
export function effectsInLooks(source: ParsedSource): number[] {
  const looks: SyntaxNode[] = []
  const named = new Map<string, SyntaxNode>()
  for (const node of source.body) {
    visitNodes(node, (one) => {
      if (one.type === 'FunctionDeclaration') named.set(nameOf(one.id) ?? '', one)
      if (one.type === 'VariableDeclarator' && isFunction(one.init)) named.set(nameOf(one.id) ?? '', one.init)
    })
  }
  for (const node of source.body) {
    visitNodes(node, (one) => {
      if (one.type !== 'CallExpression') return
      const place = lookPlaces[nameOf(one.callee) ?? '']
      if (place === undefined) return
      const look = (one.arguments as SyntaxNode[])[place]
      const found = isFunction(look) ? look : named.get(nameOf(look) ?? '')
      if (found !== undefined) looks.push(found)
    })
  }
  return looks.flatMap(effectsIn).map(source.lineOf)
}

/** The offsets of effects. */
function effectsIn(look: SyntaxNode): number[] {
  const own = new Set<string>()
  visitNodes(look, (node) => {
    if (node.type === 'VariableDeclarator') addNames(node.id as SyntaxNode, own)
    if (isFunction(node)) for (const parameter of node.params as SyntaxNode[]) addNames(parameter, own)
  })
  const isOutside = (target: unknown): boolean => {
    let root = target as SyntaxNode
    while (root.type === 'MemberExpression') root = root.object as SyntaxNode
    return root.type === 'ThisExpression' || (root.type === 'Identifier' && !own.has(root.name as string))
  }
  const found: number[] = []
  visitNodes(look, (node) => {
    const callee = node.type === 'CallExpression' ? (node.callee as SyntaxNode) : null
    const isChange =
      (node.type === 'AssignmentExpression' && isOutside(node.left)) ||
      (node.type === 'UpdateExpression' && isOutside(node.argument)) ||
      (callee?.type === 'MemberExpression' &&
        changingMethods.has(nameOf(callee.property) ?? '') &&
        isOutside(callee.object))
    if (isChange) found.push(node.start)
  })
  return found
}

/** Adds the names that a pattern declares. */
function addNames(pattern: SyntaxNode, names: Set<string>): void {
  visitNodes(pattern, ({ type, name }) => {
    if (type === 'Identifier') names.add(name as string)
  })
}

const isFunction = (node: unknown): node is SyntaxNode =>
  functionTypes.has((node as SyntaxNode | undefined)?.type ?? '')

const nameOf = (node: unknown): string | undefined => {
  const name = (node as SyntaxNode | null | undefined)?.name
  return typeof name === 'string' ? name : undefined
}
