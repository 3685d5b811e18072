// The arrow notation of scenarios, parsed and printed: `(ann:Person:Vip {age: 30, identity: true})-[:MEMBER {since:
// 1}]->(red:Team)<-[:OWNS]-(bob)`, one or more chains per line.
import type { GraphNode, GraphRelationship, ReferenceGraph, ReferenceValue } from '../oracle/cypher/values.ts'

type MutableNode = { -readonly [K in keyof GraphNode]: GraphNode[K] } & {
  labels: string[]
  properties: Map<string, ReferenceValue>
}

/** A graph in arrow notation that cannot be parsed; the message has line, column and the expected token. */
export class NotationError extends Error {
  override readonly name = 'ArrowFault'
}

export function readGraph(text: string): ReferenceGraph {
  return new NotationReader(text).read()
}

class NotationReader {
  private at = 0
  private readonly nodes: MutableNode[] = []
  private readonly relationships: GraphRelationship[] = []
  private readonly text: string
  constructor(text: string) {
    this.text = text
  }

  read(): ReferenceGraph {
    for (this.space(); this.at < this.text.length; this.space()) this.chain()
    return { nodes: this.nodes, relationships: this.relationships }
  }

  private chain(): void {
    let left = this.node()
    for (let arrow = this.taken('<-[') ?? this.taken('-['); arrow; arrow = this.taken('<-[') ?? this.taken('-[')) {
      this.expect(':')
      const type = this.name('a relationship type')
      const properties = this.taken('{') ? this.properties() : new Map<string, ReferenceValue>()
      this.expect(arrow === '-[' ? ']->' : ']-')
      const right = this.node()
      const [source, target] = arrow === '-[' ? [left, right] : [right, left]
      if (
        this.relationships.some((other) => other.source === source && other.target === target && other.type === type)
      ) {
        this.fail(
          `a second ${type} from ${source.externalId} to ${target.externalId}: relationships merge by their ends`,
        )
      }
      this.relationships.push({ kind: 'relationship', source, target, type, properties })
      left = right
    }
  }

  private node(): MutableNode {
    this.expect('(')
    const externalId = this.name('an external id')
    const [type, ...labels] = this.labelNames()
    const properties = this.taken('{') ? this.properties() : new Map<string, ReferenceValue>()
    this.expect(')')
    const isIdentity = properties.get('identity') === true
    properties.delete('identity')
    const known = this.nodes.filter((node) => node.externalId === externalId && (!type || node.type === type))
    if (!type) {
      if (known.length === 0) this.fail(`(${externalId}) has no type, and is not declared before`)
      if (known.length > 1) this.fail(`(${externalId}) is of several types: write the one that is meant`)
    }
    if (known[0]) {
      if (labels.length > 0 || properties.size > 0)
        this.fail(`(${externalId}) is declared before: write its labels and properties there`)
      return known[0]
    }
    const node = { kind: 'node', externalId, type: type as string, labels, isIdentity, properties } as MutableNode
    this.nodes.push(node)
    return node
  }

  private labelNames(): string[] {
    const names: string[] = []
    while (this.taken(':')) names.push(this.name('a type or label'))
    return names
  }

  private properties(): Map<string, ReferenceValue> {
    const map = new Map<string, ReferenceValue>()
    while (!this.taken('}')) {
      if (map.size > 0) this.expect(',')
      const name = this.name('a property name')
      this.expect(':')
      map.set(name, this.value())
    }
    return map
  }

  private value(): ReferenceValue {
    if (this.taken('[')) {
      const items: ReferenceValue[] = []
      while (!this.taken(']')) {
        if (items.length > 0) this.expect(',')
        items.push(this.value())
      }
      return items
    }
    const number = this.pattern(/[+-]?\d+(?:\.\d+(?:e[+-]?\d+)?)?(?![\w.])/y)
    if (number !== null) return number.includes('.') ? Number(number) : BigInt(number)
    const quoted = this.quoted()
    if (quoted !== null) return quoted
    const word = this.pattern(/true|false/y)
    if (word === null) return this.fail('a number, a quoted string, true, false or a list is expected')
    return word === 'true'
  }

  /** A name is a word, or a quoted string if it contains anything else. */
  private name(what: string): string {
    return this.quoted() ?? this.pattern(/[\p{L}\p{N}_][\p{L}\p{N}_-]*/uy) ?? this.fail(`${what} is expected`)
  }

  private quoted(): string | null {
    const token = this.pattern(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/y)
    return token === null ? null : token.slice(1, -1).replace(/\\(.)/g, '$1')
  }

  private pattern(regex: RegExp): string | null {
    this.space()
    regex.lastIndex = this.at
    const found = regex.exec(this.text)?.[0]
    if (found === undefined) return null
    this.at += found.length
    return found
  }

  private taken(token: string): string | null {
    this.space()
    if (!this.text.startsWith(token, this.at)) return null
    this.at += token.length
    return token
  }

  private expect(token: string): void {
    if (!this.taken(token)) this.fail(`\`${token}\` is expected`)
  }

  /** White space and `//` comments. */
  private space(): void {
    const blank = /(?:\s|\/\/[^\n]*)*/y
    blank.lastIndex = this.at
    this.at += blank.exec(this.text)?.[0].length ?? 0
  }

  private fail(message: string): never {
    const before = this.text.slice(0, this.at)
    const line = before.split('\n').length
    throw new NotationError(`graph line ${line}, column ${this.at - before.lastIndexOf('\n')}: ${message}`)
  }
}

// ---------------------------------------------------------------- writing

const word = (name: string): string => (/^[\p{L}\p{N}_][\p{L}\p{N}_-]*$/u.test(name) ? name : quote(name))
const quote = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`

/** A value as both the notation and Cypher write it: 1 and 1.0 stay distinct. */
export function printValue(value: ReferenceValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}.0` : String(value)
  if (Array.isArray(value)) return `[${value.map(printValue).join(', ')}]`
  if (value instanceof Map) return writeMap(value)
  return String(value)
}

const writeMap = (map: ReadonlyMap<string, ReferenceValue>): string =>
  `{${[...map].map(([key, value]) => `${word(key)}: ${printValue(value)}`).join(', ')}}`

/** Nodes first, one per line, then relationships. */
export function printGraph(graph: ReferenceGraph): string {
  const several = new Set(
    graph.nodes.map((node) => node.externalId).filter((id, index, all) => all.indexOf(id) !== index),
  )
  const short = (node: GraphNode): string =>
    `(${word(node.externalId)}${several.has(node.externalId) ? `:${word(node.type)}` : ''})`
  const nodes = graph.nodes.map((node) => {
    const properties = new Map(node.properties)
    if (node.isIdentity) properties.set('identity', true)
    const labels = [node.type, ...node.labels].map((label) => `:${word(label)}`).join('')
    return `(${word(node.externalId)}${labels}${properties.size > 0 ? ` ${writeMap(properties)}` : ''})`
  })
  const relationships = graph.relationships.map(({ source, target, type, properties }) => {
    return `${short(source)}-[:${word(type)}${properties.size > 0 ? ` ${writeMap(properties)}` : ''}]->${short(target)}`
  })
  return [...nodes, ...relationships].join('\n')
}
