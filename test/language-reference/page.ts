// The language page, generated from the tables of the code and the examples. Text between the markers
// of grammar/README.md is generated, the rest is written by hand.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keywords } from '../../grammar/tokens.ts'
import { dialects } from '../../src/engine/bind/dialect.ts'
import { aggregateNames } from '../../src/engine/value/aggregate-signatures.ts'
import { type CypherFunction, functionAliases } from '../../src/engine/value/functions/function.ts'
import { findFunction, functionNames } from '../../src/engine/value/functions/function-table.ts'
import { functionSamples } from '../support/function-samples.ts'
import { readBaseline } from '../tck/baseline.ts'
import { aggregateExamples } from './examples.ts'
import { clauses, expressions, type LanguageForm, limits, operators, patterns, refused, sampleGraph } from './forms.ts'
import { Examples, refusalOf, type Shown } from './run-example.ts'

const root = join(import.meta.dirname, '..', '..')
export const readmePath = join(root, 'grammar', 'README.md')

/** The page with its generated parts as they should be. */
export async function pageText(): Promise<string> {
  const examples = await Examples.open()
  try {
    return fill(readFileSync(readmePath, 'utf8'), {
      dialects: dialectTable(),
      sample: `\`\`\`\n${sampleGraph}\n\`\`\``,
      clauses: formTable(clauses, examples),
      patterns: formTable(patterns, examples),
      operators: formTable(operators, examples),
      expressions: formTable(expressions, examples),
      functions: functionTable(examples),
      aggregates: aggregateTable(examples),
      refused: refusedTable(),
      limits: limitTable(),
      keywords: [...keywords.keys()].map((word) => `\`${word}\``).join(' '),
    })
  } finally {
    await examples.close()
  }
}

/**
 * Each part is between `<!-- NAME -->` and `<!-- /NAME -->`. Throws if a part has no markers, or markers have no part.
 */
function fill(text: string, parts: Readonly<Record<string, string>>): string {
  const marks = [...text.matchAll(/<!-- (\w+) -->/g)].map(([, name]) => name)
  const missing = Object.keys(parts).filter((name) => !marks.includes(name))
  const unknown = marks.filter((name) => parts[name as string] === undefined)
  if (missing.length + unknown.length > 0) throw new Error(`marks missing: ${missing}; marks unknown: ${unknown}`)
  return text.replaceAll(/<!-- (\w+) -->[\s\S]*?<!-- \/\1 -->/g, (_, name: string) => {
    return `<!-- ${name} -->\n\n${parts[name]}\n\n<!-- /${name} -->`
  })
}

// ---------------------------------------------------------------- tables

/** In the table layout of the formatter. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => [...(row[column] ?? '')].length)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell + ' '.repeat(widths[column]! - [...cell].length)).join(' | ')} |`
  const [first, ...others] = cells
  return [line(first!), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others.map(line)].join('\n')
}

/** Quotes a text in back-ticks; the text may contain back-ticks. */
const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``)

function dialectTable(): string {
  const list = (items: Iterable<string>): string => [...items].map((item) => `\`${item}\``).join(' ') || 'none'
  const words = (clause: string): string =>
    clause === 'conditional' ? 'WHEN' : clause === 'block' ? '`{ }`' : clause.toUpperCase()
  return table(
    ['dialect', 'clauses', 'parameters refused', 'parameters that cannot name a location'],
    Object.values(dialects).map((dialect) => [
      dialect.name === 'open'
        ? 'library (`open`)'
        : dialect.name === 'query'
          ? 'queries over a graph (`query`)'
          : `\`${dialect.name}\``,
      [...dialect.clauses].map(words).join(', ') + (dialect.returnsPairs ? ', RETURN, UNION, NEXT' : ''),
      list([...dialect.reservedParameters.keys()].map((name) => `$${name}`)),
      list([...dialect.nonLocationParameters].map((name) => `$${name}`)),
    ]),
  )
}

const columns = (example: string, { gives, dialects: admitted }: Shown, test: string): string[] => [
  code(example),
  code(gives),
  admitted,
  test,
]

function formTable(forms: readonly LanguageForm[], examples: Examples): string {
  return table(
    ['form', 'example', 'gives', 'dialects', 'test'],
    forms.map((form) => [form.form, ...columns(form.example, examples.form(form.example), testOf(form.test))]),
  )
}

function refusedTable(): string {
  const rows = refused.map(({ what, example, dialect }) => {
    const { code: word, message } = refusalOf(example, dialect)
    return [what, code(example), `\`${word}\``, message]
  })
  return table(['what', 'example', 'code', 'words'], rows)
}

function limitTable(): string {
  const rows = limits.map(({ what, example }) => [what, `\`${refusalOf(example, 'open').code}\``])
  return table(['what', 'code'], rows)
}

function functionTable(examples: Examples): string {
  const rows = functionNames().map((name) => {
    const entry = findFunction(name)!
    const { example } = functionSamples[name] ?? {}
    if (example === undefined) throw new Error(`${name}() has no record in test/support/function-samples.ts`)
    return [signature(entry), ...columns(example, examples.expression(example), testOfFunction(name))]
  })
  refuseStrangers(Object.keys(functionSamples), functionNames())
  return table(['function', 'example', 'gives', 'dialects', 'test'], rows)
}

function aggregateTable(examples: Examples): string {
  const rows = aggregateNames().map((name) => {
    const example = aggregateExamples[name]
    if (example === undefined) throw new Error(`${name}() has no example in examples.ts`)
    return [`\`${name}()\``, ...columns(example, examples.aggregate(example), testOfFunction(name))]
  })
  refuseStrangers(Object.keys(aggregateExamples), aggregateNames())
  return table(['aggregate', 'example', 'gives', 'dialects', 'test'], rows)
}

function refuseStrangers(described: readonly string[], known: readonly string[]): void {
  const strangers = described.filter((name) => !known.includes(name))
  if (strangers.length > 0) throw new Error(`examples of what is no function: ${strangers}`)
}

/** `split(string, string or list) → list`; optional arguments in brackets, then other names of the function. */
function signature({ name, argsMin, argsMax, parameterKinds, resultType }: CypherFunction): string {
  const count = Number.isFinite(argsMax) ? argsMax : argsMin
  const args = Array.from({ length: count }, (_, i) => {
    const kinds = (parameterKinds[i] ?? ['any']).join(' or ')
    return i < argsMin ? kinds : `[${kinds}]`
  })
  const more = Number.isFinite(argsMax) ? '' : ', …'
  const others = functionAliases.filter(([, known]) => known === name).map(([alias]) => `\`${alias}\``)
  return `\`${name}(${args.join(', ')}${more}) → ${resultType.kind}\`${others.length > 0 ? `, also ${others.join(', ')}` : ''}`
}

// ---------------------------------------------------------------- where it is tested

/** A TCK category with passing cases, or a file that contains the string. */
function testOf(test: LanguageForm['test']): string {
  if (typeof test === 'string') {
    if (!(readBaseline().passed[test]! > 0)) throw new Error(`the TCK has no passing cases in ${test}`)
    return `TCK ${test}`
  }
  const [file, word] = test
  if (!readFileSync(join(root, 'test', file), 'utf8').includes(word)) throw new Error(`${file} does not hold ${word}`)
  return link(file)
}

const link = (file: string): string =>
  `[${file.replace(/\.(test\.ts|scenario\.yaml|ts|case|plan)$/, '')}](../test/${file})`

/** Tests of functions come first. A fixed list, so that a new test elsewhere does not change the page. */
const functionTests: readonly string[] = [
  'unit/engine/value/functions/graph.test.ts',
  'unit/engine/value/functions/function-table.test.ts',
  'unit/engine/value/temporal/temporal.test.ts',
  'unit/engine/value/temporal/calendar.test.ts',
  'unit/engine/value/temporal/construct.errors.test.ts',
  'unit/engine/exec/aggregate-functions.test.ts',
  'unit/engine/exec/compile-expression.elements.test.ts',
  'unit/engine/exec/compile-expression.test.ts',
  'scenarios/thresholds.scenario.yaml',
]

/** The first test that calls the function or contains its name as a string; else the test of this page. */
function testOfFunction(name: string): string {
  const escaped = name.replace('.', '\\.')
  const use = new RegExp(`(?<![\\w.])${escaped}\\(|'${escaped}'`, 'i')
  const found = functionTests.find((file) => use.test(readFileSync(join(root, 'test', file), 'utf8')))
  return link(found ?? 'language-reference/language-reference.test.ts')
}
