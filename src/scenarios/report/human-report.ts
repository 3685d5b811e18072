// The report of a run of scenario files for a person: one line for each file, and below it what failed, with places and reasons.
import { formatFileDiagnostic } from '../../project/file-diagnostic.ts'
import { uncoveredParts } from '../merge-coverage.ts'
import type { ScenarioCheck } from '../run.ts'
import type { ScenarioFileResult } from '../run-suite.ts'
import { countResults, type TestReport } from './test-report.ts'

/** Colours a text. */
interface Paint {
  red(text: string): string
  green(text: string): string
  dim(text: string): string
}

/** Writes the parts of a report. One instance writes one run. */
export class HumanReport {
  private readonly paint: Paint
  /** Errors of a project are printed with its first file only. */
  private readonly printed = new Set<string>()

  constructor(paint: Paint) {
    this.paint = paint
  }

  /** The lines of a file. */
  file({ file, run, errors }: ScenarioFileResult): readonly string[] {
    const { red, green, dim } = this.paint
    if (run === null) {
      const lines = errors.map(formatFileDiagnostic)
      const other = lines.filter((line) => !this.printed.has(line))
      for (const line of other) this.printed.add(line)
      return [
        red(`✗ ${file}: not run`),
        ...(other.length === 0 ? ['  the errors above'] : other.map((line) => `  ${line}`)),
      ]
    }
    const failed = run.checks.filter(({ passed }) => !passed)
    const time = dim(`(${Math.round(run.durationMs)} ms)`)
    const warnings = run.warnings.map(({ message, ...at }) => {
      return `  ${formatFileDiagnostic({ ...at, message: `warning: ${message}` })}`
    })
    if (failed.length === 0) {
      return [`${green('✓')} ${file}: ${counted(run.checks.length, 'check')} ${time}`, ...warnings]
    }
    return [
      red(`✗ ${file}: ${failed.length} of ${counted(run.checks.length, 'check')} failed`),
      ...warnings,
      ...failed.flatMap((check) => this.failure(check)),
    ]
  }

  private failure({ list, title, position, expected, actual, details }: ScenarioCheck): readonly string[] {
    const message = `${list}: ${title.replaceAll('\n', ' ')}: expected ${expected}, found ${actual}`
    return [
      this.paint.red(`  ${formatFileDiagnostic({ ...position, message })}`),
      ...details.map((line) => `    ${line}`),
    ]
  }

  /** The lines of the coverage and of the counts. `minimum`: the least percentage of coverage; null: any. */
  summary({ results, coverage, durationMs }: TestReport, minimum: number | null): readonly string[] {
    const { red } = this.paint
    const { files, passedFiles, failedFiles, invalidFiles, checks, passed, failed } = countResults(results)
    const isLow = coverage !== null && minimum !== null && coverage.percent < minimum
    return [
      ...(coverage === null ? [] : coverage.policies.flatMap(uncoveredParts)),
      ...(coverage === null
        ? []
        : [`coverage: ${coverage.percent} % (${coverage.covered} of ${counted(coverage.parts, 'part')} of policies)`]),
      ...(isLow ? [red(`the coverage is below the minimum of ${minimum} %`)] : []),
      `${counted(files, 'file')}: ${parts({ passed: passedFiles, failed: failedFiles, 'not run': invalidFiles })}; ` +
        `${counted(checks, 'check')}: ${parts({ passed, failed })} (${(durationMs / 1000).toFixed(2)} s)`,
    ]
  }
}

/** The counts that are not 0. */
function parts(counts: Readonly<Record<string, number>>): string {
  const shown = Object.entries(counts).filter(([name, count]) => count > 0 || name === 'passed')
  return shown.map(([name, count]) => `${count} ${name}`).join(', ')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
