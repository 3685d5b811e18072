// Queries inside expressions: EXISTS, COUNT and COLLECT with a pattern or a whole query, and pattern comprehensions.

import { NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'
import type { Random } from './random.ts'

export function step(chance: Random): string {
  const type = chance.pick([...RELATIONSHIP_TYPES.map((each) => `:${each}`), ':A|B', ''])
  const range = chance.weighted([
    [8, ''],
    [1, '*2'],
    [1, '*0..1'],
    [1, '*1..2'],
  ] as const)
  const body = type || range ? `[${type}${range}]` : ''
  return chance.pick([`-${body}->`, `<-${body}-`, `-${body}-`])
}

/** A pattern from a known node to `e`, with or without a condition over both. */
function pattern(chance: Random, node: string, known: readonly string[]): { path: string; where: string } {
  const end = chance.weighted([
    [6, '(e)'],
    [2, `(e:${chance.pick(NODE_TYPES)})`],
    [1, "(e {name: 'a'})"],
  ] as const)
  const more = chance.odds(0.2) ? `, (e)${step(chance)}(${chance.pick(known)})` : ''
  const where = chance.weighted([
    [4, ''],
    [1, ` WHERE e.num > ${node}.num`],
    [1, ` WHERE e <> ${chance.pick(known)}`],
    [1, ' WHERE NOT e.flag'],
    [1, ` WHERE (e)${step(chance)}(${chance.pick(known)})`],
    [0.5, ` WHERE EXISTS { (e)${step(chance)}(:${chance.pick(NODE_TYPES)}) }`],
  ] as const)
  return { path: `(${node})${step(chance)}${end}${more}`, where }
}

/** A query that ends in `RETURN` of that expression over `e`. */
function whole(chance: Random, node: string, known: readonly string[], returned: string): string {
  const { path, where } = pattern(chance, node, known)
  const match = `MATCH ${path}${where}`
  return chance.weighted<() => string>([
    [4, () => `${match} RETURN ${returned}`],
    [1, () => `${match} RETURN DISTINCT ${returned}`],
    [1, () => `${match} WITH e WHERE e.num ${chance.pick(['>', '=', '<'])} 1 RETURN ${returned}`],
    [
      1,
      () => `${match} WITH DISTINCT e ORDER BY e.external_id, e.type LIMIT ${chance.between(1, 2)} RETURN ${returned}`,
    ],
    [0.5, () => `OPTIONAL ${match} RETURN ${returned}`],
    // Outer variables stay in scope after a WITH.
    [
      1,
      () =>
        `${match} WITH ${chance.odds(0.5) ? 'DISTINCT ' : ''}e MATCH (${chance.pick(known)})${step(chance)}(e) RETURN ${returned}`,
    ],
    [0.5, () => `${match} WITH DISTINCT e WHERE e.num <> ${node}.num OR e = ${chance.pick(known)} RETURN ${returned}`],
    [0.3, () => `${match} WITH e, count(*) AS m WHERE m > ${node}.num RETURN ${returned}`],
    [0.5, () => `${match} WITH count(e) AS m WHERE m > 1 MATCH (${node})${step(chance)}(e) RETURN ${returned}`],
    [
      0.7,
      () =>
        `${match} RETURN ${returned} AS u UNION ${chance.odds(0.5) ? 'ALL ' : ''}${second(chance, node, known, returned)}`,
    ],
  ])()
}

function second(chance: Random, node: string, known: readonly string[], returned: string): string {
  const { path, where } = pattern(chance, node, known)
  return `MATCH ${path}${where} RETURN ${returned} AS u`
}

export function existing(chance: Random, node: string, known: readonly string[]): string {
  if (chance.odds(0.05)) return `EXISTS { (${chance.pick(known)}) }`
  if (chance.odds(0.35)) return `EXISTS { ${whole(chance, node, known, 'e')} }`
  const { path, where } = pattern(chance, node, known)
  return `EXISTS { ${chance.odds(0.5) ? 'MATCH ' : ''}${path}${where} }`
}

export function counted(chance: Random, node: string, known: readonly string[]): string {
  if (chance.odds(0.4)) return `COUNT { ${whole(chance, node, known, chance.pick(['e', 'e.name', '1']))} }`
  const { path, where } = pattern(chance, node, known)
  return `COUNT { ${chance.odds(0.5) ? 'MATCH ' : ''}${path}${where} }`
}

/** The same in the order of its ORDER BY. */
export function orderedList(chance: Random, node: string, known: readonly string[]): string {
  const { path, where } = pattern(chance, node, known)
  const [distinct, key] = chance.pick([
    ['', 'e.external_id'],
    ['', 'e.external_id DESC'],
    ['DISTINCT ', 'x'],
    ['', 'e.num, x'],
  ] as const)
  const limit = chance.odds(0.4) ? ` LIMIT ${chance.between(1, 3)}` : ''
  return `COLLECT { MATCH ${path}${where} RETURN ${distinct}e.external_id AS x ORDER BY ${key}${limit} }`
}

/** A list of property values, in no order. */
export function valueList(chance: Random, node: string, known: readonly string[], key: string): string {
  if (chance.odds(0.4)) return `COLLECT { ${whole(chance, node, known, `e.${key}`)} }`
  const { path, where } = pattern(chance, node, known)
  const [single] = path.split(', ')
  return `[${single}${where} | e.${key}]`
}
