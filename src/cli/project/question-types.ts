// Writes the TypeScript file with the questions of a project, for `may`, `resources`, `toAllow` and `toDeny`.
import type { ValueType } from '../../../grammar/value-types.ts'

/** What one policy decides. */
interface DeclaredDecisions {
  readonly subject: string
  readonly actions: readonly string[]
  readonly resource: string
  /** The parameters that a caller may send, without `$`, with the types of their values; null: not known. */
  readonly parameters: ReadonlyMap<string, readonly ValueType[] | null>
}

/** The text of a declaration file. Policies about one action of two types are one question, with the parameters of all. */
export function questionTypes(policies: readonly DeclaredDecisions[]): string {
  const questions = new Map<string, { readonly head: string; readonly parameters: Map<string, Set<string>> }>()
  for (const { subject, actions, resource, parameters } of policies) {
    for (const action of actions) {
      const head = `subject: ${quoted(subject)}; action: ${quoted(action)}; resource: ${quoted(resource)}`
      const question = questions.get(head) ?? { head, parameters: new Map() }
      for (const [name, types] of parameters) {
        const texts = question.parameters.get(name) ?? new Set()
        for (const text of types?.map(typeText) ?? ['unknown']) texts.add(text)
        question.parameters.set(name, texts)
      }
      questions.set(head, question)
    }
  }
  const lines = [...questions.values()]
    .sort((a, b) => (a.head < b.head ? -1 : 1))
    .map(({ head, parameters }) => `      | { ${head}; parameters: ${parametersText(parameters)} }`)
  return [
    '// Written by `verdigraph model types`. Run it again after a change of the policies.',
    'export {}',
    '',
    'declare global {',
    '  interface VerdigraphProject {',
    lines.length === 0 ? '    readonly questions: never' : '    readonly questions:',
    ...lines,
    '  }',
    '}',
    '',
  ].join('\n')
}

function parametersText(parameters: ReadonlyMap<string, ReadonlySet<string>>): string {
  if (parameters.size === 0) return 'Record<string, never>'
  const members = [...parameters]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, texts]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)}?: ${unionOf(texts)}`)
  return `{ ${members.join('; ')} }`
}

/** The type of JSON values. A temporal value has none, because JSON has texts for it. */
function typeText({ name, items }: ValueType): string {
  switch (name) {
    case 'STRING':
      return 'string'
    case 'BOOLEAN':
      return 'boolean'
    case 'INTEGER':
    case 'FLOAT':
      return 'number'
    case 'LIST':
      return `readonly (${unionOf(new Set((items ?? []).map(typeText)))})[]`
    default:
      return 'unknown'
  }
}

function unionOf(texts: ReadonlySet<string>): string {
  return texts.size === 0 || texts.has('unknown') ? 'unknown' : [...texts].sort().join(' | ')
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
