// The command `test`: runs scenario files, prints or writes a report, and sets the exit code.
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ScenarioCoverage } from '../../scenarios/coverage.ts'
import { type MergedCoverage, mergeCoverage } from '../../scenarios/merge-coverage.ts'
import { HumanReport } from '../../scenarios/report/human-report.ts'
import { jsonReport } from '../../scenarios/report/json-report.ts'
import { junitReport } from '../../scenarios/report/junit-report.ts'
import { countResults, type TestReport } from '../../scenarios/report/test-report.ts'
import { hasPassed, runSuite, type ScenarioFileResult } from '../../scenarios/run-suite.ts'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printDocument, printLine } from '../output/print.ts'
import { filesBelow, reading } from './files-below.ts'
import { watchScenarios } from './watch-scenarios.ts'

/** The options of `test`. */
export interface ScenarioFlags {
  readonly filter?: string
  readonly bail: boolean
  readonly coverage: boolean
  readonly minCoverage?: string
  readonly reporter: 'human' | 'junit' | 'json'
  readonly out?: string
  readonly watch: boolean
}

/** Runs `test` and sets the exit code of the process. With `watch` it does not resolve. */
export async function testScenarios(given: readonly string[], flags: ScenarioFlags): Promise<void> {
  const paths = given.length === 0 ? ['.'] : given
  const minimum = minimumFrom(flags.minCoverage)
  checkOutput(flags)
  const files = scenarioFiles(paths)
  if (files.length === 0) throw new UsageError([`${paths.join(', ')}: no file ends with .scenario.yaml`])
  checkOverwrite(files, flags)
  if (flags.watch) {
    await watchScenarios(paths, {
      files: () => scenarioFiles(paths),
      run: async (changed, kept) => (await runOnce(changed, flags, minimum, kept)).results,
    })
  }
  const report = await runOnce(files, flags, minimum, [])
  process.exitCode = exitCodeOf(report, minimum)
}

/** The scenario files among paths: files as they are named, folders with all files below them. Throws UsageError. */
function scenarioFiles(paths: readonly string[]): readonly string[] {
  const files = paths.flatMap((path) => {
    if (reading(path, () => statSync(path)).isDirectory()) return filesBelow(path, /\.scenario\.ya?ml$/)
    if (!/\.ya?ml$/.test(path)) throw new UsageError([`${path}: expected a file that ends with .scenario.yaml`])
    return [path]
  })
  return [...new Set(files)]
}

/** Runs files and writes the report, which also has the results that are `kept` from an earlier run. */
async function runOnce(
  files: readonly string[],
  flags: ScenarioFlags,
  minimum: number | null,
  kept: readonly ScenarioFileResult[],
): Promise<TestReport> {
  const { filter, bail, reporter, out } = flags
  const human = reporter === 'human' || out !== undefined ? new HumanReport(colours) : null
  const startedAt = new Date()
  const startedMs = performance.now()
  const results = await runSuite(files, {
    coverage: needsCoverage(flags),
    bail,
    ...(filter !== undefined && { isSelected: (text) => text.includes(filter) }),
    onResult: (result) => {
      if (human === null || isSkipped(result, flags)) return
      for (const line of human.file(result)) printLine(line)
    },
  })
  const all = [...kept, ...results].filter((result) => !isSkipped(result, flags))
  if (!flags.watch && all.every(({ run }) => run?.checks.length === 0)) {
    const reason = filter === undefined ? 'the files contain no expected answer' : `no check contains \`${filter}\``
    throw new UsageError([`nothing to run: ${reason}`])
  }
  const report = {
    results: all,
    coverage: coverageOf(all, flags),
    startedAt,
    durationMs: performance.now() - startedMs,
  }
  const text = reporter === 'junit' ? junitReport(report) : reporter === 'json' ? `${jsonReport(report)}\n` : null
  if (text !== null && out !== undefined) {
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, text)
  } else if (text !== null) printDocument(text)
  for (const line of human?.summary(report, minimum) ?? []) printLine(line)
  return report
}

/** A file without a check that the filter selects is not part of the report. */
function isSkipped({ run }: ScenarioFileResult, { filter }: ScenarioFlags): boolean {
  return filter !== undefined && run?.checks.length === 0
}

function needsCoverage({ coverage, minCoverage }: ScenarioFlags): boolean {
  return coverage || minCoverage !== undefined
}

/** Null: not requested, or some checks did not run. */
function coverageOf(results: readonly ScenarioFileResult[], flags: ScenarioFlags): MergedCoverage | null {
  const isPartial = results.some(({ run }) => run === null) || (flags.bail && !results.every(hasPassed))
  if (!needsCoverage(flags) || isPartial) return null
  return mergeCoverage(
    results.flatMap(({ run }): readonly ScenarioCoverage[] => (run?.coverage == null ? [] : [run.coverage])),
  )
}

function exitCodeOf({ results, coverage }: TestReport, minimum: number | null): number {
  const { failed, invalidFiles } = countResults(results)
  if (invalidFiles > 0) return exitCodes.usage.code
  const isLow = coverage !== null && minimum !== null && coverage.percent < minimum
  return failed > 0 || isLow ? exitCodes.failure.code : exitCodes.success.code
}

function minimumFrom(text: string | undefined): number | null {
  if (text === undefined) return null
  const percent = Number(text)
  if (text.trim() === '' || !(percent >= 0 && percent <= 100))
    throw new UsageError([`--min-coverage: expected a number from 0 to 100, found \`${text}\``])
  return percent
}

function checkOutput({ reporter, out, watch }: ScenarioFlags): void {
  if (out !== undefined && reporter === 'human') throw new UsageError(['--out needs --reporter junit or json'])
  if (out !== undefined && existsSync(out) && statSync(out).isDirectory())
    throw new UsageError([`--out: ${out} is a folder`])
  if (watch && reporter !== 'human' && out === undefined)
    throw new UsageError([`--watch with --reporter ${reporter} needs --out`])
}

/** The report must not replace a scenario, also not one that is named by a link. */
function checkOverwrite(files: readonly string[], { out }: ScenarioFlags): void {
  if (out === undefined) return
  const status = statSync(out, { throwIfNoEntry: false })
  const isSame = (file: string): boolean => {
    const { dev, ino } = reading(file, () => statSync(file))
    return status?.dev === dev && status.ino === ino
  }
  if (files.some(isSame)) throw new UsageError([`--out: ${out} is a scenario file of this run`])
}
