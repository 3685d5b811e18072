// Reads one TypeScript source into the facts that the figures count: declarations, exports, comments, messages and imports.
import { parseSource, resolveImport, type SourceText, type SyntaxNode, visitNodes } from './parse-source.ts'

export interface DeclaredName {
  readonly name: string
  readonly line: number
}

export interface ExportedDeclaration extends DeclaredName {
  readonly documented: boolean
}

export interface TextLine {
  readonly line: number
  readonly text: string
}

export interface SourceFacts {
  /** From the root of the repository: `src/pdp/evaluate.ts`. */
  readonly path: string
  readonly lineCount: number
  /** Interfaces, type aliases, classes and enums at the top level. */
  readonly types: readonly DeclaredName[]
  /** Declarations at the top level that the file exports; re-exports are in `reexports`. */
  readonly exports: readonly ExportedDeclaration[]
  readonly reexports: readonly { readonly from: string; readonly name: string }[]
  /** Members of exported interfaces and public members of exported classes. */
  readonly members: readonly ExportedDeclaration[]
  /** One entry per line, without comment signs; empty lines are left out. */
  readonly comments: readonly TextLine[]
  /** String literals and template texts that contain at least two words. */
  readonly messages: readonly TextLine[]
  /** Paths from the root of the repository for relative imports, else the package. */
  readonly imports: readonly string[]
}

const typeDeclarations = new Set([
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'ClassDeclaration',
  'TSEnumDeclaration',
])

/** Throws if the text is not valid TypeScript. */
export function readFacts(source: SourceText): SourceFacts {
  const parsed = parseSource(source)
  const { path, text, body, comments, lineOf } = parsed

  // A docstring ends where the declaration starts, with only white space between them.
  const docEnds = new Set<number>()
  for (const comment of comments) {
    if (comment.type !== 'Block' || !comment.value.startsWith('*')) continue
    let end = comment.end
    while (/\s/.test(text[end] ?? '')) end++
    docEnds.add(end)
  }

  const types: DeclaredName[] = []
  const exports = new Map<string, ExportedDeclaration>()
  const members: ExportedDeclaration[] = []
  const reexports: { from: string; name: string }[] = []
  const local = new Map<string, ExportedDeclaration>()

  const declared = (declaration: SyntaxNode, start: number): ExportedDeclaration[] => {
    const names =
      declaration.type === 'VariableDeclaration'
        ? (declaration.declarations as SyntaxNode[]).map(({ id }) => (id as SyntaxNode).name)
        : [(declaration.id as SyntaxNode | null)?.name]
    return names
      .filter((name) => typeof name === 'string')
      .map((name) => ({ name, line: lineOf(start), documented: docEnds.has(start) }))
  }
  const addMembers = (declaration: SyntaxNode): void => {
    if (declaration.type !== 'TSInterfaceDeclaration' && declaration.type !== 'ClassDeclaration') return
    const owner = (declaration.id as SyntaxNode | null)?.name as string
    for (const member of (declaration.body as SyntaxNode).body as SyntaxNode[]) {
      const key = member.key as SyntaxNode | undefined
      if (key === undefined || key.type !== 'Identifier' || key.name === 'constructor') continue
      if (member.accessibility === 'private' || member.accessibility === 'protected' || member.override) continue
      const name = `${owner}.${key.name as string}`
      members.push({ name, line: lineOf(member.start), documented: docEnds.has(member.start) })
    }
  }
  for (const statement of body) {
    const source = (statement.source as SyntaxNode | null | undefined)?.value as string | undefined
    const isExport = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration'
    const declaration = isExport ? (statement.declaration as SyntaxNode | null) : statement
    if (declaration !== null && 'type' in declaration) {
      if (typeDeclarations.has(declaration.type)) {
        types.push({ name: (declaration.id as SyntaxNode).name as string, line: lineOf(declaration.start) })
      }
      if (/Declaration$/.test(declaration.type) && !/^(Import|Export)/.test(declaration.type)) {
        for (const one of declared(declaration, statement.start)) {
          // The docstring of an overloaded function precedes its first signature.
          const known = local.get(one.name)
          local.set(one.name, known ?? one)
          if (isExport) exports.set(one.name, known?.documented ? known : (exports.get(one.name) ?? one))
        }
        if (isExport) addMembers(declaration)
      }
    }
    if (statement.type === 'ExportAllDeclaration')
      reexports.push({ from: resolveImport(path, source as string), name: '*' })
    if (statement.type === 'ExportNamedDeclaration') {
      for (const specifier of statement.specifiers as SyntaxNode[]) {
        const name = ((specifier.local as SyntaxNode).name ?? (specifier.local as SyntaxNode).value) as string
        if (source !== undefined) reexports.push({ from: resolveImport(path, source), name })
        else if (local.has(name)) exports.set(name, local.get(name) as ExportedDeclaration)
      }
    }
  }

  const messages: TextLine[] = []
  const addMessage = (start: number, value: string): void => {
    if (!/[A-Za-z]{2,}[,:]? +[`'"(]?[A-Za-z]{2,}/.test(value)) return
    value.split('\n').forEach((line, index) => {
      if (/[A-Za-z]/.test(line)) messages.push({ line: lineOf(start) + index, text: line })
    })
  }
  for (const statement of body) {
    visitNodes(statement, (node) => {
      if (node.type === 'Literal' && typeof node.value === 'string') addMessage(node.start, node.value)
      if (node.type !== 'TemplateLiteral') return
      // The parts of a template read as one text, with a sign in place of each value.
      const parts = (node.quasis as SyntaxNode[]).map(({ value }) => (value as { cooked: string | null }).cooked ?? '')
      addMessage(node.start, parts.join('…'))
    })
  }

  const commentLines = comments.flatMap((comment): TextLine[] =>
    comment.value
      .split('\n')
      .map((line, index) => ({ line: lineOf(comment.start) + index, text: line.replace(/^[\s*]+/, '').trimEnd() }))
      .filter(({ text: line }) => /[A-Za-z]/.test(line) && !/^(?:biome-ignore|@ts-)/.test(line)),
  )

  return {
    path,
    lineCount: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    types,
    exports: [...exports.values()],
    reexports,
    members,
    comments: commentLines,
    messages,
    imports: parsed.imports.map(({ target }) => target),
  }
}
