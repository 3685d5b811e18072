// Writes quantified path patterns and path selectors: bodies of one or several hops, predicates on a hop and on a whole
// repetition, bounded and unbounded quantifiers, and selectors whose result does not depend on a choice.
import type { Random } from './random.ts'

/** The parts of a written pattern that later clauses can use. */
export interface QuantifiedText {
  readonly text: string
  /** List variables of nodes. */
  readonly lists: readonly string[]
  /** List variables of relationships. */
  readonly trails: readonly string[]
}

/** `fresh` returns a new name with a prefix. */
export function quantifiedText(random: Random, from: string, to: string, fresh: Fresh): QuantifiedText {
  const { text, lists, trails } = repetition(random, fresh)
  const more = random.odds(0.2) ? ` ${repetition(random, fresh, '{0,1}').text}` : ''
  return { text: `(${from}) ${text}${more} (${to})`, lists, trails }
}

type Fresh = (prefix: string) => string

function repetition(random: Random, fresh: Fresh, fixed?: string): QuantifiedText {
  const [x, y, z] = [fresh('q'), fresh('q'), fresh('q')]
  const [r, s] = [fresh('t'), fresh('t')]
  const quantifier = fixed ?? random.pick(['+', '*', '{1,3}', '{0,2}', '{2}', '{,3}', '{2,}', '{2,3}'])
  const [first, second] = [hop(random, r), hop(random, s)]
  const where = random.weighted([
    [5, ''],
    [1, ` WHERE ${x}.num > 0`],
    [1, ` WHERE ${x}.num <= ${y}.num`],
    [1, ` WHERE ${r}.since IS NOT NULL`],
    [1, ` WHERE NOT ${y}:Hot`],
  ] as const)
  if (random.odds(0.6)) {
    const body = `((${x}${label(random)})${first}(${y})${where})${quantifier}`
    return { text: body, lists: [x, y], trails: [r] }
  }
  const last = random.odds(0.15) ? x : z
  const both = random.odds(0.3) ? ` WHERE ${x}.num <= ${last}.num` : where
  const body = `((${x})${first}(${y}${label(random)})${second}(${last})${both})${quantifier}`
  return { text: body, lists: last === x ? [x, y] : [x, y, z], trails: [r, s] }
}

function hop(random: Random, name: string): string {
  const type = random.pick(['', ':A', ':B', ':A|B', ':!C', ':A {since: 1}'])
  return random.pick([`-[${name}${type}]->`, `-[${name}${type}]->`, `<-[${name}${type}]-`, `-[${name}${type}]-`])
}

function label(random: Random): string {
  return random.weighted([
    [6, ''],
    [1, ':Person'],
    [1, ':Person|Team'],
    [1, ':!Hot'],
    [1, ':%'],
  ] as const)
}

/** A path with a selector from one node to another, which the variable `path` holds. */
export function selectedText(random: Random, from: string, to: string, path: string, fresh: Fresh): string {
  const selector = random.pick([
    'ALL SHORTEST',
    'SHORTEST 1 GROUPS',
    'SHORTEST 2 GROUPS',
    'SHORTEST 3 GROUPS',
    // More than there are: which of several paths of one length are kept is not specified.
    'SHORTEST 9999',
  ])
  const m = fresh('q')
  const middle = random.weighted([
    [3, '-[:A|B]->+'],
    [2, '-->{1,4}'],
    [2, '-[:A]-{1,3}'],
    [1, '<-[:B]-{0,3}'],
    [2, `-[:A]->(${m}:!Hot)-->{0,2}`],
    [2, ` ${repetition(random, fresh, '{1,2}').text} `],
  ] as const)
  const where = random.weighted([
    [4, ''],
    [1, `length(${path}) > 1`],
    [1, `all(n IN nodes(${path}) WHERE n.num IS NULL OR n.num >= 0)`],
  ] as const)
  const chain = `(${from})${middle}(${to})`
  return where === '' ? `${path} = ${selector} ${chain}` : `${selector} (${path} = ${chain} WHERE ${where})`
}

/** A pattern, and the match mode before it, which is empty or ends with a space. */
export interface SearchedText {
  readonly mode: string
  readonly text: string
}

/**
 * A path with a selector, or a quantified path pattern, between two nodes, for all places where it may have no match. It names
 * nothing that other clauses may read, so any of several paths gives the same row.
 */
export function searchedText(random: Random, from: string, to: string, fresh: Fresh): SearchedText {
  const unnamed = (): string => repetition(random, fresh, random.pick(['{1,2}', '{0,1}', '{2}'])).text
  if (random.odds(0.2)) {
    const repeatable = random.odds(0.3)
    const text = repeatable ? `(${from}) ${unnamed()} (${to})` : quantifiedText(random, from, to, fresh).text
    return { mode: repeatable ? 'REPEATABLE ELEMENTS ' : random.pick(['', 'DIFFERENT RELATIONSHIPS ']), text }
  }
  const selector = random.pick([
    ...['ANY', 'ANY SHORTEST', 'SHORTEST 1', 'SHORTEST 2', 'ANY 2', 'ALL'],
    ...['ALL SHORTEST', 'SHORTEST 1 GROUPS', 'SHORTEST 2 GROUPS'],
  ])
  const mode = random.weighted([
    [8, ''],
    [1, 'DIFFERENT RELATIONSHIPS '],
    [1, 'REPEATABLE ELEMENTS '],
  ] as const)
  const r = fresh('t')
  const [arrow, back] = random.pick([
    ['-', '->'],
    ['<-', '-'],
    ['-', '-'],
  ] as const)
  const test = random.pick([`${r}.since = 1`, `${r}.since IS NULL`, `${r}.role = 'a'`])
  const only = (inside: string): string => `(${from})${arrow}[${inside}]${back}(${to})`
  const type = random.pick(['', ':A', ':B', ':A|B'])
  const text = random.weighted<() => string>([
    [4, () => only(`${type} {since: 1}`)],
    [2, () => only(`${r}${type || ':C'} WHERE ${test}`)],
    [2, () => `(${only(`${r}${type || ':C'}`)} WHERE ${test})`],
    [1, () => only(`${type} {role: $text}`)],
    [1, () => only(type)],
    [1, () => `(${from})-[${type} {since: 1}]->()-[:A {role: 'a'}]-(${to})`],
    [1, () => `(${from})-[${type} {since: 1}]->(:!Hot)-->{0,2}(${to})`],
    [1, () => `(${from})-[:A|B]->{1,3}(${to})`],
    [1, () => `(${from}) ${unnamed()} (${to})`],
    [1, () => `(${from})-->{0,1}()-[:B {since: 1}]->(${to})`],
  ])()
  return { mode, text: `${selector} ${text}` }
}
