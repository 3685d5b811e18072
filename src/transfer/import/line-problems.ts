// The lines at fault that a dry run finds: the first ones in full, and the number of all.
import { OperationalError } from '../../kernel/errors.ts'

/** Lines that are listed. */
const LISTED_MAX = 20

/** Collects the problems of lines. */
export class LineProblems {
  private count = 0
  /** Printed after the lines: what to do. */
  hint: string | null = null
  private readonly listed: { readonly line: number; readonly message: string }[] = []

  /** `line`: its number, from 1. `message` begins with it. */
  add(line: number, message: string): void {
    this.count += 1
    if (this.listed.length < LISTED_MAX) this.listed.push({ line, message })
  }

  /** Throws OperationalError with the problems, if there are any, once. `last`: the error that ended the run. */
  throwIfAny(last: OperationalError | null = null): void {
    const { count, hint } = this
    if (count === 0) return
    this.count = 0
    const messages = this.listed.sort((a, b) => a.line - b.line).map(({ message }) => message)
    const more = count - messages.length
    if (more > 0) messages.push(`and ${more} more`)
    if (last !== null) messages.push(last.message)
    const isSole = count === 1 && last === null
    const lines = isSole ? messages : [`${count} lines are not valid:`, ...messages.map((one) => `  ${one}`)]
    throw new OperationalError([...lines, ...(hint === null ? [] : [hint])].join('\n'))
  }
}
