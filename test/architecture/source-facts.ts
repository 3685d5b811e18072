// Reads one TypeScript source into the facts that the figures count: declarations, exports, comments, strings and imports.
// The parser is oxc, through rolldown, which vitest brings along: TypeScript 7 has no API in JavaScript.
import { posix } from 'node:path'
import { parseSync } from 'rolldown/utils'

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
  /** One entry a line, without the signs of comments; empty lines are left out. */
  readonly comments: readonly TextLine[]
  /** String literals and text of templates that hold at least two words. */
  readonly messages: readonly TextLine[]
  /** Paths from the root of the repository for relative imports, else the package. */
  readonly imports: readonly string[]
}

// The AST is ESTree with types; only these members are read.
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

const typeDeclarations = new Set([
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'ClassDeclaration',
  'TSEnumDeclaration',
])

export function readFacts(path: string, text: string): SourceFacts {
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

  /** A docstring ends where the declaration starts, with nothing but white space between. */
  const docEnds = new Set<number>()
  for (const comment of comments) {
    if (comment.type !== 'Block' || !comment.value.startsWith('*')) continue
    let end = comment.end
    while (/\s/.test(text[end] ?? '')) end++
    docEnds.add(end)
  }

  const body = program.body as unknown as readonly Node[]
  const types: DeclaredName[] = []
  const exports = new Map<string, ExportedDeclaration>()
  const members: ExportedDeclaration[] = []
  const reexports: { from: string; name: string }[] = []
  const imports = new Set<string>()
  const local = new Map<string, ExportedDeclaration>()

  const declared = (declaration: Node, start: number): ExportedDeclaration[] => {
    const names =
      declaration.type === 'VariableDeclaration'
        ? (declaration.declarations as Node[]).map((one) => (one.id as Node).name as string | undefined)
        : [(declaration.id as Node | null)?.name as string | undefined]
    return names
      .filter((name) => name !== undefined)
      .map((name) => ({ name, line: lineOf(start), documented: docEnds.has(start) }))
  }
  const addMembers = (declaration: Node): void => {
    const owner = (declaration.id as Node | null)?.name as string
    const list =
      declaration.type === 'TSInterfaceDeclaration' || declaration.type === 'ClassDeclaration'
        ? ((declaration.body as Node).body as Node[])
        : []
    for (const member of list) {
      const key = member.key as Node | undefined
      if (key === undefined || key.type !== 'Identifier' || key.name === 'constructor') continue
      if (member.accessibility === 'private' || member.accessibility === 'protected' || member.override) continue
      const name = `${owner}.${key.name as string}`
      members.push({ name, line: lineOf(member.start), documented: docEnds.has(member.start) })
    }
  }

  for (const statement of body) {
    const source = (statement.source as Node | null | undefined)?.value as string | undefined
    if (source !== undefined) imports.add(resolveImport(path, source))
    const isExport = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration'
    const declaration = isExport ? (statement.declaration as Node | null) : statement
    if (declaration !== null && 'type' in declaration) {
      if (typeDeclarations.has(declaration.type)) {
        types.push({ name: (declaration.id as Node).name as string, line: lineOf(declaration.start) })
      }
      if (/Declaration$/.test(declaration.type) && !/^(Import|Export)/.test(declaration.type)) {
        for (const one of declared(declaration, statement.start)) {
          // The docstring of an overloaded function stands at its first signature.
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
      for (const specifier of statement.specifiers as Node[]) {
        const name = ((specifier.local as Node).name ?? (specifier.local as Node).value) as string
        if (source !== undefined) reexports.push({ from: resolveImport(path, source), name })
        else if (local.has(name)) exports.set(name, local.get(name) as ExportedDeclaration)
      }
    }
  }

  const messages: TextLine[] = []
  const isMessage = (value: string): boolean => /[A-Za-z]{2,}[,:]? +[`'"(]?[A-Za-z]{2,}/.test(value)
  const addMessage = (start: number, value: string): void => {
    if (!isMessage(value)) return
    value.split('\n').forEach((line, index) => {
      if (/[A-Za-z]/.test(line)) messages.push({ line: lineOf(start) + index, text: line })
    })
  }
  const walk = (node: Node): void => {
    if (node.type === 'ImportExpression' || node.type === 'TSImportType') {
      const target = (node.source ?? node.argument) as Node | undefined
      const literal = (target?.type === 'TSLiteralType' ? target.literal : target) as Node | undefined
      if (typeof literal?.value === 'string') imports.add(resolveImport(path, literal.value))
    }
    if (node.type === 'Literal' && typeof node.value === 'string') addMessage(node.start, node.value)
    // The parts of a template read as one text, with a sign where a value is put in.
    if (node.type === 'TemplateLiteral') {
      addMessage(
        node.start,
        (node.quasis as Node[]).map((part) => (part.value as { cooked: string | null }).cooked ?? '').join('…'),
      )
    }
    for (const member in node) {
      const value = node[member]
      if (Array.isArray(value)) {
        for (const one of value) if (one !== null && typeof one === 'object' && 'type' in one) walk(one as Node)
      } else if (value !== null && typeof value === 'object' && 'type' in value) {
        walk(value as Node)
      }
    }
  }
  walk(program as unknown as Node)

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
    imports: [...imports],
  }
}

function resolveImport(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier)
  if (specifier.startsWith('node:')) return specifier
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
