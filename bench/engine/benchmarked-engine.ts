// What an engine must be able to do to take part in the bench: answer each question, one at a time.
import { type BenchQuestion, type QuestionName, sortedText } from './authorization-graph.ts'

/** Granted or denied, a property, external ids, or rows of columns. */
export type BenchAnswer = boolean | number | readonly string[] | readonly (readonly unknown[])[]

export type BenchAnswers = Readonly<Record<QuestionName, (asked: BenchQuestion) => BenchAnswer | Promise<BenchAnswer>>>

export interface BenchmarkedEngine {
  readonly name: string
  readonly answers: BenchAnswers
  /** A page of `search_10000`, from behind `after` on (null: the first); null where the engine is not asked for pages. */
  readonly searchPage?: (
    asked: BenchQuestion,
    after: number | null,
    limit: number,
  ) => readonly (readonly [number, string])[]
  close(): void | Promise<void>
}

/** As the right answers are written down. */
export function textOf(answer: BenchAnswer): string {
  if (typeof answer !== 'object') return String(answer)
  return sortedText(answer.map((item) => (typeof item === 'string' ? item : item.join(' '))))
}
