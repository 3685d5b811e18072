// The result of a run of scenario files, as all reports have it.
import type { MergedCoverage } from '../merge-coverage.ts'
import { hasPassed, type ScenarioFileResult } from '../run-suite.ts'

/** The result of a run of scenario files. */
export interface TestReport {
  readonly results: readonly ScenarioFileResult[]
  /** Null: not requested, or the run ended early. */
  readonly coverage: MergedCoverage | null
  readonly startedAt: Date
  readonly durationMs: number
}

/** Counts of files and checks. */
interface TestCounts {
  readonly files: number
  readonly passedFiles: number
  readonly failedFiles: number
  /** Files that did not run because of errors. */
  readonly invalidFiles: number
  readonly checks: number
  readonly passed: number
  readonly failed: number
}

/** Counts files and checks. */
export function countResults(results: readonly ScenarioFileResult[]): TestCounts {
  const checks = results.flatMap(({ run }) => run?.checks ?? [])
  const passed = checks.filter((check) => check.passed).length
  const passedFiles = results.filter(hasPassed).length
  const invalidFiles = results.filter(({ run }) => run === null).length
  return {
    files: results.length,
    passedFiles,
    failedFiles: results.length - passedFiles - invalidFiles,
    invalidFiles,
    checks: checks.length,
    passed,
    failed: checks.length - passed,
  }
}
