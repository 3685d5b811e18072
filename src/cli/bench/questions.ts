// The questions of a bench, with the answers that are expected.
import { readFileSync } from 'node:fs'
import type { EvaluationInput, RequestEntity } from '../../authorizer/authorizer.ts'
import { fileIssueOf } from '../../kernel/file-issue.ts'
import { isJsonObject } from '../../kernel/json-kind.ts'
import type { ScenarioFile } from '../../scenarios/scenario.ts'
import { entityFrom } from '../ask-arguments.ts'
import { UsageError } from '../cli-error.ts'

/** A question, and the decision that is right. */
export interface MeasuredQuestion {
  readonly request: EvaluationInput
  /** Null: not known, so that the answer is not checked. */
  readonly expected: boolean | null
}

const MEMBERS = ['subject', 'action', 'resource', 'context', 'expected']

/** Reads a file of NDJSON, one question in each line. Throws UsageError with the place of each wrong line. */
export function readQuestions(path: string): readonly MeasuredQuestion[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (failure) {
    const issue = fileIssueOf(failure)
    if (issue === null) throw failure
    throw new UsageError([`--questions: ${path}: ${issue}`])
  }
  const issues: string[] = []
  const questions = text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    try {
      return [questionOf(JSON.parse(line))]
    } catch (error) {
      issues.push(`${path}:${at + 1}: ${messageOf(error)}`)
      return []
    }
  })
  if (issues.length > 0) throw new UsageError(issues.slice(0, 10))
  if (questions.length === 0) throw new UsageError([`--questions: ${path} has no question`])
  return questions
}

function messageOf(error: unknown): string {
  if (error instanceof UsageError) return error.lines.join('; ')
  return error instanceof SyntaxError ? `invalid JSON: ${error.message}` : String((error as Error).message)
}

function questionOf(line: unknown): MeasuredQuestion {
  if (!isJsonObject(line)) throw new UsageError(['expected an object with `subject`, `action` and `resource`'])
  const unknown = Object.keys(line).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined)
    throw new UsageError([`unknown member \`${unknown}\`; the members are ${MEMBERS.join(', ')}`])
  const { action, context, expected = null } = line
  if (expected !== null && typeof expected !== 'boolean') throw new UsageError(['expected: expected true or false'])
  if (context !== undefined && !isJsonObject(context)) throw new UsageError(['context: expected an object'])
  const name = typeof action === 'string' ? action : isJsonObject(action) ? action.name : undefined
  if (typeof name !== 'string' || name === '')
    throw new UsageError(['action: expected a name, or an object with a `name`'])
  return {
    request: {
      subject: entityOf(line.subject, 'subject'),
      action: isJsonObject(action) ? { ...action, name } : { name },
      resource: entityOf(line.resource, 'resource'),
      ...(context !== undefined && { context }),
    },
    expected,
  }
}

function entityOf(value: unknown, name: string): RequestEntity {
  if (typeof value === 'string') return entityFrom(value, name)
  if (isJsonObject(value) && typeof value.type === 'string' && typeof value.id === 'string')
    return { ...value, type: value.type, id: value.id }
  throw new UsageError([`${name}: expected TYPE:ID, or an object with \`type\` and \`id\``])
}

/** The expected decisions of a scenario file. Throws UsageError if it has none that a bench can ask. */
export function questionsOf(scenario: ScenarioFile): readonly MeasuredQuestion[] {
  const questions = scenario.decisions.flatMap(({ subject, action, resource, params, tags, token, expect }) => {
    // A refused request is not a decision; a user token needs a verified token.
    if (expect === 'error' || token !== null) return []
    const context = {
      ...(Object.keys(params).length > 0 && { input_params: params }),
      ...(tags !== null && { policy_tags: tags }),
    }
    const request = { subject, action: { name: action }, resource, ...(Object.keys(context).length > 0 && { context }) }
    return [{ request, expected: expect === 'yes' }]
  })
  if (questions.length === 0)
    throw new UsageError([
      `--world: ${scenario.file} has no expected decision without a user token: list some under \`decisions\``,
    ])
  return questions
}
