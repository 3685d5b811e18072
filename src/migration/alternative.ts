// The alternatives of a definition: a path between its two ends, and conditions. Alternatives that differ in one type are joined.
import { cypherName } from '../kernel/text/cypher-names.ts'

/** One step of a path. */
interface AlternativeStep {
  /** Relationship types, any of which it follows. */
  readonly types: readonly string[]
  readonly direction: 'right' | 'left'
}

/** A path from the source to the target. */
export interface Path {
  readonly steps: readonly AlternativeStep[]
  /** The labels of the nodes between the steps; empty: any. */
  readonly between: readonly (readonly string[])[]
  /** The labels of the source; empty: any. */
  readonly source: readonly string[]
  /** Whether the path begins at the node that stands for all of the type of the source, which has one label. */
  readonly isForAll: boolean
}

/** One way in which a pair belongs to a definition. */
export interface Alternative {
  /** Null: the ends are one node. */
  readonly path: Path | null
  /** The condition of the last relationship, with this name for it. */
  readonly relationship: { readonly name: string; readonly condition: string } | null
  /** Further conditions, all of which must hold. */
  readonly conditions: readonly string[]
  /** The types of objects for which it holds. */
  readonly targets: ReadonlySet<string>
  /** The types of objects to which its path can lead. */
  readonly reached: ReadonlySet<string>
}

/** The names of the ends in the text of a condition. */
export interface AlternativeEnds {
  readonly source: string
  readonly target: string
}

/** The text of a path. */
export function pathText(
  { steps, between, source, isForAll }: Path,
  ends: AlternativeEnds,
  variable: string | null,
  targetLabels = '',
): string {
  const text = steps.map(({ types, direction }, at) => {
    const isLast = at === steps.length - 1
    const name = isLast && variable !== null ? variable : ''
    const step = `-[${name}:${types.map(cypherName).join('|')}]-`
    const node = isLast ? `(${ends.target}${targetLabels})` : `(${labelsText(between[at]!)})`
    return `${direction === 'left' ? '<' : ''}${step}${direction === 'right' ? '>' : ''}${node}`
  })
  const start = `(${ends.source}${labelsText(source)})`
  return `${isForAll ? `${start}, (${labelsText(source)} {external_id: '*'})` : start}${text.join('')}`
}

/** `:A|B`, or nothing. */
export function labelsText(labels: readonly string[]): string {
  return labels.length === 0 ? '' : `:${labels.map(cypherName).join('|')}`
}

/** The alternative as a condition on two nodes that are known. */
export function predicateText({ path, relationship, conditions }: Alternative, ends: AlternativeEnds): string {
  const parts = [...conditions]
  if (path === null) parts.unshift(`${ends.source} = ${ends.target}`)
  else if (relationship === null) {
    const text = pathText(path, ends, null)
    parts.unshift(path.isForAll ? `EXISTS { ${text} }` : text)
  } else parts.unshift(`EXISTS { ${pathText(path, ends, relationship.name)} WHERE ${relationship.condition} }`)
  return parts.join(' AND ')
}

/** Alternatives joined by OR, in parentheses if there are several. */
export function anyText(alternatives: readonly Alternative[], ends: AlternativeEnds): string {
  if (alternatives.length === 0) return 'false'
  const texts = alternatives.map((one) => predicateText(one, ends))
  return texts.length === 1 ? texts[0]! : `(${texts.join(' OR ')})`
}

/** The alternative as clauses. */
export function clauseText(
  { path, relationship, conditions }: Alternative,
  ends: AlternativeEnds,
  targetLabels: string,
): string {
  const where = [...conditions]
  if (relationship !== null) {
    const { condition } = relationship
    where.unshift(where.length > 0 && / OR /.test(condition) ? `(${condition})` : condition)
  }
  if (path === null) where.unshift(`${ends.source} = ${ends.target}`)
  const variable = relationship === null ? null : relationship.name
  const pattern =
    path === null ? `(${ends.source}), (${ends.target}${targetLabels})` : pathText(path, ends, variable, targetLabels)
  return `MATCH ${pattern}${where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`}`
}

/**
 * Joins alternatives that differ in the types of one step, or only in their targets. `mayJoin`: whether one step can have both types.
 * `all`: the types of objects of the definition.
 */
export function joined(
  alternatives: readonly Alternative[],
  all: ReadonlySet<string>,
  mayJoin: (types: readonly string[]) => boolean,
): readonly Alternative[] {
  const byText = new Map<string, Alternative>()
  for (const one of alternatives) {
    const key = textKey(one)
    const known = byText.get(key)
    if (known === undefined) byText.set(key, one)
    else
      byText.set(key, {
        ...known,
        targets: union(known.targets, one.targets),
        reached: union(known.reached, one.reached),
      })
  }
  let list = [...byText.values()]
  for (let pair = findPair(list, all, mayJoin); pair !== null; pair = findPair(list, all, mayJoin)) {
    const [first, second, both] = pair
    list = list.flatMap((one) => (one === first ? [both] : one === second ? [] : [one]))
  }
  return list
}

/** The types that must be tested at the target; empty: the path leads to no other one. */
export function testedTargets({ targets, reached }: Alternative, all: ReadonlySet<string>): readonly string[] {
  const leadsElsewhere = [...reached].some((type) => all.has(type) && !targets.has(type))
  return leadsElsewhere ? [...targets] : []
}

function findPair(
  list: readonly Alternative[],
  all: ReadonlySet<string>,
  mayJoin: (types: readonly string[]) => boolean,
): readonly [Alternative, Alternative, Alternative] | null {
  for (const [at, first] of list.entries()) {
    for (const second of list.slice(at + 1)) {
      const both = join(first, second, mayJoin)
      if (both === null) continue
      const tested = [first, second, both].map((one) => testedTargets(one, all).toSorted().join())
      if (tested[0] === tested[1] && tested[0] === tested[2]) return [first, second, both]
    }
  }
  return null
}

function join(a: Alternative, b: Alternative, mayJoin: (types: readonly string[]) => boolean): Alternative | null {
  if (a.path === null || b.path === null || a.path.steps.length !== b.path.steps.length) return null
  if (textKey({ ...a, path: null }) !== textKey({ ...b, path: null })) return null
  const { steps } = a.path
  const others = b.path.steps
  const differing = steps.flatMap((step, at) => (stepKey(step) === stepKey(others[at]!) ? [] : [at]))
  if (differing.length !== 1) return null
  const at = differing[0]!
  const types = [...new Set([...steps[at]!.types, ...others[at]!.types])]
  if (steps[at]!.direction !== others[at]!.direction || !mayJoin(types)) return null
  const path = { ...a.path, steps: steps.with(at, { ...steps[at]!, types }) }
  if (pathKey(path) !== pathKey({ ...b.path, steps: path.steps })) return null
  return { ...a, path, targets: union(a.targets, b.targets), reached: union(a.reached, b.reached) }
}

function textKey({ path, relationship, conditions }: Alternative): string {
  return JSON.stringify([path === null ? null : pathKey(path), relationship, conditions])
}

function pathKey({ steps, between, source, isForAll }: Path): string {
  return JSON.stringify([steps.map(stepKey), between, source, isForAll])
}

function stepKey({ types, direction }: AlternativeStep): string {
  return `${direction} ${types.toSorted().join()}`
}

function union<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): ReadonlySet<T> {
  return new Set([...a, ...b])
}
