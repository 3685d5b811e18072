// Reads words and symbols of the languages of peers, and names the place where a text has something else.
import { positionOf } from '../../grammar/diagnostic.ts'
import { MigrationError } from './relation-model.ts'

/** A position in a text. White space and comments between words are skipped. */
export class TextScanner {
  private at = 0
  private readonly text: string
  private readonly skipped: RegExp

  /** `skipped`: white space and comments between words, as a sticky expression. */
  constructor(text: string, skipped: RegExp) {
    this.text = text
    this.skipped = skipped
  }

  /** Whether only white space and comments are left. */
  atEnd(): boolean {
    this.skip()
    return this.at >= this.text.length
  }

  /** Reads what the sticky expression matches; null if it does not match here. */
  match(expression: RegExp): string | null {
    this.skip()
    expression.lastIndex = this.at
    const found = expression.exec(this.text)
    if (found === null) return null
    this.at = expression.lastIndex
    return found[0]
  }

  /** Reads the symbol; false if something else is here. */
  accept(symbol: string): boolean {
    this.skip()
    if (!this.text.startsWith(symbol, this.at)) return false
    this.at += symbol.length
    return true
  }

  /** Reads the word; false if something else is here. */
  acceptWord(word: string): boolean {
    this.skip()
    if (!this.text.startsWith(word, this.at) || /[\w-]/.test(this.text[this.at + word.length] ?? '')) return false
    this.at += word.length
    return true
  }

  /** Reads the symbol, which must be here. */
  expect(symbol: string): void {
    if (!this.accept(symbol)) this.fail(`\`${symbol}\``)
  }

  /** Reads what the sticky expression matches, which must be here. */
  require(expression: RegExp, what: string): string {
    return this.match(expression) ?? this.fail(what)
  }

  /** Reads up to the brace that closes the one that was read. Braces in strings are not counted. */
  untilClosingBrace(): string {
    const start = this.at
    const part = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/[^\n]*|[{}]|[^"'{}/]+|./gsy
    part.lastIndex = start
    for (let depth = 1; ; ) {
      const found = part.exec(this.text)
      if (found === null) this.fail('`}`')
      if (found[0] === '{') depth += 1
      if (found[0] === '}') depth -= 1
      if (depth > 0) continue
      this.at = part.lastIndex
      return this.text.slice(start, this.at - 1).trim()
    }
  }

  /** Throws a MigrationError with the expected text and this place. */
  fail(expected: string): never {
    const { line, column } = positionOf(this.text, this.at)
    const found = /^\S{0,30}/.exec(this.text.slice(this.at))![0]
    throw new MigrationError(`line ${line}, column ${column}: expected ${expected}, found \`${found}\``)
  }

  private skip(): void {
    this.skipped.lastIndex = this.at
    if (this.skipped.test(this.text)) this.at = this.skipped.lastIndex
  }
}
