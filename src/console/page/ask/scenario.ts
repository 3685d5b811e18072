// A question and its answer as a scenario file (docs/reference/scenario-files.md). It contains the part of the graph that the answer
// shows, and tests the policies of the project folder that it is put into.
import type { ElementName, ShownElements } from './explanation.ts'
import type { AskedQuestion } from './question.ts'

/** The policies of a question. */
interface ReadByPolicies {
  readonly hasPolicies: boolean
  readonly parameters: ReadonlySet<string>
}

/** Returns the text of the file. JSON is YAML, so every name and value is quoted correctly. */
export function scenarioText(
  question: AskedQuestion,
  decision: boolean,
  shown: readonly ShownElements[],
  read: ReadByPolicies,
): string {
  const { subject, action, resource } = question
  // A test must not give a parameter that nothing reads.
  const parameters = Object.fromEntries(
    Object.entries(question.parameters).filter(([name]) => read.parameters.has(name)),
  )
  const nodes = new Map<string, { type: string; external_id: string }>()
  const addNode = ({ type, id }: ElementName): void => {
    if (type !== null && id !== null) nodes.set(JSON.stringify([type, id]), { type, external_id: id })
  }
  const relationships = new Map<string, object>()
  for (const elements of shown) {
    for (const node of elements.nodes) addNode(node)
    for (const { type, source, target } of elements.relationships) {
      if (source.type === null || source.id === null || target.type === null || target.id === null) continue
      addNode(source)
      addNode(target)
      const relationship = {
        type,
        source: { type: source.type, external_id: source.id },
        target: { type: target.type, external_id: target.id },
      }
      relationships.set(JSON.stringify(relationship), relationship)
    }
  }
  addNode(subject)
  addNode(resource)
  const row = [
    `${subject.type}:${subject.id}`,
    action,
    `${resource.type}:${resource.id}`,
    ...(Object.keys(parameters).length > 0 ? [parameters] : []),
  ]
  const expected = decision ? 'yes' : read.hasPolicies ? 'no' : 'unknown-action'
  return [
    '# Saved from the console. The graph has what the answer showed, without properties: add those that the policies read.',
    '# Put the file into `scenarios/` of a project folder and run `verdigraph test`.',
    'graph:',
    '  nodes:',
    ...[...nodes.values()].map((node) => `    - ${JSON.stringify(node)}`),
    ...(relationships.size === 0 ? [] : ['  relationships:']),
    ...[...relationships.values()].map((one) => `    - ${JSON.stringify(one)}`),
    'decisions:',
    `  - [${row.map((part) => JSON.stringify(part)).join(', ')}, ${expected}]`,
    '',
  ].join('\n')
}

/** A file name from the parts of a question. */
export function scenarioFileName({ subject, action, resource }: AskedQuestion): string {
  const text = [subject.id, action, resource.id].join('-').toLowerCase()
  return `${text.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'question'}.scenario.yaml`
}
