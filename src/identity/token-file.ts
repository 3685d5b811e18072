// Bearer tokens in a file, which an operator changes while the service runs: a new token is valid as soon as the file is written.
import { readFileSync, statSync } from 'node:fs'
import { FixedTokens, type TokenCheck } from './fixed-tokens.ts'

/** A bearer token of a file or a setting (RFC 6750, section 2.1). It is long, so that it cannot be guessed. */
export const fixedTokenPattern = /^(?=.{24,256}$)[\w.~+/-]+=*$/

/** Tokens of one file. */
const FILE_TOKENS_MAX = 2
/** A longer file is not read. */
const FILE_BYTES_MAX = 4096

/**
 * The tokens of the text of a file: one in each line, without empty lines and comments (`#`). Null: there is no token, there are more
 * than two, or a line is not a token.
 */
export function parseTokenFile(text: string): readonly string[] | null {
  const tokens = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const isValid = tokens.length > 0 && tokens.length <= FILE_TOKENS_MAX
  return isValid && tokens.every((token) => fixedTokenPattern.test(token)) ? tokens : null
}

/** The tokens of a file, read again when it changes. A file that cannot be used accepts no token. */
export class TokenFile implements TokenCheck {
  private readonly path: string
  private readonly report: (message: string) => void
  private version = ''
  private tokens = new FixedTokens('')

  /** `report`: called when the file cannot be used, once for each change. Reads the file now, so that a mistake is reported at the start. */
  constructor(path: string, report: (message: string) => void) {
    this.path = path
    this.report = report
    this.refresh()
  }

  accepts(token: string): boolean {
    this.refresh()
    return this.tokens.accepts(token)
  }

  private refresh(): void {
    const version = this.readVersion()
    if (version === this.version) return
    this.version = version
    this.tokens = new FixedTokens(this.read().join(','))
  }

  /** Changes with each write and each replacement of the file. */
  private readVersion(): string {
    try {
      const { ino, mtimeMs, ctimeMs, size } = statSync(this.path)
      return `${ino}.${mtimeMs}.${ctimeMs}.${size}`
    } catch (failure) {
      return `unreadable: ${(failure as NodeJS.ErrnoException).code}`
    }
  }

  private read(): readonly string[] {
    const where = `the metrics token file ${this.path}`
    try {
      const { size } = statSync(this.path)
      const tokens = size > FILE_BYTES_MAX ? null : parseTokenFile(readFileSync(this.path, 'utf8'))
      if (tokens !== null) return tokens
      this.report(
        `${where} is not valid: expected one or two lines with a token of 24 to 256 letters, digits and -._~+/=`,
      )
    } catch (failure) {
      this.report(`${where} cannot be read: ${(failure as NodeJS.ErrnoException).code}`)
    }
    return []
  }
}
