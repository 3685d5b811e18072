// Parses one TypeScript file with oxc, through rolldown, the bundler under vitest: TypeScript 7 has no JavaScript API.
import { posix } from 'node:path'
import { parseSync } from 'rolldown/utils'

export interface SourceText {
  /** From the root of the repository: `src/pdp/evaluate.ts`. */
  readonly path: string
  readonly text: string
}

export interface ImportedModule {
  /** A path from the root of the repository for relative imports, else the package (`zod`, `@scope/name`, `node:fs`). */
  readonly target: string
  /** Line of the specifier, counted from 1. */
  readonly line: number
}

/** A node of the syntax tree (ESTree with the TypeScript extension); only the members that are read are typed. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

export interface SourceComment {
  readonly type: 'Line' | 'Block'
  /** Without the comment signs. */
  readonly value: string
  readonly start: number
  readonly end: number
}

export interface ParsedSource extends SourceText {
  readonly body: readonly SyntaxNode[]
  readonly comments: readonly SourceComment[]
  /** Every import, re-export, dynamic import, `require` and import type; one entry per target. */
  readonly imports: readonly ImportedModule[]
  /** The line of an offset, counted from 1. */
  lineOf(offset: number): number
}

/** By source: several rules read the same files. */
const parsedSources = new WeakMap<SourceText, ParsedSource>()

/** Throws if the text is not valid TypeScript. */
export function parseSource(source: SourceText): ParsedSource {
  const parsed = parsedSources.get(source) ?? parse(source)
  parsedSources.set(source, parsed)
  return parsed
}

function parse({ path, text }: SourceText): ParsedSource {
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const lineStarts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1)
  const lineOf = (offset: number): number => {
    let low = 0
    let high = lineStarts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((lineStarts[middle] as number) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }

  const imports = new Map<string, ImportedModule>()
  const body = program.body as unknown as readonly SyntaxNode[]
  visitNodes(program as unknown as SyntaxNode, (node) => {
    const specifier = importSpecifier(node)
    if (specifier === null) return
    const target = resolveImport(path, specifier.value)
    if (!imports.has(target)) imports.set(target, { target, line: lineOf(specifier.start) })
  })
  return { path, text, body, comments: comments as SourceComment[], imports: [...imports.values()], lineOf }
}

/** Calls `visit` for the node and all nodes below it, parents first. */
export function visitNodes(node: SyntaxNode, visit: (node: SyntaxNode) => void): void {
  visit(node)
  for (const member in node) {
    const value = node[member]
    if (Array.isArray(value)) for (const item of value) if (isNode(item)) visitNodes(item, visit)
    if (isNode(value)) visitNodes(value, visit)
  }
}

/** The text with every character of a comment blanked, so that lines and columns stay. */
export function withoutComments({ text, comments }: ParsedSource): string {
  let code = ''
  let at = 0
  for (const { start, end } of comments) {
    code += text.slice(at, start) + text.slice(start, end).replace(/[^\n]/g, ' ')
    at = end
  }
  return code + text.slice(at)
}

const isNode = (value: unknown): value is SyntaxNode =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && 'type' in value

function importSpecifier(node: SyntaxNode): { value: string; start: number } | null {
  const source =
    node.type === 'CallExpression' && (node.callee as SyntaxNode).name === 'require'
      ? (node.arguments as SyntaxNode[])[0]
      : /^(?:Import|Export\w+)Declaration$|^ImportExpression$|^TSImportType$/.test(node.type)
        ? ((node.source ?? node.argument) as SyntaxNode | null | undefined)
        : null
  const literal = source?.type === 'TSLiteralType' ? (source.literal as SyntaxNode) : source
  return typeof literal?.value === 'string' ? { value: literal.value, start: literal.start } : null
}

/** The module that `specifier` names in file `from`: see {@link ImportedModule}. */
export function resolveImport(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier)
  if (specifier.startsWith('node:')) return specifier
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
