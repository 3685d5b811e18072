// The failures and sums of a judged run, and its last lines.
import type { JudgedDifference } from './judged-case.ts'
import { BeyondLimits, type JudgedQuery } from './judged-outcome.ts'

/** A query without an equal answer. */
export interface JudgeFinding {
  /** Such as `tck, Match1 [3]` or `generated, seed 7`. */
  readonly source: string
  readonly query: string
  /** The difference, or why there is no judgement. */
  readonly difference: string
  /** For the log: the query with its graph and both answers. */
  readonly text: string
}

/** Above this share, queries without a judgement are a failure: nothing was judged. */
const TIMED_OUT_SHARE_MAX = 0.02
const TIMED_OUT_FREE = 3

/** Counts of one suite, or of several. */
export class JudgeFindings {
  equal = 0
  /** Equal, and with rows. */
  withRows = 0
  /** Equal, and an error. */
  withErrors = 0
  tooLarge = 0
  /** By the id of the known difference. */
  readonly known = new Map<string, number>()
  readonly differences: JudgeFinding[] = []
  /** Beyond a time limit twice. Not a difference. */
  readonly timedOut: JudgeFinding[] = []

  /** Counts the verdict. Returns it if it is a difference that is not known, and that the caller has to add. */
  count(source: string, query: JudgedQuery, verdict: JudgedDifference | BeyondLimits): JudgedDifference | null {
    if (verdict instanceof BeyondLimits) {
      if (verdict.limit === 'too large') this.tooLarge += 1
      else this.timedOut.push(findingOf(source, query.text, verdict.message))
      return null
    }
    if (verdict.difference === null) {
      this.equal += 1
      if (verdict.ours.error !== null) this.withErrors += 1
      else if (verdict.ours.rows.length > 0) this.withRows += 1
      return null
    }
    const { known } = verdict
    if (known === null) return verdict
    this.known.set(known.id, (this.known.get(known.id) ?? 0) + 1)
    return null
  }

  get judged(): number {
    return this.equal + this.tooLarge + this.knownCount + this.differences.length + this.timedOut.length
  }

  get failed(): number {
    return this.differences.length + (this.isMostlyLate ? 1 : 0)
  }

  add(other: JudgeFindings): void {
    this.equal += other.equal
    this.withRows += other.withRows
    this.withErrors += other.withErrors
    this.tooLarge += other.tooLarge
    for (const [id, count] of other.known) this.known.set(id, (this.known.get(id) ?? 0) + count)
    this.differences.push(...other.differences)
    this.timedOut.push(...other.timedOut)
  }

  /** In one line. */
  counts(): string {
    const known = [...this.known].map(([id, count]) => `${id} ${count}`).join(', ') || 'none'
    return `${this.equal} equal (${this.withRows} with rows, ${this.withErrors} errors), ${this.differences.length} different, ${this.tooLarge} too large, ${this.timedOut.length} timed out; known differences: ${known}`
  }

  /** The last lines of a run: each failure in short, then the sums with the first of them, so that one line is enough. */
  lastLines(): string[] {
    const late = this.timedOut.map((finding) => `timed out (not judged): ${shortText(finding)}`)
    const failures = this.differences.map(shortText)
    if (this.isMostlyLate)
      failures.push(`${this.timedOut.length} of ${this.judged} queries timed out on both tries: too many to judge`)
    const sum = `${this.equal} passed, ${this.failed} failed`
    return [
      ...late.slice(0, LINES_MAX),
      ...failures.slice(0, LINES_MAX).map((line) => `failed: ${line}`),
      failures.length > 0 ? `${sum} (${failures[0]})` : sum,
    ]
  }

  private get knownCount(): number {
    return [...this.known.values()].reduce((sum, count) => sum + count, 0)
  }

  private get isMostlyLate(): boolean {
    const late = this.timedOut.length
    return late > TIMED_OUT_FREE && late > this.judged * TIMED_OUT_SHARE_MAX
  }
}

/** A finding without a graph. */
export function findingOf(source: string, query: string, difference: string): JudgeFinding {
  return { source, query, difference, text: `${source}\n${query}\n${difference}` }
}

const LINES_MAX = 20
const QUERY_CHARACTERS = 400
const ANSWER_CHARACTERS = 250

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)} …` : text)

/** In one line: where, the query, and both answers, each cut to a length. */
function shortText({ source, query, difference }: JudgeFinding): string {
  const line = cut(query.trim().replaceAll(/\s+/g, ' '), QUERY_CHARACTERS)
  const answers = difference.split('; Neo4j: ').map((answer) => cut(answer.replaceAll(/\s+/g, ' '), ANSWER_CHARACTERS))
  return `${source}: ${line} => ${answers.join('; Neo4j: ')}`
}
