// Turns a repeated step over a derived relationship, such as `-[:in]->+` or `((x)-[:in]->(y)-[:HAS]->(z)){1,3}`, into a step over a
// further definition: the pairs of nodes between which a walk of so many repetitions leads. A derived pair has no identity, so a walk
// may use it again, and each pair of ends occurs once (docs/decisions/0069-definitions.md).
import type {
  DefinitionEnd,
  DefinitionText,
  Expression,
  HopRange,
  LabelName,
  MatchClause,
  Name,
  PathPattern,
  QuantifiedPath,
  Query,
  RelationshipPattern,
  Span,
} from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { walkTree } from '../../../grammar/walk.ts'
import { labelNames } from '../bind/bind-labels.ts'
import { plainMatch, plainNode, plainPath, plainStep } from '../bind/plain-patterns.ts'

/** Which end must be given for an alternative to be needed; null: it is always needed. */
type NeededEnd = 'source' | 'target' | null

/** A definition that no text names. */
export interface AddedDefinition {
  readonly definition: DefinitionText
  /** For each alternative. */
  readonly needs: readonly NeededEnd[]
  /** Whether it is evaluated with a table: in place, each level of the walk would be searched again from each node of the level before. */
  readonly isTabled: boolean
  /** The definition whose pairs it joins to walks of one and more; null if it does something else. */
  readonly closureOf: string | null
  /** The step of the text that it stands for. */
  readonly step: RelationshipPattern | QuantifiedPath
}

/** Limit for the bounds of a repetition: each one up to the bound is a definition. */
const MAX_REPETITIONS = 100

/** Names that no variable of a text has. */
const SOURCE = 'source of the walk'
const TARGET = 'target of the walk'

/** The repeated steps of some texts, as definitions that these texts share. */
export class Repetitions {
  readonly added: AddedDefinition[] = []
  readonly diagnostics: Diagnostic[] = []
  /** The names of elements inside of repeated patterns, which the rest of a text cannot read. */
  readonly innerNames = new Set<string>()
  private readonly isDefined: (name: string) => boolean
  /** The names in the texts: an added name must differ. */
  private readonly taken = new Set<string>()
  /** The names of added definitions, by the definition that they repeat and the number of repetitions. */
  private readonly known = new Map<string, string>()
  private patterns = 0

  /** `isDefined`: whether a definition has this name. `texts`: all that will be rewritten. */
  constructor(isDefined: (name: string) => boolean, texts: readonly Query[]) {
    this.isDefined = isDefined
    walkTree(texts, (node) => {
      if (node.kind === 'label') this.taken.add(node.name)
    })
  }

  /** The text with a plain step for each repeated one over derived relationships. */
  rewrite(query: Query): Query {
    return this.rewriteTree(query)
  }

  private rewriteTree<T>(tree: T): T {
    if (tree === null || typeof tree !== 'object') return tree
    if (Array.isArray(tree)) {
      const items = tree.map((item: unknown) => this.rewriteTree(item))
      return items.some((item, at) => item !== tree[at]) ? (items as T) : tree
    }
    const changed = Object.entries(tree).flatMap(([member, value]: [string, unknown]) => {
      const rewritten = this.rewriteTree(value)
      return rewritten === value ? [] : [[member, rewritten] as const]
    })
    const node: object = changed.length === 0 ? tree : { ...tree, ...Object.fromEntries(changed) }
    return (isPath(node) ? this.rewritePath(node) : node) as T
  }

  private rewritePath(path: PathPattern): PathPattern {
    const { variable, shortest, selector, relationships } = path
    if (variable !== null || shortest !== null || (selector !== null && selector.keep !== 'all')) return path
    if (!relationships.some((step) => this.isRepeated(step))) return path
    return { ...path, relationships: relationships.map((step) => (this.isRepeated(step) ? this.plain(step) : step)) }
  }

  private isRepeated(step: RelationshipPattern | QuantifiedPath): boolean {
    if (step.kind === 'quantified-path') {
      return step.pattern.relationships.some(
        (inner) =>
          inner.kind === 'relationship' && inner.types !== null && labelNames(inner.types).some(this.isDerived),
      )
    }
    const { variable, types, range, properties, where, direction } = step
    if (range === null || variable !== null || properties !== null || where !== null || direction === 'both')
      return false
    return types?.kind === 'label' && this.isDerived(types)
  }

  private readonly isDerived = ({ name }: LabelName): boolean => this.isDefined(name)

  private plain(step: RelationshipPattern | QuantifiedPath): RelationshipPattern {
    const range = step.range!
    const defaultMin = step.kind === 'relationship' ? 1 : 0
    const bounds = { min: range.min ?? defaultMin, max: range.max }
    if (Math.max(bounds.min, bounds.max ?? 0) > MAX_REPETITIONS) {
      const message = `more than ${MAX_REPETITIONS} repetitions of a derived relationship: define the walk, which may be recursive`
      this.diagnostics.push({ code: 'InvalidDerivedRelationship', message, span: range.span })
      bounds.max = bounds.min = 1
    }
    if (step.kind === 'relationship') {
      const { name } = step.types as LabelName
      const { types } = plainStep(this.repeated(name, bounds, step), step.types!.span)
      return { ...step, types, range: null }
    }
    return plainStep(this.repeated(this.once(step), bounds, step), step.span)
  }

  /** The definition of one repetition of a pattern. */
  private once(step: QuantifiedPath): string {
    const { pattern, span } = step
    for (const { variable } of pattern.nodes) if (variable !== null) this.innerNames.add(variable.text)
    for (const inner of pattern.relationships) {
      if (inner.kind === 'relationship' && inner.variable !== null) this.innerNames.add(inner.variable.text)
    }
    this.patterns += 1
    const name = this.fresh(`pattern ${this.patterns}`)
    const last = pattern.nodes.length - 1
    const first = pattern.nodes[0]!.variable
    const source = first ?? nameOf(SOURCE, span)
    const end = pattern.nodes[last]!.variable
    const target = end === null || end.text === source.text ? nameOf(TARGET, span) : end
    const nodes = pattern.nodes.with(0, { ...pattern.nodes[0]!, variable: source })
    let { where } = step
    if (end !== null && end !== target) {
      // The text names both ends alike, so they are one node.
      const same = sameValue(source, target)
      where = where === null ? same : { kind: 'binary', operator: 'AND', left: same, right: where, span }
    }
    const match = plainMatch({ ...pattern, nodes: nodes.with(last, { ...nodes[last]!, variable: target }) }, where)
    this.add(name, step, { source, target }, [[match, null]])
    return name
  }

  /** The name of the definition that repeats another one. */
  private repeated(
    one: string,
    { min, max }: { readonly min: number; readonly max: number | null },
    step: RelationshipPattern | QuantifiedPath,
  ): string {
    if (min === 1 && max === 1) return one
    const written = max === null ? (min < 2 ? '*+'[min]! : `{${min},}`) : `{${min},${max}}`
    const key = `${one} ${written}`
    const known = this.known.get(key)
    if (known !== undefined) return known
    const name = this.fresh(`${one}${written}`)
    this.known.set(key, name)
    const { span } = step
    const walk = (...names: string[]): MatchClause => walkOver(names, span)
    const next = { min: Math.max(min - 1, 0), max: max === null ? null : max - 1 }
    const alternatives: (readonly [MatchClause, NeededEnd])[] = []
    if (min === 0) alternatives.push([plainMatch(sameNode(span)), null])
    if (max === null && min === 0) alternatives.push([walk(this.repeated(one, { min: 1, max }, step)), null])
    else if (max === null && min === 1) {
      // From each end the recursion follows that end, so one goal collects the whole walk.
      alternatives.push([walk(one), null], [walk(name, one), 'source'], [walk(one, name), 'target'])
    } else if (max === 1) alternatives.push([walk(one), null])
    else if (max !== 0) alternatives.push([walk(one, this.repeated(one, next, step)), null])
    this.add(name, step, { source: nameOf(SOURCE, span), target: nameOf(TARGET, span) }, alternatives, {
      isTabled: Math.max(min, max ?? 0) > 1,
      closureOf: max === null && min === 1 ? one : null,
    })
    return name
  }

  private add(
    name: string,
    step: RelationshipPattern | QuantifiedPath,
    { source, target }: { readonly source: Name; readonly target: Name },
    alternatives: readonly (readonly [MatchClause, NeededEnd])[],
    kind: Pick<AddedDefinition, 'isTabled' | 'closureOf'> = { isTabled: false, closureOf: null },
  ): void {
    const { span } = step
    const end = (variable: Name): DefinitionEnd => ({ variable, labels: null, span })
    const body: Query = {
      kind: 'query',
      input: null,
      parts: alternatives.map(([match]) => ({ clauses: [match], span })),
      unions: alternatives.slice(1).map(() => 'distinct'),
      span,
    }
    const definition: DefinitionText = {
      kind: 'definition',
      name: nameOf(name, span),
      source: end(source),
      target: end(target),
      body,
      span,
    }
    this.added.push({ ...kind, definition, needs: alternatives.map(([, needs]) => needs), step })
  }

  /** A name that neither a definition nor a text has. */
  private fresh(wanted: string): string {
    let name = wanted
    while (this.isDefined(name) || this.taken.has(name)) name += '′'
    this.taken.add(name)
    return name
  }
}

/** A diagnostic about a name inside of a repeated pattern that is read outside of it, with the next step; any other one as it is. */
export function withInnerName(innerNames: ReadonlySet<string>, diagnostic: Diagnostic): Diagnostic {
  if (diagnostic.code !== 'UndefinedVariable') return diagnostic
  const name = [...innerNames].find((one) => diagnostic.message.startsWith(`variable \`${one}\` is not defined`))
  if (name === undefined) return diagnostic
  const message = `\`${name}\` is inside of a repeated pattern with a derived relationship, whose elements cannot be read outside of it: name the node after the repetition, as in \`(…)+(last)\`, or match the elements without repeating them`
  return { ...diagnostic, message }
}

function isPath(node: object): node is PathPattern {
  return 'kind' in node && node.kind === 'path'
}

function nameOf(text: string, span: Span): Name {
  return { text, span }
}

function sameValue({ text, span }: Name, { text: other }: Name): Expression {
  const rest = [{ operator: '=' as const, operand: { kind: 'variable' as const, name: other, span } }]
  return { kind: 'comparison', first: { kind: 'variable', name: text, span }, rest, span }
}

/** The two ends with these steps between them. */
function walkOver(types: readonly string[], span: Span): MatchClause {
  const names = [SOURCE, ...types.slice(1).map((_, at) => `node ${at + 1} of the walk`), TARGET]
  const nodes = names.map((name) => plainNode(name, span))
  const steps = types.map((type) => plainStep(type, span))
  return plainMatch(plainPath(nodes, steps, span))
}

/** `(source)(()-->()){0,0}(target)`: both ends are one node. */
function sameNode(span: Span): PathPattern {
  const range: HopRange = { min: 0, max: 0, form: 'quantifier', span }
  const any = plainNode(null, span)
  const pattern = plainPath([any, any], [plainStep(null, span)], span)
  const repeated: QuantifiedPath = { kind: 'quantified-path', pattern, where: null, range, span }
  return plainPath([plainNode(SOURCE, span), plainNode(TARGET, span)], [repeated], span)
}
