// Sums verdicts: per category, temporal and quantifier cases separately, errors at their three levels.
import type { TckCase } from './case.ts'
import type { CaseVerdict } from './run-case.ts'

export interface CategoryScore {
  passed: number
  failed: number
}

export interface Failure {
  readonly item: TckCase
  readonly why: string
}

export class Score {
  readonly categories = new Map<string, CategoryScore>()
  readonly failures: Failure[] = []
  /** By level 0 to 3: how many cases that expect an error reached that level and no higher one. */
  private readonly errors = [0, 0, 0, 0]

  add(item: TckCase, verdict: CaseVerdict): void {
    const category = item.category ?? 'without category'
    const tally = this.categories.get(category) ?? { passed: 0, failed: 0 }
    this.categories.set(category, tally)
    if (verdict.passed) tally.passed += 1
    else {
      tally.failed += 1
      this.failures.push({ item, why: verdict.why ?? 'no reason given' })
    }
    if (item.expect.kind === 'error') this.errors[verdict.level ?? 0]! += 1
  }

  get passed(): number {
    return sum(this.categories.values()).passed
  }

  get failed(): number {
    return this.failures.length
  }

  /** Lines for people; the last one is the sum. */
  report(): string[] {
    const rows = [...this.categories].sort(([a], [b]) => (a < b ? -1 : 1))
    const of = (wanted: (category: string) => boolean): CategoryScore =>
      sum(rows.filter(([category]) => wanted(category)).map(([, tally]) => tally))
    const isTemporal = (category: string): boolean => /temporal/i.test(category)
    const isQuantifier = (category: string): boolean => /quantifier/i.test(category)
    const [none = 0, raised = 0, typed = 0, exact = 0] = this.errors
    const errors = none + raised + typed + exact
    return [
      ...rows.map(([category, tally]) => line(category, tally)),
      '',
      line('temporal', of(isTemporal)),
      line('quantifier', of(isQuantifier)),
      line(
        'all others',
        of((category) => !isTemporal(category) && !isQuantifier(category)),
      ),
      '',
      `errors: ${exact + typed + raised} of ${errors} raised, ${exact + typed} with the right type, ${exact} with type, phase and detail`,
      `${this.passed} passed, ${this.failed} failed`,
    ]
  }
}

function sum(tallies: Iterable<CategoryScore>): CategoryScore {
  const total = { passed: 0, failed: 0 }
  for (const { passed, failed } of tallies) {
    total.passed += passed
    total.failed += failed
  }
  return total
}

function line(name: string, { passed, failed }: CategoryScore): string {
  return `${name.padEnd(36)} ${passed} / ${passed + failed}`
}
