// Writes the TypeScript file with the questions of a project, for `may`, `resources`, `toAllow` and `toDeny`.

/** What one policy decides. */
interface DeclaredDecisions {
  readonly subject: string
  readonly actions: readonly string[]
  readonly resource: string
  /** The parameters that a caller may send, without `$`. */
  readonly parameters: readonly string[]
}

/** The text of a declaration file. Policies about one action of two types are one question, with the parameters of all. */
export function questionTypes(policies: readonly DeclaredDecisions[]): string {
  const questions = new Map<string, { readonly head: string; readonly parameters: Set<string> }>()
  for (const { subject, actions, resource, parameters } of policies) {
    for (const action of actions) {
      const head = `subject: ${quoted(subject)}; action: ${quoted(action)}; resource: ${quoted(resource)}`
      const question = questions.get(head) ?? { head, parameters: new Set() }
      for (const name of parameters) question.parameters.add(name)
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

function parametersText(names: ReadonlySet<string>): string {
  if (names.size === 0) return 'Record<string, never>'
  return `{ ${[...names]
    .sort()
    .map((name) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)}?: unknown`)
    .join('; ')} }`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
