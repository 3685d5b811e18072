// Reads JSON that a person wrote into a string: says where it is wrong, and refuses members that are given twice,
// because of two conditions a reader would believe the one that is not executed. Long integers stay exact: rounded, a value
// that a policy compares with would be another's.
import { parseJson } from '../kernel/json.ts'
import { err, type Result } from '../kernel/result.ts'

export interface JsonFault {
  readonly offset: number
  readonly message: string
}

const DEPTH_MAX = 64
const SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const WORD = /true|false|null/y

export function readJsonText(text: string): Result<unknown, JsonFault> {
  const scan = new Scan(text)
  try {
    scan.value(0)
    scan.space()
    if (scan.at < text.length) scan.fail('the end of the document')
  } catch (error) {
    if (error instanceof Fault) return err({ offset: error.offset, message: error.message })
    throw error
  }
  const parsed = parseJson(text, 'integers')
  return parsed.ok ? parsed : err({ offset: 0, message: parsed.error.message })
}

class Fault extends Error {
  readonly offset: number
  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

class Scan {
  readonly text: string
  at = 0

  constructor(text: string) {
    this.text = text
  }

  value(depth: number): void {
    this.space()
    if (depth > DEPTH_MAX) throw new Fault(this.at, `nested more than ${DEPTH_MAX} deep`)
    const first = this.text[this.at]
    if (first === '{') this.object(depth)
    else if (first === '[') this.array(depth)
    else if (first === '"') this.string()
    else if (!this.number() && this.take(WORD) === null) this.fail('a value')
  }

  space(): void {
    this.take(SPACE)
  }

  fail(expected: string): never {
    const found = this.text[this.at]
    throw new Fault(this.at, `expected ${expected}, found ${found === undefined ? 'the end' : `\`${found}\``}`)
  }

  private object(depth: number): void {
    this.at += 1
    const names = new Set<string>()
    this.space()
    if (this.skip('}')) return
    do {
      this.space()
      const start = this.at
      const name = JSON.parse(this.string()) as string
      if (names.has(name)) throw new Fault(start, `the member \`${name}\` is given twice`)
      // An assignment of this name elsewhere would change a prototype instead.
      if (name === '__proto__') throw new Fault(start, 'unknown member `__proto__`')
      names.add(name)
      this.space()
      if (!this.skip(':')) this.fail('`:`')
      this.value(depth + 1)
      this.space()
    } while (this.skip(','))
    if (!this.skip('}')) this.fail('`,` or `}`')
  }

  private array(depth: number): void {
    this.at += 1
    this.space()
    if (this.skip(']')) return
    do {
      this.value(depth + 1)
      this.space()
    } while (this.skip(','))
    if (!this.skip(']')) this.fail('`,` or `]`')
  }

  private number(): boolean {
    const start = this.at
    const text = this.take(NUMBER)
    if (text !== null && !Number.isFinite(Number(text))) throw new Fault(start, 'the number is out of range')
    return text !== null
  }

  private string(): string {
    if (this.text[this.at] !== '"') this.fail('a string')
    return this.take(STRING) ?? this.fail('a string that ends and holds no bare control character')
  }

  private skip(character: string): boolean {
    if (this.text[this.at] !== character) return false
    this.at += 1
    return true
  }

  private take(form: RegExp): string | null {
    form.lastIndex = this.at
    const found = form.exec(this.text)?.[0]
    if (found === undefined) return null
    this.at += found.length
    return found
  }
}
