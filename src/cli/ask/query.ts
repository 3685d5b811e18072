// The command `query`: reads the graph with Cypher, and prints a table, JSON or CSV.
import { readFileSync } from 'node:fs'
import type { GraphQueryInput, GraphQueryOutput, GraphQueryStep } from '../../authorizer/authorizer.ts'
import { writeJson } from '../../kernel/json/json.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printDocument, printLine, printNotice } from '../output/print.ts'
import { csvLine, printable, valueText } from '../output/show-values.ts'
import { tableLines } from '../output/table.ts'
import { asking } from '../target/asking.ts'
import type { TargetFlags } from '../target/target.ts'
import { limitFrom, parametersFrom } from './ask-arguments.ts'

/** The options of the command. */
export interface QueryFlags extends TargetFlags {
  readonly param: readonly string[]
  readonly limit?: string
  readonly format: 'table' | 'json' | 'csv'
  /** As `--format json`. */
  readonly json: boolean
  readonly plan: boolean
  readonly profile: boolean
  readonly allowUnknown: boolean
}

/** Runs `query`. `text`: Cypher; `-`: from the standard input. */
export async function queryGraph(text: string, flags: QueryFlags): Promise<void> {
  await asking(flags, async (target) => {
    const request = requestOf(text, flags)
    const answer = await target.query(request)
    refuseUnknownNames(answer, flags.allowUnknown)
    const format = flags.json ? 'json' : flags.format
    for (const line of answerLines(answer, format)) {
      if (format === 'csv') printDocument(`${line}\n`)
      else printLine(line)
    }
    if (answer.truncated) printNotice(truncatedText(answer))
  })
}

function requestOf(text: string, { param, limit, plan, profile }: QueryFlags): GraphQueryInput {
  if (plan && profile) throw new UsageError(['expected either --plan or --profile'])
  const query = text === '-' ? readFileSync(0, 'utf8') : text
  const most = limitFrom(limit)
  return {
    query: query.trim().replace(/;$/, ''),
    parameters: parametersFrom(param),
    ...(most !== undefined && { limit: most }),
    ...(plan && { mode: 'plan' }),
    ...(profile && { mode: 'profile' }),
  }
}

function refuseUnknownNames({ warnings = [] }: GraphQueryOutput, isAllowed: boolean): void {
  const lines = warningLines(warnings)
  if (lines.length === 0) return
  if (!isAllowed) throw new CliError([...lines, 'pass --allow-unknown to run it nevertheless'], exitCodes.usage.code)
  for (const line of lines) printNotice(`warning: ${line}`)
}

/** The warnings about unknown names, with their places. */
export function warningLines(warnings: GraphQueryOutput['warnings'] = []): readonly string[] {
  return warnings.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`)
}

/** The answer as lines of a format. */
export function answerLines(answer: GraphQueryOutput, format: QueryFlags['format']): readonly string[] {
  const { columns, rows, plan } = answer
  if (format === 'json') return [writeJson(answer)]
  if (format === 'csv') return [csvLine(columns), ...rows.map(csvLine)]
  const isPlanned = plan !== undefined && plan.rows === undefined
  const shownPlan = plan === undefined ? [] : planLines(plan)
  if (isPlanned) return shownPlan
  const table = tableLines(
    columns.map(printable),
    rows.map((row) => row.map(valueText)),
  )
  const count = colours.dim(`${rows.length} row${rows.length === 1 ? '' : 's'}, ${answer.duration_ms} ms`)
  return [...table, count, ...(shownPlan.length === 0 ? [] : ['', ...shownPlan])]
}

/** The reason why an answer does not have all rows. */
export function truncatedText({ rows, truncated_by }: GraphQueryOutput): string {
  const why = truncated_by === 'size' ? 'the size of an answer is limited' : 'raise --limit'
  return `the answer has the first ${rows.length} rows, and there are more: ${why}`
}

/** A plan as a tree; of a profile, with rows, reads and time of each operator. */
function planLines(plan: GraphQueryStep): readonly string[] {
  const steps = stepsOf(plan, 0)
  if (plan.rows === undefined) return steps.map(({ text }) => text)
  const rows = steps.map(({ text, step }) => [
    text,
    step === null ? '' : String(step.rows ?? ''),
    step === null ? '' : String(step.reads ?? ''),
    step === null ? '' : (step.time_ms ?? 0).toFixed(3),
  ])
  return tableLines(['OPERATOR', 'ROWS', 'READS', 'MS'], rows)
}

interface ShownStep {
  readonly text: string
  /** Null: the line names a branch. */
  readonly step: GraphQueryStep | null
}

function stepsOf(step: GraphQueryStep, depth: number): readonly ShownStep[] {
  const indent = '  '.repeat(depth)
  const { operator, detail, children } = step
  const isChain = children.length === 1 && children[0]?.role === 'input'
  return [
    { text: `${indent}${operator} ${printable(detail)}`.trimEnd(), step },
    ...children.flatMap((child) =>
      isChain
        ? stepsOf(child, depth + 1)
        : [{ text: `${indent}  ${child.role ?? ''}`, step: null }, ...stepsOf(child, depth + 2)],
    ),
  ]
}
