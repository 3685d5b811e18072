// The arrow notation of scenarios, parsed and printed: `(ann:Person:Vip {age: 30, identity: true})-[:MEMBER {since:
// 1}]->(red:Team)<-[:OWNS]-(bob)`, one or more chains per line.
import { Float } from '../kernel/float.ts'

/** A property value. A number without a point is an INTEGER, any other a FLOAT. */
export type NotationValue = boolean | bigint | Float | string | readonly NotationValue[]

/** A node in arrow notation. */
export interface NotationNode {
  readonly externalId: string
  readonly type: string
  /** In addition to the type. */
  readonly labels: readonly string[]
  readonly isIdentity: boolean
  readonly properties: ReadonlyMap<string, NotationValue>
}

/** A relationship in arrow notation. Its ends are nodes of the same graph. */
interface NotationRelationship {
  readonly source: NotationNode
  readonly target: NotationNode
  readonly type: string
  readonly properties: ReadonlyMap<string, NotationValue>
}

/** A graph in arrow notation. */
export interface NotationGraph {
  readonly nodes: readonly NotationNode[]
  readonly relationships: readonly NotationRelationship[]
}

/** A graph in arrow notation that cannot be parsed. The message begins with line and column. */
export class NotationError extends Error {
  override readonly name = 'NotationError'
  /** 1-based, of the text. */
  readonly line: number
  /** 1-based, in UTF-16 code units. */
  readonly column: number
  /** The message without line and column. */
  readonly problem: string

  constructor(line: number, column: number, problem: string) {
    super(`graph line ${line}, column ${column}: ${problem}`)
    this.line = line
    this.column = column
    this.problem = problem
  }
}

/** Reads a graph in arrow notation. Throws NotationError. */
export function readGraphNotation(text: string): NotationGraph {
  return new NotationReader(text).read()
}

const NAME = /[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]*(?:[./][\p{L}\p{M}\p{N}_-]+)*/uy

class NotationReader {
  private at = 0
  private readonly nodes: NotationNode[] = []
  private readonly relationships: NotationRelationship[] = []
  private readonly text: string
  constructor(text: string) {
    this.text = text
  }

  read(): NotationGraph {
    for (this.space(); this.at < this.text.length; this.space()) this.chain()
    return { nodes: this.nodes, relationships: this.relationships }
  }

  private chain(): void {
    let left = this.node()
    for (let arrow = this.taken('<-[') ?? this.taken('-['); arrow; arrow = this.taken('<-[') ?? this.taken('-[')) {
      this.expect(':')
      const type = this.name('a relationship type')
      const properties = this.taken('{') ? this.properties() : new Map<string, NotationValue>()
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
      this.relationships.push({ source, target, type, properties })
      left = right
    }
  }

  private node(): NotationNode {
    this.expect('(')
    const externalId = this.name('an external id')
    const [type, ...labels] = this.labelNames()
    const properties = this.taken('{') ? this.properties() : new Map<string, NotationValue>()
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
    const node: NotationNode = { externalId, type: type as string, labels, isIdentity, properties }
    this.nodes.push(node)
    return node
  }

  private labelNames(): string[] {
    const names: string[] = []
    while (this.taken(':')) names.push(this.name('a type or label'))
    return names
  }

  private properties(): Map<string, NotationValue> {
    const map = new Map<string, NotationValue>()
    while (!this.taken('}')) {
      if (map.size > 0) this.expect(',')
      const name = this.name('a property name')
      this.expect(':')
      map.set(name, this.value())
    }
    return map
  }

  private value(): NotationValue {
    if (this.taken('[')) {
      const items: NotationValue[] = []
      while (!this.taken(']')) {
        if (items.length > 0) this.expect(',')
        items.push(this.value())
      }
      return items
    }
    const number = this.pattern(/[+-]?\d+(?:\.\d+(?:e[+-]?\d+)?)?(?![\w.])/y)
    if (number !== null) return number.includes('.') ? new Float(Number(number)) : BigInt(number)
    const quoted = this.quoted()
    if (quoted !== null) return quoted
    const word = this.pattern(/true|false/y)
    if (word === null) return this.fail('a number, a quoted string, true, false or a list is expected')
    return word === 'true'
  }

  /** A name is words and numbers that `-`, `.` or `/` join, or in quotes or backticks if it contains anything else. */
  private name(what: string): string {
    return this.quoted() ?? this.backticked() ?? this.pattern(NAME) ?? this.fail(`${what} is expected`)
  }

  private backticked(): string | null {
    return (
      this.pattern(/`(?:[^`]|``)+`/y)
        ?.slice(1, -1)
        .replaceAll('``', '`') ?? null
    )
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
    throw new NotationError(line, this.at - before.lastIndexOf('\n'), message)
  }
}
