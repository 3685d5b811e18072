// Builds the graph of imports and reports every edge, cycle, orphan and forbidden word that breaks the table in rules.ts.

import type { LayerRule } from './layers.ts'
import { effectsInLooks } from './look-effects.ts'
import { type ParsedSource, parseSource, type SourceText, withoutComments } from './parse-source.ts'
import { entryPoints, layerRules, restrictedWords, testOnlyFiles, wiring } from './rules.ts'

export interface RuleViolation {
  readonly kind: 'import' | 'cycle' | 'orphan' | 'forbidden word' | 'effect in a look' | 'no layer'
  /** `src/pdp/evaluate.ts:3 → src/http/error-response.ts`. */
  readonly where: string
  /** The sentence of the rule that is broken. */
  readonly sentence: string
}

/** All violations of the table by these files; empty if none exist. */
export function violationsIn(sources: readonly SourceText[]): RuleViolation[] {
  const parsed = sources.map(parseSource)
  return [...parsed.flatMap(violationsOf), ...cycleViolations(parsed), ...orphanViolations(parsed)]
}

function violationsOf(source: ParsedSource): RuleViolation[] {
  const rule = layerRules.find(({ files }) => files.some((pattern) => covers(pattern, source.path)))
  if (rule === undefined) {
    return [{ kind: 'no layer', where: source.path, sentence: 'every file belongs to a layer of the table' }]
  }
  const imports = source.imports
    .filter(({ target }) => !mayImport(rule, source.path, target))
    .map(({ target, line }) => ({
      kind: 'import' as const,
      where: `${source.path}:${line} → ${target}`,
      sentence: rule.sentence,
    }))
  const restricted = restrictedWords.filter(
    ({ mayContain }) => !mayContain.some((pattern) => covers(pattern, source.path)),
  )
  const code = withoutComments(source)
  const words = [...(rule.forbiddenWords ?? []), ...restricted].flatMap(({ word, why }) => {
    const at = code.search(word)
    if (at < 0) return []
    return [{ kind: 'forbidden word' as const, where: `${source.path}:${source.lineOf(at)}`, sentence: why }]
  })
  const effects = effectsInLooks(source).map((line) => ({
    kind: 'effect in a look' as const,
    where: `${source.path}:${line}`,
    sentence: 'a look may be run again from the start: it changes only what it has made, and returns a value',
  }))
  return [...imports, ...words, ...effects]
}

const covers = (pattern: string, path: string): boolean =>
  pattern === path || (/[/:]$/.test(pattern) && path.startsWith(pattern))

function mayImport(rule: LayerRule, from: string, target: string): boolean {
  const isWiring = (path: string): boolean => wiring.some((pattern) => covers(pattern, path))
  if (isWiring(target) && !isWiring(from)) return false
  const ownFolder = `${from.split('/').slice(0, 2).join('/')}/`
  return rule.mayImport.some((pattern) => covers(pattern === './' ? ownFolder : pattern, target))
}

function cycleViolations(sources: readonly ParsedSource[]): RuleViolation[] {
  const paths = new Set(sources.map(({ path }) => path))
  const edges = new Map(
    sources.map(({ path, imports }) => [path, imports.map(({ target }) => target).filter((one) => paths.has(one))]),
  )
  const selfImports = [...edges].filter(([path, targets]) => targets.includes(path)).map(([path]) => [path])
  return [...stronglyConnected(edges).filter((group) => group.length > 1), ...selfImports].map((cycle) => ({
    kind: 'cycle',
    where: [...cycle, cycle[0]].join(' → '),
    sentence: 'files import each other in no cycle, type-only imports included',
  }))
}

function orphanViolations(sources: readonly ParsedSource[]): RuleViolation[] {
  const imported = new Set(sources.flatMap(({ imports }) => imports).map(({ target }) => target))
  return sources
    .filter(({ path }) => !imported.has(path) && !entryPoints.includes(path) && !testOnlyFiles.includes(path))
    .map(({ path }) => ({
      kind: 'orphan',
      where: path,
      sentence: 'every file that is not an entry point is imported by another file',
    }))
}

/** Tarjan's algorithm: groups of nodes that reach each other, also groups of one. Targets without edges of their own count. */
export function stronglyConnected(edges: ReadonlyMap<string, Iterable<string>>): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const groups: string[][] = []
  const visit = (node: string): void => {
    order.set(node, order.size)
    low.set(node, order.get(node) as number)
    stack.push(node)
    for (const next of edges.get(node) ?? []) {
      if (!order.has(next)) visit(next)
      // A finished group is off the stack and not part of a cycle with this node.
      if (stack.includes(next)) low.set(node, Math.min(low.get(node) as number, low.get(next) as number))
    }
    if (low.get(node) === order.get(node)) groups.push(stack.splice(stack.indexOf(node)))
  }
  for (const node of edges.keys()) if (!order.has(node)) visit(node)
  return groups
}
