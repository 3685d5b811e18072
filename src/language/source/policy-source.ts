// Reads the policies in a file with the place of each member: a policy as `/configs/v1/authorization-policies` stores it, its
// document alone, a file of a project folder, a scenario file with policies, or a Cypher text with or without front matter.
import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml'
import type { Span } from '../../../grammar/ast.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { parseYaml } from '../../kernel/json/yaml.ts'
import { contextVersion } from '../../policy/context-document.ts'
import { executedVersion } from '../../policy/policy-version.ts'
import { encodeScalar } from './encode-scalar.ts'
import { type LocatedText, plainText, scalarText, spanInFile } from './located-text.ts'

/** A file to read. `file`: its name in reports; the ending `.cypher` tells Cypher from YAML and JSON. */
export interface LanguageDocument {
  readonly file: string
  readonly text: string
}

/** A member of a document: the path that messages of the policy compiler use, such as `policy.condition.cypher`. */
export type MemberPath = readonly (string | number)[]

/** One policy of a file. */
export interface PolicySource {
  readonly document: LanguageDocument
  /** The name of the policy; the name of the file if it has none. */
  readonly name: string
  /** The document as the service compiles it; null: Cypher without a policy. */
  readonly policy: unknown
  readonly status: string
  readonly tags: readonly string[]
  /** Null: the document has no Cypher text. */
  readonly cypher: LocatedText | null
  /** The change of the file that replaces the Cypher by another text. */
  replaceCypher(cypher: string): TextEdit
  /** The span in the file of a member of `policy`; of the nearest member around it if it is absent. */
  spanOf(path: MemberPath): Span
}

/** A change of a file: the span is replaced by the text. */
export interface TextEdit {
  readonly span: Span
  readonly text: string
}

/** The policies of a file, the actions that its scenarios ask for, and errors that prevent reading. */
interface ReadPolicies {
  readonly policies: readonly PolicySource[]
  readonly asked: readonly AskedAction[]
  readonly issues: readonly SourceIssue[]
}

/** An action that a scenario or the command line asks for. */
export interface AskedAction {
  readonly name: string
  readonly document: LanguageDocument | null
  readonly span: Span
}

/** A document that cannot be read. */
interface SourceIssue {
  readonly message: string
  readonly span: Span
}

const nothing = { policies: [], asked: [], issues: [] }

/** Reads a file. */
export function readPolicies(document: LanguageDocument): ReadPolicies {
  if (isModelFile(document)) return nothing
  return document.file.endsWith('.cypher') ? readCypherFile(document) : readDataFile(document)
}

/** Whether a document is a model, by its name. */
export function isModelFile({ file }: Pick<LanguageDocument, 'file'>): boolean {
  return file.endsWith('.gql')
}

/** Whether a file may hold policies, Cypher or a model, by its name. */
export function isLanguageFile(file: string): boolean {
  return /\.(?:cypher|gql|json|ya?ml)$/.test(file)
}

function readCypherFile(document: LanguageDocument): ReadPolicies {
  const { file, text } = document
  const front = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m.exec(text)
  if (front === null || front.index !== 0) {
    const cypher = plainText(text)
    const whole = { start: 0, end: Math.min(text.length, 1) }
    const policy = { document, name: baseName(file), policy: null, status: 'ACTIVE', tags: [], cypher }
    const replaceCypher = (replaced: string): TextEdit => ({
      span: { start: 0, end: text.length },
      text: `${replaced}\n`,
    })
    return { ...nothing, policies: [{ ...policy, spanOf: () => whole, replaceCypher }] }
  }
  const start = text.indexOf('\n') + 1
  const reader = new DataReader(document, plainText(front[1]!, start))
  const cypher = plainText(text.slice(front[0].length), front[0].length)
  return reader.read((root) => [reader.projectPolicy(root, cypher)])
}

function readDataFile(document: LanguageDocument): ReadPolicies {
  const reader = new DataReader(document, plainText(document.text))
  return reader.read((root) => {
    const listed = isMap(root) ? root.get('policies', true) : undefined
    if (isSeq(listed)) {
      const nodes = listed.items as Node[]
      return nodes.filter((node) => isMap(node) && node.has('cypher')).map((node) => reader.projectPolicy(node, null))
    }
    return reader.policy(root)
  })
}

class DataReader {
  private readonly document: LanguageDocument
  private readonly located: LocatedText
  private readonly yaml: Document.Parsed
  /** The change of the file that replaces a part of the text. */
  private readonly replace: (span: Span, text: string) => TextEdit

  constructor(
    document: LanguageDocument,
    located: LocatedText,
    replace: (span: Span, text: string) => TextEdit = (span, text) => ({ span, text }),
  ) {
    this.document = document
    this.located = located
    this.replace = replace
    // Long integers stay exact, and anchors are expanded by `toJS`.
    this.yaml = parseYaml(located.text, { intAsBigInt: false, uniqueKeys: true })
  }

  read(policiesOf: (root: Node) => readonly PolicySource[]): ReadPolicies {
    const [error] = this.yaml.errors
    if (error !== undefined) {
      const [start, end] = error.pos
      const [message = ''] = error.message.split(/ at line \d|:?\n/)
      const issue = { message: lowerFirst(message), span: spanInFile(this.located, { start, end }) }
      return { ...nothing, issues: [issue] }
    }
    const root = this.yaml.contents
    if (root === null) return nothing
    try {
      return { policies: policiesOf(root), asked: this.asked(root), issues: [] }
    } catch (failure) {
      if (!(failure instanceof ReferenceError)) throw failure
      // A few aliases of aliases can stand for gigabytes.
      const start = root.range?.[0] ?? 0
      const message = 'the aliases stand for too many values: repeat the values'
      return { ...nothing, issues: [{ message, span: spanInFile(this.located, { start, end: start + 1 }) }] }
    }
  }

  /** A stored policy, or a document alone. */
  policy(root: Node): PolicySource[] {
    if (!isMap(root)) return []
    const inner = root.get('policy', true)
    const stored = { status: text(root.get('status')) ?? 'ACTIVE', tags: texts(this.js(root.get('tags', true))) }
    const name = text(root.get('name')) ?? baseName(this.document.file)
    if (isScalar(inner) && typeof inner.value === 'string') {
      const scalar = { value: inner.value, ...styleOf(inner, this.located.text) }
      const reader = new DataReader(this.document, scalarText(scalar, this.located), (span, text) => {
        const { value } = scalar
        return this.replace(
          scalar.span,
          encodeScalar(this.located.text, scalar, value.slice(0, span.start) + text + value.slice(span.end)),
        )
      })
      if (reader.yaml.errors.length > 0 || !isMap(reader.yaml.contents)) return []
      return [{ ...reader.compiled(reader.yaml.contents), name, ...stored }]
    }
    if (isMap(inner)) return [{ ...this.compiled(inner), name, ...stored }]
    if (root.has('meta') && root.has('condition')) return [{ ...this.compiled(root), name, ...stored }]
    return root.has('cypher') ? [this.projectPolicy(root, null)] : []
  }

  /** A document as the service stores it. */
  private compiled(root: Node): PolicySource {
    const scalar = nodeAt(root, ['condition', 'cypher'])
    return this.source(root, this.js(root), scalar, null, (path) => path)
  }

  /** A document as a project folder has it. `cypher`: the text after its front matter. */
  projectPolicy(root: Node, cypher: LocatedText | null): PolicySource {
    const flat = this.js(root)
    const members = isJsonObject(flat) ? flat : {}
    const {
      version = '3.0-kbac',
      effect,
      subject,
      resource,
      actions,
      action,
      filter,
      token_filter,
      status,
      tags,
    } = members
    const isContext = version === contextVersion
    const typed = (entity: unknown): unknown => (typeof entity === 'string' ? { type: entity } : entity)
    const reads = Object.entries(members).filter(([name]) => name.startsWith('allowed_'))
    const policy = {
      meta: { policy_version: version },
      ...(effect !== undefined && { effect }),
      subject: typed(subject),
      ...(!isContext && {
        actions: actions ?? (action === undefined ? undefined : [action]),
        resource: typed(resource),
      }),
      condition: {
        cypher: cypher?.text ?? members.cypher,
        ...(filter !== undefined && { filter }),
        ...(token_filter !== undefined && { token_filter }),
      },
      ...(isContext && Object.fromEntries(reads)),
    }
    const source = this.source(root, policy, cypher === null ? nodeAt(root, ['cypher']) : null, cypher, flatPath)
    const own = text(members.name)
    return {
      ...source,
      name: own ?? source.name,
      status: text(status) ?? 'ACTIVE',
      tags: texts(tags),
    }
  }

  private source(
    root: Node,
    policy: unknown,
    node: Node | null,
    cypher: LocatedText | null,
    ownPath: (path: MemberPath) => MemberPath,
  ): PolicySource {
    const isText = isScalar(node) && typeof node.value === 'string'
    const scalar = isText ? { value: node.value as string, ...styleOf(node, this.located.text) } : null
    return {
      document: this.document,
      name: baseName(this.document.file),
      policy,
      status: 'ACTIVE',
      tags: [],
      cypher: scalar === null ? cypher : scalarText(scalar, this.located),
      replaceCypher: (replaced) => {
        if (scalar !== null) return this.replace(scalar.span, encodeScalar(this.located.text, scalar, replaced))
        const start = cypher?.offsetAt(0) ?? 0
        return { span: { start, end: this.document.text.length }, text: `${replaced}\n` }
      },
      spanOf: (path) => this.spanOf(root, ownPath(path)),
    }
  }

  private spanOf(root: Node, path: MemberPath): Span {
    for (let length = path.length; length >= 0; length--) {
      const range = nodeAt(root, path.slice(0, length))?.range
      // A whole document is shown by its first line.
      if (range != null && length > 0) return spanInFile(this.located, { start: range[0], end: range[1] })
    }
    const start = root.range?.[0] ?? 0
    const line = this.located.text.indexOf('\n', start)
    return spanInFile(this.located, { start, end: line < 0 ? this.located.text.length : line })
  }

  private js(node: unknown): unknown {
    return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.toJS(this.yaml) : undefined
  }

  /** The second entry of each decision or search of a scenario file, without those that are unknown on purpose. */
  private asked(root: Node): AskedAction[] {
    const names = ['decisions', 'resources', 'subjects']
    const lists: unknown[] = isMap(root) ? names.map((name) => root.get(name, true)) : []
    return lists.flatMap((list) =>
      (isSeq(list) ? list.items : []).flatMap((item) => {
        const action = isSeq(item) ? item.items[1] : isMap(item) ? item.get('action', true) : null
        const values = isSeq(item) ? item.items : isMap(item) ? item.items.map(({ value }) => value) : []
        if (values.some((value) => isScalar(value) && value.value === 'unknown-action')) return []
        if (!isScalar(action) || typeof action.value !== 'string' || action.range == null) return []
        const [start, end] = action.range
        return [{ name: action.value, document: this.document, span: spanInFile(this.located, { start, end }) }]
      }),
    )
  }
}

/** The path in a file of a project folder of a member of the document that the service compiles. */
function flatPath([first, second, ...rest]: MemberPath): MemberPath {
  if (first === 'meta') return ['version']
  if (first === 'subject' || first === 'resource') return [first]
  if (first === 'condition') return second === undefined ? [] : [second, ...rest]
  return first === undefined ? [] : [first, ...(second === undefined ? [] : [second]), ...rest]
}

function nodeAt(root: Node, path: MemberPath): Node | null {
  let node: unknown = root
  for (const step of path) node = isMap(node) || isSeq(node) ? node.get(step, true) : undefined
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node : null
}

const styles: Readonly<Record<string, 'double' | 'single' | 'block'>> = {
  QUOTE_DOUBLE: 'double',
  QUOTE_SINGLE: 'single',
  BLOCK_LITERAL: 'block',
  BLOCK_FOLDED: 'block',
}

function styleOf(node: Node, source: string): { span: Span; style: 'double' | 'single' | 'block' | 'plain' } {
  const { range, type = '' } = node as { range?: [number, number, number] | null; type?: string }
  const [start = 0, end = source.length] = range ?? []
  return { span: { start, end }, style: styles[type] ?? 'plain' }
}

/** The version that a policy of a source is executed as; empty for Cypher without a policy. */
export function versionOf({ policy }: PolicySource): string {
  return executedVersion(policy)
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function baseName(file: string): string {
  return (file.split('/').at(-1) ?? file).replace(/\..*$/, '')
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}

/** The order of changes in a file. */
export function compareEdits(a: TextEdit, b: TextEdit): number {
  return a.span.start - b.span.start
}
