// The questions of a bench: a file of questions, or the expected decisions of a scenario file.
import type { ScenarioFile } from '../../scenarios/scenario.ts'
import { type CheckedQuestion, readQuestionFile } from '../ask/question-file.ts'
import { UsageError } from '../output/cli-error.ts'

/** Reads a file of questions about one project. Throws UsageError with the place of each wrong line. */
export function readQuestions(path: string): readonly CheckedQuestion[] {
  const read = readQuestionFile(path)
  if (!read.ok) throw new UsageError(read.error.map((issue) => `--questions: ${issue}`))
  const other = read.value.find(({ project }) => project !== null)
  if (other !== undefined)
    throw new UsageError([
      `--questions: ${other.where}: \`bench\` asks one project, which the option --project names: remove the member \`project\``,
    ])
  return read.value
}

/** The expected decisions of a scenario file. Throws UsageError if it has none that a bench can ask. */
export function questionsOf(scenario: ScenarioFile): readonly CheckedQuestion[] {
  const questions = scenario.decisions.flatMap(({ subject, action, resource, params, tags, token, expect }) => {
    // A refused request is not a decision; a user token needs a verified token.
    if (expect === 'refused' || (token ?? null) !== null) return []
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
