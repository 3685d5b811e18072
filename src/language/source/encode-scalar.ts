// Writes a text as a scalar of a YAML or JSON document in place of another one.
import { isScalar } from 'yaml'
import { parseYaml } from '../../kernel/json/yaml.ts'
import type { ScalarSource } from './located-text.ts'

/** The source of `text` in place of a scalar of a document. Keeps the style of the scalar if the text allows it. */
export function encodeScalar(document: string, { span, style }: ScalarSource, text: string): string {
  const source = document.slice(span.start, span.end)
  if (style === 'double') return JSON.stringify(text)
  if (style === 'block') return blockLiteral(document, span.start, source, text)
  if (isInFlow(document, span.start)) return isPlain(text, true) ? text : JSON.stringify(text)
  if (text.includes('\n')) return `|-\n${indented(text, indentOf(document, span.start))}`
  if (style === 'plain' && isPlain(text, false)) return text
  return text.includes('\r') ? JSON.stringify(text) : `'${text.replaceAll("'", "''")}'`
}

function blockLiteral(document: string, start: number, source: string, text: string): string {
  const header = /^[|>][^\n#]*/.exec(source)?.[0] ?? '|'
  const chomping = /[+-]/.exec(header)?.[0] ?? ''
  const comment = /^[^\n#]*(\s#[^\n]*)/.exec(source)?.[1] ?? ''
  const indent = /\n( +)\S/.exec(source)?.[1] ?? indentOf(document, start)
  const end = source.endsWith('\n') ? '\n' : ''
  return `|${chomping}${comment.trimEnd()}\n${indented(text, indent)}${end}`
}

/** One level deeper than the key of the scalar. */
function indentOf(document: string, start: number): string {
  const line = document.slice(document.lastIndexOf('\n', start - 1) + 1, start)
  return ' '.repeat((/^[\s-]*/.exec(line)?.[0].length ?? 0) + 2)
}

function indented(text: string, indent: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : indent + line))
    .join('\n')
}

/** Whether a place is inside braces or brackets of the same document. A wrong answer only leads to another style of quotes. */
function isInFlow(document: string, start: number): boolean {
  const line = document.slice(document.lastIndexOf('\n', start - 1) + 1, start)
  return /[{[,]/.test(line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, ''))
}

function isPlain(text: string, isFlow: boolean): boolean {
  if (isFlow && /[{}[\],]/.test(text)) return false
  const read = parseYaml(text).contents
  return !text.includes('\n') && isScalar(read) && read.type === 'PLAIN' && read.value === text && read.comment == null
}
