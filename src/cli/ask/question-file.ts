// Files of questions, one line of JSON each: requests of the AuthZEN evaluation, with the decision that is expected. `bench` and `drill` read
// the same files.
import { readFileSync } from 'node:fs'
import type { EvaluationInput, RequestEntity } from '../../authorizer/authorizer.ts'
import { fileIssueOf } from '../../kernel/folder/file-issue.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { UsageError } from '../output/cli-error.ts'
import { entityFrom } from './ask-arguments.ts'

/** A question, and the decision that is right. */
export interface CheckedQuestion {
  readonly request: EvaluationInput
  /** Null: not known, so that the answer is not compared. */
  readonly expected: boolean | null
}

/** A line of a file of questions. */
export interface FiledQuestion extends CheckedQuestion {
  /** The id or name of the project that is asked; null: the line names none. */
  readonly project: string | null
  /** The file and the line, for messages. */
  readonly where: string
}

const MEMBERS = ['subject', 'action', 'resource', 'context', 'expected', 'project']
const ENTITY_MEMBERS = ['type', 'id', 'properties']
const ACTION_MEMBERS = ['name', 'properties']
const ISSUES_MAX = 10

/** Reads a file. The error lists what is wrong, each entry with the file and the line; it is not empty. */
export function readQuestionFile(path: string): Result<readonly FiledQuestion[], readonly string[]> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (failure) {
    const issue = fileIssueOf(failure)
    if (issue === null) throw failure
    return err([`${path}: ${issue}`])
  }
  const issues: string[] = []
  const questions = text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const where = `${path}:${at + 1}`
    try {
      return [{ ...questionOf(JSON.parse(line)), where }]
    } catch (error) {
      issues.push(`${where}: ${messageOf(error)}`)
      return []
    }
  })
  if (issues.length > 0) return err(issues.slice(0, ISSUES_MAX))
  return questions.length === 0 ? err([`${path} has no question`]) : ok(questions)
}

function messageOf(error: unknown): string {
  if (error instanceof UsageError) return error.lines.join('; ')
  return error instanceof SyntaxError ? `invalid JSON: ${error.message}` : String((error as Error).message)
}

function questionOf(line: unknown): Omit<FiledQuestion, 'where'> {
  if (!isJsonObject(line)) throw new UsageError(['expected an object with `subject`, `action` and `resource`'])
  // As earlier versions of `drill` read it.
  if ('decision' in line) throw new UsageError(['rename the member `decision` to `expected`'])
  refuseUnknown(line, MEMBERS, '')
  const { action, context, expected = null, project = null } = line
  if (expected !== null && typeof expected !== 'boolean') throw new UsageError(['expected: expected true or false'])
  if (project !== null && (typeof project !== 'string' || project === ''))
    throw new UsageError(['project: expected the id or the name of a project'])
  if (context !== undefined && !isJsonObject(context)) throw new UsageError(['context: expected an object'])
  return {
    request: {
      subject: entityOf(line.subject, 'subject'),
      action: actionOf(action),
      resource: entityOf(line.resource, 'resource'),
      ...(context !== undefined && { context }),
    },
    expected,
    project,
  }
}

function refuseUnknown(value: object, members: readonly string[], where: string): void {
  const unknown = Object.keys(value).find((name) => !members.includes(name))
  if (unknown !== undefined)
    throw new UsageError([`${where}unknown member \`${unknown}\`; the members are ${members.join(', ')}`])
}

function actionOf(value: unknown): EvaluationInput['action'] {
  const name = typeof value === 'string' ? value : isJsonObject(value) ? value.name : undefined
  if (typeof name !== 'string' || name === '')
    throw new UsageError(['action: expected a name, or an object with a `name`'])
  if (!isJsonObject(value)) return { name }
  refuseUnknown(value, ACTION_MEMBERS, 'action: ')
  return { name, ...propertiesOf(value.properties, 'action') }
}

function entityOf(value: unknown, name: string): RequestEntity {
  if (typeof value === 'string') return entityFrom(value, name)
  if (!isJsonObject(value) || typeof value.type !== 'string' || typeof value.id !== 'string')
    throw new UsageError([`${name}: expected TYPE:ID, or an object with \`type\` and \`id\``])
  refuseUnknown(value, ENTITY_MEMBERS, `${name}: `)
  return { type: value.type, id: value.id, ...propertiesOf(value.properties, name) }
}

function propertiesOf(
  value: unknown,
  name: string,
): { readonly properties?: NonNullable<RequestEntity['properties']> } {
  if (value === undefined) return {}
  if (!isJsonObject(value)) throw new UsageError([`${name}.properties: expected an object`])
  return { properties: value }
}
