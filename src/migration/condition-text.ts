// Writes the condition of a relationship, an expression in the Common Expression Language (CEL), as an expression of Cypher.
import { cypherName } from '../kernel/text/cypher-names.ts'
import { type ConditionType, MigrationError, type RelationCondition } from './relation-model.ts'

/** A piece of Cypher, the type of its value as far as it is known, and the path from a parameter if it is a map. */
interface Piece {
  readonly text: string
  readonly type?: ConditionType
  readonly path?: readonly [parameter: string, ...members: string[]]
  /** Whether it needs parentheses as an operand of AND, OR and NOT. */
  readonly isChoice?: boolean
}

interface Token {
  readonly kind: 'number' | 'string' | 'name' | 'symbol' | 'end'
  readonly text: string
}

/** Writes the place of a value: of a parameter, or of a member of a parameter that is a map. */
type ParameterText = (parameter: string, members: readonly string[]) => string

/** Writes the condition. Throws a MigrationError for what Cypher cannot say. */
export function conditionText(
  { name, parameters, expression }: RelationCondition,
  parameterText: ParameterText,
): string {
  try {
    return new ConditionReader(tokensOf(expression), parameters, parameterText).read()
  } catch (error) {
    if (error instanceof MigrationError) throw new MigrationError(`condition \`${name}\`: ${error.message}`)
    throw error
  }
}

function tokensOf(text: string): readonly Token[] {
  const part =
    /(\s+|\/\/[^\n]*)|(\d+\.\d+(?:[eE][+-]?\d+)?|\d+u?)|(r?"(?:[^"\\]|\\.)*"|r?'(?:[^'\\]|\\.)*')|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|[<>!+\-*/%?:.,()[\]{}])/y
  const tokens: Token[] = []
  while (part.lastIndex < text.length) {
    const from = part.lastIndex
    const found = part.exec(text)
    if (found === null) throw new MigrationError(`unexpected \`${text[from]}\``)
    const [, space, number, string, name, symbol] = found
    if (space !== undefined) continue
    if (number !== undefined) tokens.push({ kind: 'number', text: number.replace('u', '') })
    else if (string !== undefined) tokens.push({ kind: 'string', text: stringValue(string) })
    else if (name !== undefined) tokens.push({ kind: 'name', text: name })
    else tokens.push({ kind: 'symbol', text: symbol! })
  }
  return [...tokens, { kind: 'end', text: 'the end' }]
}

function stringValue(literal: string): string {
  if (literal.startsWith('r')) return literal.slice(2, -1)
  const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }
  return literal.slice(1, -1).replace(/\\(.)/g, (_, character: string) => escapes[character] ?? character)
}

/** A string literal of Cypher. */
export function stringText(value: string): string {
  return `'${value.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`
}

/** Fields of a point in time, in UTC. CEL counts months and days from 0. */
const TIME_FIELDS: Readonly<Record<string, (value: string) => string>> = {
  getFullYear: (value) => `${value}.year`,
  getMonth: (value) => `(${value}.month - 1)`,
  getDate: (value) => `${value}.day`,
  getDayOfMonth: (value) => `(${value}.day - 1)`,
  getDayOfWeek: (value) => `(${value}.dayOfWeek % 7)`,
  getDayOfYear: (value) => `(${value}.ordinalDay - 1)`,
  getHours: (value) => `${value}.hour`,
  getMinutes: (value) => `${value}.minute`,
  getSeconds: (value) => `${value}.second`,
}

const COMPARISONS: Readonly<Record<string, string>> = {
  '==': '=',
  '!=': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
}

class ConditionReader {
  private readonly tokens: readonly Token[]
  private readonly parameters: ReadonlyMap<string, ConditionType>
  private readonly parameterText: ParameterText
  private readonly locals = new Map<string, ConditionType | undefined>()
  private at = 0

  constructor(tokens: readonly Token[], parameters: ReadonlyMap<string, ConditionType>, parameterText: ParameterText) {
    this.tokens = tokens
    this.parameters = parameters
    this.parameterText = parameterText
  }

  read(): string {
    const { text } = this.choice()
    if (this.next.kind !== 'end') throw new MigrationError(`unexpected \`${this.next.text}\``)
    return text
  }

  private get next(): Token {
    return this.tokens[this.at]!
  }

  private take(): Token {
    this.at += 1
    return this.tokens[this.at - 1]!
  }

  private accept(...symbols: readonly string[]): string | null {
    const { kind, text } = this.next
    if (kind !== 'symbol' || !symbols.includes(text)) return null
    this.at += 1
    return text
  }

  private expect(symbol: string): void {
    if (this.accept(symbol) === null) throw new MigrationError(`expected \`${symbol}\`, found \`${this.next.text}\``)
  }

  private choice(): Piece {
    const condition = this.either()
    if (this.accept('?') === null) return condition
    const yes = this.choice()
    this.expect(':')
    const no = this.choice()
    return { ...yes, text: `CASE WHEN ${condition.text} THEN ${yes.text} ELSE ${no.text} END` }
  }

  private either(): Piece {
    let left = this.both()
    while (this.accept('||')) left = { text: `${left.text} OR ${this.both().text}`, type: 'bool', isChoice: true }
    return left
  }

  private both(): Piece {
    let left = this.comparison()
    while (this.accept('&&')) left = { text: `${grouped(left)} AND ${grouped(this.comparison())}`, type: 'bool' }
    return left
  }

  private comparison(): Piece {
    let left = this.sum()
    for (;;) {
      if (this.next.kind === 'name' && this.next.text === 'in') {
        this.at += 1
        left = this.membership(left, this.sum())
        continue
      }
      const operator = this.accept(...Object.keys(COMPARISONS))
      if (operator === null) return left
      left = { text: compared(left, operator, this.sum()), type: 'bool' }
    }
  }

  private membership(left: Piece, right: Piece): Piece {
    if (right.path === undefined) return { text: `${left.text} IN ${right.text}`, type: 'bool' }
    const [parameter, ...members] = right.path
    const literal = /^'(.*)'$/s.exec(left.text)
    if (literal === null) throw new MigrationError('the key of a map must be a string')
    return { text: `${this.parameterText(parameter, [...members, literal[1]!])} IS NOT NULL`, type: 'bool' }
  }

  private sum(): Piece {
    let left = this.product()
    for (let operator = this.accept('+', '-'); operator !== null; operator = this.accept('+', '-')) {
      const right = this.product()
      const times = [left, right].filter(({ type }) => type === 'timestamp').length
      if (times === 2) left = { text: `duration.inSeconds(${right.text}, ${left.text})`, type: 'duration' }
      else left = typed(`${left.text} ${operator} ${right.text}`, times === 1 ? 'timestamp' : left.type)
    }
    return left
  }

  private product(): Piece {
    let left = this.unary()
    for (let operator = this.accept('*', '/', '%'); operator !== null; operator = this.accept('*', '/', '%')) {
      left = typed(`${left.text} ${operator} ${this.unary().text}`, left.type)
    }
    return left
  }

  private unary(): Piece {
    if (this.accept('!')) return { text: `NOT (${this.unary().text})`, type: 'bool' }
    if (this.accept('-')) return { text: `-${this.unary().text}` }
    let value = this.primary()
    for (;;) {
      if (this.accept('.')) value = this.member(value, this.take().text)
      else if (this.accept('[')) {
        const key = this.choice()
        this.expect(']')
        const literal = /^'(.*)'$/s.exec(key.text)
        if (value.path !== undefined && literal !== null) value = this.memberOf(value, literal[1]!)
        else value = typed(`${value.text}[${key.text}]`, elementType(value.type))
      } else return value
    }
  }

  private member(value: Piece, name: string): Piece {
    if (this.next.text === '(' && this.next.kind === 'symbol') return this.method(value, name)
    return value.path === undefined ? { text: `${value.text}.${cypherName(name)}` } : this.memberOf(value, name)
  }

  /** A member of a parameter that is a map. */
  private memberOf({ path, type }: Piece, name: string): Piece {
    const [parameter, ...members] = path!
    const of = [...members, name]
    const inner = typeof type === 'object' && 'map' in type ? type.map : undefined
    return { ...typed(this.parameterText(parameter, of), inner), path: [parameter, ...of] }
  }

  private arguments(): readonly Piece[] {
    this.expect('(')
    const given: Piece[] = []
    while (!this.accept(')')) {
      given.push(this.choice())
      this.accept(',')
    }
    return given
  }

  private method(value: Piece, name: string): Piece {
    const quantifier = { exists: 'any', all: 'all', exists_one: 'single' }[name]
    if (quantifier !== undefined || name === 'filter' || name === 'map') return this.macro(value, name, quantifier)
    const [argument = { text: '' }] = this.arguments()
    const field = TIME_FIELDS[name]
    if (field !== undefined) return { text: field(value.text), type: 'int' }
    switch (name) {
      case 'startsWith':
        return { text: `${value.text} STARTS WITH ${argument.text}`, type: 'bool' }
      case 'endsWith':
        return { text: `${value.text} ENDS WITH ${argument.text}`, type: 'bool' }
      case 'contains':
        return { text: `${value.text} CONTAINS ${argument.text}`, type: 'bool' }
      case 'matches':
        return { text: `${value.text} =~ ('.*(?:' + ${argument.text} + ').*')`, type: 'bool' }
      case 'size':
        return { text: `size(${value.text})`, type: 'int' }
      case 'in_cidr':
        return { text: `net.contains(${argument.text}, ${value.text})`, type: 'bool' }
    }
    throw new MigrationError(`the method \`${name}\` has no counterpart`)
  }

  private macro(list: Piece, name: string, quantifier: string | undefined): Piece {
    this.expect('(')
    const variable = this.take().text
    this.expect(',')
    const hidden = this.locals.get(variable)
    const isHiding = this.locals.has(variable)
    this.locals.set(variable, elementType(list.type))
    const body = this.choice()
    if (isHiding) this.locals.set(variable, hidden)
    else this.locals.delete(variable)
    this.expect(')')
    if (quantifier) return { text: `${quantifier}(${variable} IN ${list.text} WHERE ${body.text})`, type: 'bool' }
    if (name === 'map') return { text: `[${variable} IN ${list.text} | ${body.text}]` }
    return typed(`[${variable} IN ${list.text} WHERE ${body.text}]`, list.type)
  }

  private primary(): Piece {
    const { kind, text } = this.take()
    if (kind === 'number') return { text, type: text.includes('.') ? 'double' : 'int' }
    if (kind === 'string') return { text: stringText(text), type: 'string' }
    if (kind === 'symbol' && text === '(') {
      const inner = this.choice()
      this.expect(')')
      return { ...inner, text: `(${inner.text})`, isChoice: false }
    }
    if (kind === 'symbol' && text === '[') {
      const items: Piece[] = []
      while (!this.accept(']')) {
        items.push(this.choice())
        this.accept(',')
      }
      return { text: `[${items.map((item) => item.text).join(', ')}]`, type: { list: items[0]?.type ?? 'any' } }
    }
    if (kind !== 'name') throw new MigrationError(`unexpected \`${text}\``)
    if (['true', 'false', 'null'].includes(text)) return { text }
    if (this.locals.has(text)) return typed(text, this.locals.get(text))
    const type = this.parameters.get(text)
    if (type !== undefined) return this.parameter(text, type)
    if (this.next.text === '(') return this.call(text)
    throw new MigrationError(`\`${text}\` is no parameter`)
  }

  private parameter(name: string, type: ConditionType): Piece {
    const text = this.parameterText(name, [])
    if (type === 'timestamp') return { text: `datetime(${text})`, type }
    if (type === 'duration') return { text: `duration(${text})`, type }
    return typeof type === 'object' && 'map' in type ? { text, type, path: [name] } : { text, type }
  }

  private call(name: string): Piece {
    const [argument = { text: '' }] = this.arguments()
    switch (name) {
      case 'timestamp':
        return { text: `datetime(${argument.text})`, type: 'timestamp' }
      case 'duration': {
        const literal = /^'(.*)'$/.exec(argument.text)
        const text = literal === null ? argument.text : `'${isoDuration(literal[1]!)}'`
        return { text: `duration(${text})`, type: 'duration' }
      }
      case 'ipaddress':
        return { text: argument.text, type: 'ipaddress' }
      case 'size':
        return { text: `size(${argument.text})`, type: 'int' }
      case 'int':
      case 'uint':
        return { text: `toInteger(${argument.text})`, type: 'int' }
      case 'double':
        return { text: `toFloat(${argument.text})`, type: 'double' }
      case 'string':
        return { text: `toString(${argument.text})`, type: 'string' }
      case 'has':
        return { text: `${argument.text} IS NOT NULL`, type: 'bool' }
    }
    throw new MigrationError(`the function \`${name}\` has no counterpart`)
  }
}

function typed(text: string, type: ConditionType | undefined): Piece {
  return type === undefined ? { text } : { text, type }
}

function elementType(type: ConditionType | undefined): ConditionType | undefined {
  return typeof type === 'object' && 'list' in type ? type.list : undefined
}

function grouped({ text, isChoice }: Piece): string {
  return isChoice ? `(${text})` : text
}

function compared(left: Piece, operator: string, right: Piece): string {
  if (right.text === 'null') return `${left.text} IS ${operator === '==' ? '' : 'NOT '}NULL`
  return `${left.text} ${COMPARISONS[operator]!} ${right.text}`
}

const SECONDS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 }

/** A duration such as `1h30m` as ISO 8601. */
export function isoDuration(text: string): string {
  let seconds = 0
  for (const [, number, unit] of text.matchAll(/([\d.]+)(ns|us|µs|ms|h|m|s)/g))
    seconds += Number(number) * SECONDS[unit!]!
  return `PT${text.startsWith('-') ? '-' : ''}${seconds}S`
}
