// Queries inside expressions: EXISTS, COUNT and COLLECT with a pattern or a whole query, and pattern comprehensions.

import { NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'
import { searchedText } from './quantified-text.ts'
import type { Random } from './random.ts'

export function step(random: Random): string {
  const type = random.pick([...RELATIONSHIP_TYPES.map((each) => `:${each}`), ':A|B', ''])
  const range = random.weighted([
    [8, ''],
    [1, '*2'],
    [1, '*0..1'],
    [1, '*1..2'],
  ] as const)
  const body = type || range ? `[${type}${range}]` : ''
  return random.pick([`-${body}->`, `<-${body}-`, `-${body}-`])
}

/** A pattern from a known node to `e`, with or without a condition over both. */
function pattern(
  random: Random,
  node: string,
  known: readonly string[],
  isSearched = random.odds(0.2),
): { path: string; where: string } {
  const end = random.weighted([
    [6, '(e)'],
    [2, `(e:${random.pick(NODE_TYPES)})`],
    [1, "(e {name: 'a'})"],
  ] as const)
  const more = random.odds(0.2) ? `, (e)${step(random)}(${random.pick(known)})` : ''
  const where = random.weighted([
    [4, ''],
    [1, ` WHERE e.num > ${node}.num`],
    [1, ` WHERE e <> ${random.pick(known)}`],
    [1, ' WHERE NOT e.flag'],
    [1, ` WHERE (e)${step(random)}(${random.pick(known)})`],
    [0.5, ` WHERE EXISTS { (e)${step(random)}(:${random.pick(NODE_TYPES)}) }`],
  ] as const)
  if (isSearched) {
    let count = 0
    // Names of one pattern: no other part of the query reads them, and a subquery may hide them.
    const { mode, text } = searchedText(random, node, 'e', (prefix) => `${prefix}e${++count}`)
    return { path: mode + text, where }
  }
  return { path: `(${node})${step(random)}${end}${more}`, where }
}

/** A query that ends in `RETURN` of that expression over `e`. */
function whole(random: Random, node: string, known: readonly string[], returned: string): string {
  const { path, where } = pattern(random, node, known)
  const match = `MATCH ${path}${where}`
  return random.weighted<() => string>([
    [4, () => `${match} RETURN ${returned}`],
    [1, () => `${match} RETURN DISTINCT ${returned}`],
    [1, () => `${match} WITH e WHERE e.num ${random.pick(['>', '=', '<'])} 1 RETURN ${returned}`],
    [
      1,
      () => `${match} WITH DISTINCT e ORDER BY e.external_id, e.type LIMIT ${random.between(1, 2)} RETURN ${returned}`,
    ],
    [0.5, () => `OPTIONAL ${match} RETURN ${returned}`],
    // Outer variables stay in scope after a WITH.
    [
      1,
      () =>
        `${match} WITH ${random.odds(0.5) ? 'DISTINCT ' : ''}e MATCH (${random.pick(known)})${step(random)}(e) RETURN ${returned}`,
    ],
    [0.5, () => `${match} WITH DISTINCT e WHERE e.num <> ${node}.num OR e = ${random.pick(known)} RETURN ${returned}`],
    [0.3, () => `${match} WITH e, count(*) AS m WHERE m > ${node}.num RETURN ${returned}`],
    [0.5, () => `${match} WITH count(e) AS m WHERE m > 1 MATCH (${node})${step(random)}(e) RETURN ${returned}`],
    [
      0.7,
      () =>
        `${match} RETURN ${returned} AS u UNION ${random.odds(0.5) ? 'ALL ' : ''}${second(random, node, known, returned)}`,
    ],
  ])()
}

function second(random: Random, node: string, known: readonly string[], returned: string): string {
  const { path, where } = pattern(random, node, known)
  return `MATCH ${path}${where} RETURN ${returned} AS u`
}

/** The pattern of a subquery; a match mode needs the word MATCH. */
function bodyOf(random: Random, path: string): string {
  return random.odds(0.5) || /^(DIFFERENT|REPEATABLE)/.test(path) ? `MATCH ${path}` : path
}

export function existing(random: Random, node: string, known: readonly string[]): string {
  if (random.odds(0.05)) return `EXISTS { (${random.pick(known)}) }`
  if (random.odds(0.1)) {
    let count = 0
    const { mode, text } = searchedText(random, node, random.pick(known), (prefix) => `${prefix}e${++count}`)
    return `EXISTS { MATCH ${mode}${text} }`
  }
  if (random.odds(0.35)) return `EXISTS { ${whole(random, node, known, 'e')} }`
  const { path, where } = pattern(random, node, known)
  return `EXISTS { ${bodyOf(random, path)}${where} }`
}

export function counted(random: Random, node: string, known: readonly string[]): string {
  if (random.odds(0.4)) return `COUNT { ${whole(random, node, known, random.pick(['e', 'e.name', '1']))} }`
  const { path, where } = pattern(random, node, known)
  return `COUNT { ${bodyOf(random, path)}${where} }`
}

/** The same in the order of its ORDER BY. */
export function orderedList(random: Random, node: string, known: readonly string[]): string {
  const { path, where } = pattern(random, node, known)
  const [distinct, key] = random.pick([
    ['', 'e.external_id'],
    ['', 'e.external_id DESC'],
    ['DISTINCT ', 'x'],
    ['', 'e.num, x'],
  ] as const)
  const limit = random.odds(0.4) ? ` LIMIT ${random.between(1, 3)}` : ''
  return `COLLECT { MATCH ${path}${where} RETURN ${distinct}e.external_id AS x ORDER BY ${key}${limit} }`
}

/** A list of property values, in no order. */
export function valueList(random: Random, node: string, known: readonly string[], key: string): string {
  if (random.odds(0.4)) return `COLLECT { ${whole(random, node, known, `e.${key}`)} }`
  const { path, where } = pattern(random, node, known, false)
  const [single] = path.split(', ')
  return `[${single}${where} | e.${key}]`
}
