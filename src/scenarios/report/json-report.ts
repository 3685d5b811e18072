// The report of a run of scenario files for programs.
import type { FileDiagnostic } from '../../project/file-diagnostic.ts'
import type { ScenarioCheck } from '../run.ts'
import type { ScenarioFileResult } from '../run-suite.ts'
import { countResults, type TestReport } from './test-report.ts'

/** One line of JSON. docs/reference/scenario-files.md describes its members; they stay within `version`. */
export function jsonReport({ results, coverage, durationMs, startedAt }: TestReport): string {
  const { files, passedFiles, failedFiles, invalidFiles, checks, passed, failed } = countResults(results)
  return JSON.stringify({
    version: 1,
    started_at: startedAt.toISOString(),
    duration_ms: rounded(durationMs),
    files: { total: files, passed: passedFiles, failed: failedFiles, invalid: invalidFiles },
    checks: { total: checks, passed, failed },
    scenarios: results.map(fileMembers),
    coverage: coverage === null ? null : { ...coverage, policies: coverage.policies.map(policyMembers) },
  })
}

function fileMembers({ file, run, errors }: ScenarioFileResult) {
  return {
    file,
    ...(run !== null && {
      name: run.name,
      duration_ms: rounded(run.durationMs),
      checks: run.checks.map(checkMembers),
      ...(run.warnings.length > 0 && { warnings: run.warnings.map(diagnosticMembers) }),
    }),
    errors: errors.map(diagnosticMembers),
  }
}

function diagnosticMembers({ file, line, column, message }: FileDiagnostic) {
  return { file, line, column, message }
}

function checkMembers({ list, title, position, passed, expected, actual, details, durationMs }: ScenarioCheck) {
  const { file, line, column } = position
  return { list, title, file, line, column, passed, expected, actual, details, duration_ms: rounded(durationMs) }
}

function policyMembers({
  name,
  position,
  asked,
  granted,
  operators,
  conditions,
}: NonNullable<TestReport['coverage']>['policies'][number]) {
  return {
    name,
    ...position,
    asked,
    granted,
    operators: operators.map(({ operator, detail, isReached }) => ({ operator, detail, reached: isReached })),
    conditions: conditions.map(({ text, position: at, problem }) => ({ text, ...at, problem })),
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
