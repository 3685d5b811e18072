// What a definition that compiles most likely does not mean: an end that no pattern names beside a name that nothing else uses, and a
// definition without a pair in any graph.
import type { Clause, DefinitionText, Span } from '../../grammar/ast.ts'
import { parseModel } from '../../grammar/index.ts'
import { walkTree } from '../../grammar/walk.ts'
import { branchesOf } from '../engine/definitions/branches.ts'

/** A doubt about a definition. Its place is an offset of the text of the model. */
interface DefinitionRemark {
  /** The rule of the linter. */
  readonly rule: 'unnamed-end' | 'empty-definition'
  readonly message: string
  readonly span: Span
}

/** The doubts about the definitions of a model that compiles, in the order of its text. */
export function definitionRemarks(model: string): readonly DefinitionRemark[] {
  const parsed = parseModel(model)
  if (!parsed.ok) return []
  const { definitions } = parsed.model
  const filled = filledNames(definitions)
  return definitions.flatMap((definition) => {
    const { name } = definition
    if (filled.has(name.text)) return unnamedEnds(definition)
    const message = `\`${name.text}\` has no pair in any graph: each alternative needs a pair that only \`${name.text}\` could begin`
    return [{ rule: 'empty-definition', message, span: name.span }]
  })
}

function unnamedEnds({ source, target, body }: DefinitionText): readonly DefinitionRemark[] {
  return body.parts.flatMap(({ clauses }) => {
    const uses = usesOfNames(clauses)
    const ends = [source, target]
    const isEnd = (name: string): boolean => ends.some(({ variable }) => variable.text === name)
    const other = [...uses].find(([name, places]) => !isEnd(name) && places.length === 1 && places[0]!.isNode)
    const end = ends.find(({ variable }) => !uses.has(variable.text))
    if (other === undefined || end === undefined) return []
    const [name, [place]] = other
    const wanted = end.variable.text
    const message = `nothing else uses \`${name}\`, and no pattern of the alternative has \`${wanted}\`, which can then be any node: write \`${wanted}\`, or leave the name out`
    return [{ rule: 'unnamed-end' as const, message, span: place!.span }]
  })
}

/** The places of each variable. */
function usesOfNames(
  clauses: readonly Clause[],
): ReadonlyMap<string, { readonly span: Span; readonly isNode: boolean }[]> {
  const uses = new Map<string, { readonly span: Span; readonly isNode: boolean }[]>()
  const add = (name: string, span: Span, isNode: boolean): void => {
    uses.set(name, [...(uses.get(name) ?? []), { span, isNode }])
  }
  walkTree(clauses, (node) => {
    if (node.kind === 'variable') add(node.name, node.span, false)
    else if ('variable' in node && node.variable !== null) {
      add(node.variable.text, node.variable.span, node.kind === 'node')
    }
  })
  return uses
}

/** The definitions that may have a pair: an alternative of theirs needs only those that may have one. */
function filledNames(definitions: readonly DefinitionText[]): ReadonlySet<string> {
  const names = new Set(definitions.map(({ name }) => name.text))
  const alternatives = definitions.flatMap((definition) =>
    branchesOf(definition).map(({ clauses }) => ({ name: definition.name.text, needs: neededIn(clauses, names) })),
  )
  const filled = new Set<string>()
  for (let size = -1; size < filled.size; ) {
    size = filled.size
    for (const { name, needs } of alternatives) if (needs.every((one) => filled.has(one))) filled.add(name)
  }
  return filled
}

/** The definitions of which each row of the clauses needs a pair. */
function neededIn(clauses: readonly Clause[], names: ReadonlySet<string>): readonly string[] {
  const matches = clauses.flatMap((clause) => (clause.kind === 'match' && !clause.optional ? clause.patterns : []))
  return matches.flatMap(({ relationships }) =>
    relationships.flatMap((step) => {
      if (step.kind !== 'relationship' || step.types?.kind !== 'label' || step.range?.min === 0) return []
      // `{,3}` begins with 0.
      if (step.range?.min === null && step.range.form === 'quantifier') return []
      return names.has(step.types.name) ? [step.types.name] : []
    }),
  )
}
