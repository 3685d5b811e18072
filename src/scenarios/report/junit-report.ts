// The report of a run of scenario files in the JUnit format that build servers read: one suite for each file, one case for each check.
import type { ScenarioCheck } from '../run.ts'
import type { ScenarioFileResult } from '../run-suite.ts'
import { countResults, type TestReport } from './test-report.ts'

/** An XML document by the schema `junit-10.xsd` of the xUnit plugin of Jenkins. */
export function junitReport({ results, durationMs, startedAt }: TestReport): string {
  const { checks, failed, invalidFiles } = countResults(results)
  const root = attributes({
    name: 'verdigraph test',
    tests: checks + invalidFiles,
    failures: failed,
    errors: invalidFiles,
    time: seconds(durationMs),
  })
  const suites = results.map((result) => suite(result, startedAt))
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites${root}>\n${suites.join('')}</testsuites>\n`
}

function suite(result: ScenarioFileResult, startedAt: Date): string {
  const { file, run } = result
  const { checks, failed, invalidFiles } = countResults([result])
  const own = attributes({
    name: file,
    file,
    tests: checks + invalidFiles,
    failures: failed,
    errors: invalidFiles,
    skipped: 0,
    time: seconds(run?.durationMs ?? 0),
    timestamp: startedAt.toISOString().replace(/\.\d+Z$/, ''),
  })
  const cases = run === null ? [invalidCase(result)] : run.checks.map((check) => checkCase(file, check))
  return `  <testsuite${own}>\n${cases.join('')}  </testsuite>\n`
}

/** A file with errors is one case. */
function invalidCase({ file, errors }: ScenarioFileResult): string {
  const lines = errors.map(({ file: at, line, column, message }) => `${at}:${line}:${column}: ${message}`)
  const own = attributes({ name: 'the file can be run', classname: file, time: seconds(0) })
  const error = attributes({ message: lines[0] ?? '', type: 'invalid' })
  return `    <testcase${own}>\n      <error${error}>${escaped(lines.join('\n'))}</error>\n    </testcase>\n`
}

function checkCase(
  file: string,
  { list, title, position, passed, expected, actual, details, durationMs }: ScenarioCheck,
): string {
  const { line, column } = position
  const own = attributes({ name: `${list}: ${title}`, classname: file, time: seconds(durationMs) })
  if (passed) return `    <testcase${own}/>\n`
  const message = `expected ${expected}, found ${actual}`
  const failure = attributes({ message, type: list })
  const text = [`${position.file}:${line}:${column}: ${message}`, ...details].join('\n')
  return `    <testcase${own}>\n      <failure${failure}>${escaped(text)}</failure>\n    </testcase>\n`
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${attributeText(String(value))}"`)
    .join('')
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** A parser reads a line break in an attribute as a space, unless it is a reference. */
function attributeText(text: string): string {
  return escaped(text).replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Characters that XML 1.0 does not allow are replaced. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"]/g, (character) => entities[character] ?? character)
}
