// Finds the timers of a file that repeat: `setInterval`, a `setTimeout` whose callback leads to it again, and a pause in a loop.
import { parseSource, type SourceText, type SyntaxNode, visitNodes } from './parse-source.ts'

const pauses = new Set(['sleep', 'delay', 'setTimeout'])
const loops = new Set(['WhileStatement', 'DoWhileStatement', 'ForStatement', 'ForOfStatement', 'ForInStatement'])
const functions = new Set([
  'FunctionDeclaration',
  'MethodDefinition',
  'PropertyDefinition',
  'VariableDeclarator',
  'Property',
])

/** The lines of the repeated timers, counted from 1. */
export function repeatedTimers(source: SourceText): readonly number[] {
  const { body, lineOf } = parseSource(source)
  const calls: { readonly name: string; readonly node: SyntaxNode; readonly inside: readonly SyntaxNode[] }[] = []
  /** By name of a function or method, what it calls, or passes on by name. */
  const called = new Map<string, Set<string>>()
  const walk = (node: SyntaxNode, inside: readonly SyntaxNode[]): void => {
    if (node.type === 'CallExpression') {
      const name = nameOf(node.callee as SyntaxNode)
      if (name !== null) calls.push({ name, node, inside })
    }
    const name = functions.has(node.type) ? nameOf((node.id ?? node.key) as SyntaxNode | null) : null
    if (name !== null) called.set(name, new Set([...(called.get(name) ?? []), ...namesIn(node)]))
    const next = [...inside, node]
    for (const child of childrenOf(node)) walk(child, next)
  }
  for (const statement of body) walk(statement, [])

  const leadsTo = (from: ReadonlySet<string>, target: string): boolean => {
    const seen = new Set<string>()
    const queue = [...from]
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      if (name === target) return true
      if (seen.has(name)) continue
      seen.add(name)
      queue.push(...(called.get(name) ?? []))
    }
    return false
  }
  const calledInLoops = new Set(
    calls.flatMap(({ name, inside }) => (inside.some(({ type }) => loops.has(type)) ? [name] : [])),
  )
  const isRepeated = ({ name, node, inside }: (typeof calls)[number]): boolean => {
    if (name === 'setInterval') return true
    if (!pauses.has(name)) return false
    if (inside.some(({ type }) => loops.has(type))) return true
    const owners = inside.flatMap((outer) =>
      functions.has(outer.type) ? (nameOf((outer.id ?? outer.key) as SyntaxNode | null) ?? []) : [],
    )
    if (owners.some((owner) => calledInLoops.has(owner))) return true
    if (name !== 'setTimeout') return false
    const [callback] = node.arguments as SyntaxNode[]
    const names = callback === undefined ? new Set<string>() : namesIn(callback)
    return owners.some((owner) => leadsTo(names, owner))
  }
  return calls.filter(isRepeated).map(({ node }) => lineOf(node.start))
}

/** The names that a node calls. A name that is passed on, as `setTimeout(poll, 5)` does, counts too. */
function namesIn(node: SyntaxNode): Set<string> {
  const names = new Set<string>()
  const add = (name: string | null): void => {
    if (name !== null) names.add(name)
  }
  if (node.type === 'Identifier' || node.type === 'MemberExpression') add(nameOf(node))
  visitNodes(node, (inner) => {
    if (inner.type !== 'CallExpression') return
    add(nameOf(inner.callee as SyntaxNode))
    for (const argument of inner.arguments as SyntaxNode[]) if (argument.type === 'Identifier') add(nameOf(argument))
  })
  return names
}

/** `poll` for `poll`, `this.poll` and `#poll`. Null: another expression. */
function nameOf(node: SyntaxNode | null): string | null {
  if (node === null || node === undefined) return null
  if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') return node.name as string
  if (node.type === 'MemberExpression' && node.computed === false) return nameOf(node.property as SyntaxNode)
  return node.type === 'ChainExpression' ? nameOf(node.expression as SyntaxNode) : null
}

function* childrenOf(node: SyntaxNode): Generator<SyntaxNode> {
  for (const member in node) {
    const value = node[member]
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== null && typeof item === 'object' && 'type' in item) yield item as SyntaxNode
  }
}
