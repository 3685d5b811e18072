// Parses YAML with a limit of its nesting. The parser of the package builds its syntax tree without recursion, so the depth is found
// there, before the steps that recurse.
import {
  Composer,
  type CST,
  type Document,
  type DocumentOptions,
  type ParseOptions,
  Parser,
  type SchemaOptions,
  YAMLParseError,
} from 'yaml'
import { JSON_DEPTH_MAX } from './json-parser.ts'

/**
 * Parses a text with one document. Errors are in `errors` of the document, with offsets and without an excerpt: those of the
 * syntax, or the first list or map that is nested deeper than JSON_DEPTH_MAX. Code that processes the values may therefore recurse.
 */
export function parseYaml(text: string, options: ParseOptions & DocumentOptions & SchemaOptions = {}): Document.Parsed {
  const tokens = Array.from(new Parser(options.lineCounter?.addNewLine).parse(text))
  const tooDeep = tokens.map(offsetOfTooDeep).find((offset) => offset !== null)
  const composer = new Composer({ ...options, prettyErrors: false })
  if (tooDeep != null) {
    const [empty] = composer.compose([], true, 0)
    const document = empty as unknown as Document.Parsed
    const message = `nested deeper than ${JSON_DEPTH_MAX} levels`
    document.errors.push(new YAMLParseError([tooDeep, tooDeep + 1], 'BAD_COLLECTION_TYPE', message))
    return document
  }
  const [document, second] = Array.from(composer.compose(tokens, true, text.length)) as unknown as Document.Parsed[]
  if (document === undefined) throw new Error('a composer that is forced to has a document')
  if (second !== undefined) {
    const [start, end] = second.range
    document.errors.push(
      new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'expected one document: a line `---` begins another one'),
    )
  }
  return document
}

/** The offset of the first list or map that is nested too deep; null if all are within the limit. */
function offsetOfTooDeep(root: CST.Token): number | null {
  const open: { readonly token: CST.Token; readonly depth: number }[] = [{ token: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next
    if ('items' in token && depth >= JSON_DEPTH_MAX) return token.offset
    const inner =
      token.type === 'document'
        ? [token.value]
        : 'items' in token
          ? token.items.flatMap((item) => [item.key, item.value])
          : []
    const added = token.type === 'document' ? 0 : 1
    for (const one of inner.reverse()) if (one != null) open.push({ token: one, depth: depth + added })
  }
  return null
}
