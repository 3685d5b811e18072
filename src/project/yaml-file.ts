// Reads a YAML file into plain data, and finds the place of each value in it. Of YAML 1.2 it accepts what JSON can express: no
// anchors, aliases, tags, infinities and no keys that are not strings.
import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, type Node, type Pair, type Scalar } from 'yaml'
import { Float } from '../kernel/float.ts'
import { parseYaml } from '../kernel/json/yaml.ts'
import type { FileDiagnostic, FilePosition } from './file-diagnostic.ts'

/** How numbers are represented. `exact`: floats are boxed, so that 1.0 differs from 1. Integers beyond 53 bits are bigints. */
type YamlNumbers = 'exact' | 'plain'

type YamlMap = Readonly<Record<string, unknown>>

/** A text whose values have places in a file. */
export class YamlFile {
  /** Path for messages. */
  readonly file: string
  /** The errors of the text; no other method may be used if there are any. */
  readonly errors: readonly FileDiagnostic[]
  private readonly text: string
  private readonly lines = new LineCounter()
  private readonly root: Node | null

  /** `text`: from its start to the end of the YAML document. */
  constructor(file: string, text: string) {
    this.file = file
    this.text = text
    const document = parseYaml(text, {
      intAsBigInt: true,
      lineCounter: this.lines,
      customTags: [],
      merge: false,
    })
    this.root = document.contents
    const issues = [...document.errors, ...document.warnings].map(({ message, pos }) => ({ message, at: pos[0] }))
    if (issues.length === 0 && this.root !== null) this.check(this.root, (message, at) => issues.push({ message, at }))
    this.errors = issues.map(({ message, at }) => {
      const place = this.positionAt(at)
      return { ...place, message: `${lowerFirst(message)}${cypherHint(text.split('\n')[place.line - 1] ?? '')}` }
    })
  }

  /** The data of the whole text; null if it is empty. */
  value(numbers: YamlNumbers): unknown {
    return this.root === null ? null : dataOf(this.root, numbers)
  }

  /** The place of an offset in the text. */
  positionAt(offset: number): FilePosition {
    const { line, col } = this.lines.linePos(offset)
    return { file: this.file, line: Math.max(1, line), column: Math.max(1, col) }
  }

  /**
   * The place of the value at `path`, such as `['actions', 0]`; of the value that contains it if it does not exist. `key`: the
   * place of this member of the value.
   */
  position(path: readonly PropertyKey[], key: string | null = null): FilePosition {
    let node = this.root
    let at = node?.range?.[0] ?? 0
    for (const step of path) {
      const next = this.childOf(node, step)
      if (next === null) return this.positionAt(at)
      node = next.node
      at = next.at
    }
    const member = key === null ? null : this.pairOf(node, key)
    return this.positionAt(member === null ? at : startOf(member.key as Node, at))
  }

  /**
   * The place of a value by the text of its path below `base`, such as `routes[0].keys`. As `position` for one that does not
   * exist.
   */
  locate(path: string, base: readonly PropertyKey[] = []): FilePosition {
    const steps: PropertyKey[] = [...base]
    let node = this.root
    for (const step of base) node = this.childOf(node, step)?.node ?? null
    let rest = path
    while (rest !== '' && node !== null) {
      const index = /^\[(\d+)\]\.?/.exec(rest)
      const step = index === null ? keyAtStart(node, rest) : Number(index[1])
      if (step === null) break
      const next = this.childOf(node, step)
      if (next === null) break
      steps.push(step)
      rest = index === null ? rest.slice(String(step).length).replace(/^\./, '') : rest.slice(index[0].length)
      node = next.node
    }
    return this.position(steps)
  }

  /**
   * The place of a line and a column within the text value at `path`; null if the value is written with escapes or folded, so that
   * its lines are not those of the file.
   */
  positionInText(path: readonly PropertyKey[], line: number, column: number): FilePosition | null {
    let node = this.root
    for (const step of path) node = this.childOf(node, step)?.node ?? null
    if (!isScalar(node) || typeof node.value !== 'string' || node.range == null) return null
    const [start, end] = node.range
    const source = this.text.slice(start, end)
    const at = this.positionAt(start)
    if (node.type === 'BLOCK_LITERAL') {
      const first = source.indexOf('\n') + 1
      const written = source.slice(first).split('\n')[line - 1] ?? ''
      const plain = node.value.split('\n')[line - 1] ?? ''
      return { file: this.file, line: at.line + line, column: written.length - plain.length + column }
    }
    if (line !== 1 || source.includes('\n')) return null
    if (source === node.value) return { ...at, column: at.column + column - 1 }
    return source.slice(1, -1) === node.value ? { ...at, column: at.column + column } : null
  }

  private childOf(node: Node | null, step: PropertyKey): { node: Node | null; at: number } | null {
    if (isMap(node) && typeof step === 'string') {
      const pair = this.pairOf(node, step)
      if (pair === null) return null
      const keyAt = startOf(pair.key as Node, 0)
      return { node: pair.value as Node | null, at: startOf(pair.value as Node | null, keyAt) }
    }
    if (isSeq(node) && typeof step === 'number') {
      const item = (node.items[step] ?? null) as Node | null
      return item === null ? null : { node: item, at: startOf(item, 0) }
    }
    return null
  }

  private pairOf(node: Node | null, key: string): Pair | null {
    if (!isMap(node)) return null
    return node.items.find((pair) => isScalar(pair.key) && pair.key.value === key) ?? null
  }

  private check(node: Node, report: (message: string, at: number) => void): void {
    const at = startOf(node, 0)
    if (isAlias(node)) report('aliases are not supported: repeat the value', at)
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined) {
      report('anchors are not supported', at)
    }
    if (isScalar(node)) {
      if (typeof node.value === 'number' && !Number.isFinite(node.value)) report('expected a finite number', at)
      return
    }
    if (isSeq(node)) {
      for (const item of node.items) if (!isPair(item)) this.check(item as Node, report)
    }
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        const isText = isScalar(key) && typeof key.value === 'string'
        if (!isText) report('expected a name: put it in quotes if it is not a word', startOf(key as Node, at))
        else if (key.value === '<<' || key.value === '__proto__')
          report(`the name \`${key.value}\` is not allowed`, startOf(key, at))
        if (value !== null) this.check(value as Node, report)
      }
    }
  }
}

function startOf(node: Node | null, otherwise: number): number {
  return node?.range?.[0] ?? otherwise
}

/** The longest member of the map with which the text of a path begins. */
function keyAtStart(node: Node, path: string): string | null {
  if (!isMap(node)) return null
  const keys = node.items.map(({ key }) => String((key as Scalar).value))
  const fitting = keys.filter((key) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`))
  return fitting.sort((a, b) => b.length - a.length)[0] ?? null
}

function dataOf(node: Node | null, numbers: YamlNumbers): unknown {
  if (isScalar(node)) return scalarOf(node.value, numbers)
  if (isSeq(node)) return node.items.map((item) => dataOf(item as Node, numbers))
  if (!isMap(node)) return null
  const data: Record<string, unknown> = {}
  for (const { key, value } of node.items) data[String((key as Scalar).value)] = dataOf(value as Node | null, numbers)
  return data as YamlMap
}

function scalarOf(value: unknown, numbers: YamlNumbers): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  return typeof value === 'number' && numbers === 'exact' ? new Float(value) : value
}

/** Cypher has characters with a meaning in YAML, such as `: ` in a pattern with properties. */
function cypherHint(line: string): string {
  return /\bcypher: *[^|>'" ]/.test(line) ? '; write Cypher on lines of its own, after `cypher: |`' : ''
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}
