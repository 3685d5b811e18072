// The interface of an engine in the bench: it answers each question, one at a time.
import { type BenchQuestion, type QuestionName, sortedText } from './authorization-graph.ts'

/** Granted or denied, a property, external ids, or rows of columns. */
export type BenchAnswer = boolean | number | readonly string[] | readonly (readonly unknown[])[]

export type BenchAnswers = Readonly<Record<QuestionName, (asked: BenchQuestion) => BenchAnswer | Promise<BenchAnswer>>>

export interface BenchmarkedEngine {
  readonly name: string
  readonly answers: BenchAnswers
  /** A page of `search_10000` after `after` (null: the first); null if the engine is not asked for pages. */
  readonly searchPage?: (
    asked: BenchQuestion,
    after: number | null,
    limit: number,
  ) => readonly (readonly [number, string])[]
  close(): void | Promise<void>
}

/** In the form of the right answers. */
export function textOf(answer: BenchAnswer): string {
  if (typeof answer !== 'object') return String(answer)
  return sortedText(answer.map((item) => (typeof item === 'string' ? item : item.join(' '))))
}
