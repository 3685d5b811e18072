// Random conditions over the names in scope. They never fail on a generated graph, so that every engine has a result.
// Nulls, mixed types and negations are frequent.

import { EXTRA_LABELS, NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'
import type { Random } from './random.ts'
import { type GeneratedScope, someNodes } from './scope.ts'
import { counted, existing, step, valueList } from './subquery.ts'

const COMPARISONS = ['=', '<>', '<', '<=', '>', '>='] as const

export function predicate(chance: Random, scope: GeneratedScope, depth = 2): string {
  const inner = (): string => predicate(chance, scope, depth - 1)
  if (depth > 0) {
    const shape = chance.weighted([
      [10, 'plain'],
      [3, 'not'],
      [2, 'and'],
      [3, 'or'],
      [1, 'xor'],
    ] as const)
    if (shape === 'not') return `NOT (${inner()})`
    if (shape === 'and') return `(${inner()} AND ${inner()})`
    if (shape === 'or') return `(${inner()} OR ${inner()})`
    if (shape === 'xor') return `(${inner()} XOR ${inner()})`
  }
  return plain(chance, scope)
}

function plain(chance: Random, scope: GeneratedScope): string {
  const known = someNodes(scope)
  const node = chance.pick(known)
  const other = chance.pick(known)
  const compare = chance.pick(COMPARISONS)
  const choices: (readonly [number, () => string])[] = [
    [4, () => `${number(chance, node, scope)} ${compare} ${number(chance, other, scope)}`],
    [2, () => `${node}.name ${compare} ${chance.pick([`${other}.name`, '$text', "'b'", '$claims.act.sub', 'null'])}`],
    [
      1,
      () =>
        `${node}.odd ${compare} ${chance.pick([`${other}.odd`, '$number', "'a'", 'true', "['a', 'b']", `${other}.tags`])}`,
    ],
    [1, () => `${node}.flag`],
    [1, () => `${node}.property.flag = ${chance.pick(['true', 'false'])}`],
    [1, () => `${node} ${chance.pick(['=', '<>'])} ${other}`],
    [1, () => `${node}.${chance.pick(['num', 'name', 'odd', 'missing'])} IS ${chance.odds(0.5) ? 'NOT ' : ''}NULL`],
    [
      1,
      () =>
        `${node}.odd IN ${chance.pick(['[1, null]', "['a', true]", '$texts', '[]', `${other}.tags`, `[${other}.odd]`])}`,
    ],
    [1, () => `${chance.pick(["'a'", '$text', `${node}.name`])} IN ${other}.tags`],
    [
      1,
      () =>
        `${node}.name ${chance.pick(['STARTS WITH', 'ENDS WITH', 'CONTAINS'])} ${chance.pick(["'a'", `${other}.name`, "''", '$unset', `${other}.odd`])}`,
    ],
    [1, () => `${node}:${chance.pick([...NODE_TYPES, ...EXTRA_LABELS])}`],
    [1, () => `'${chance.pick(EXTRA_LABELS)}' IN labels(${node})`],
    [
      1,
      () =>
        `${chance.pick(['all', 'any', 'none', 'single'])}(i IN ${node}.tags WHERE i ${chance.pick(["= 'a'", `IN ${other}.tags`, `<> ${other}.name`])})`,
    ],
    [1, () => `size([i IN ${node}.tags WHERE i <> ${other}.name]) ${compare} 1`],
    [
      1,
      () =>
        `CASE WHEN ${node}.num > 1 THEN ${other}.flag WHEN ${node}.name = 'a' THEN true ELSE ${chance.pick(['false', 'null', 'true'])} END`,
    ],
    [1, () => `CASE ${node}.name WHEN 'a' THEN ${other}.num ELSE 1 END = 1`],
    [1, () => `0 < ${node}.num <= 2`],
    [1, () => `coalesce(${node}.num, ${other}.num, 0) > 0`],
    [
      1,
      () =>
        `${node}.external_id ${chance.pick([`= '${id(chance)}'`, '= $id', `IN ['${id(chance)}', '${id(chance)}']`, '<> $id', `STARTS WITH 'n1'`])}`,
    ],
    [0.5, () => `(${node}:${chance.pick(NODE_TYPES)} AND ${node}.name = ${chance.pick(["'a'", '$text'])})`],
    [0.5, () => `${node}:(${chance.pick(NODE_TYPES)}|${chance.pick(EXTRA_LABELS)})`],
    [0.5, () => `head(${node}.tags) = ${chance.pick([`last(${other}.tags)`, "'a'"])}`],
    [
      0.5,
      () =>
        `'a' IN ${chance.pick([`tail(${node}.tags)`, `reverse(${node}.tags)`, `${node}.tags[1..]`, `${node}.tags + 'a'`, `[${node}.name, ${other}.name]`])}`,
    ],
    [0.5, () => `reduce(s = 0, i IN [1, ${node}.num, 2] | s + i) ${compare} 3`],
    [0.5, () => `any(i IN range(0, 2) WHERE i = ${node}.num)`],
    [0.5, () => `${node}.name IN split('a,b', ',')`],
    [0.5, () => `(toLower(${node}.name) = 'a' OR left(${other}.name, 1) = 'a')`],
    [3, () => patternPredicate(chance, known)],
    [2, () => `${chance.odds(0.3) ? 'NOT ' : ''}${existing(chance, node, known)}`],
    [1, () => `${counted(chance, node, known)} ${compare} ${chance.between(0, 2)}`],
    [1, () => `${chance.pick(["'a'", `${other}.name`, '$text'])} IN ${valueList(chance, node, known, 'name')}`],
    [0.5, () => `any(i IN ${valueList(chance, node, known, 'num')} WHERE i > 0)`],
    [0.5, () => `size(${valueList(chance, node, known, 'flag')}) ${compare} 1`],
  ]
  if (scope.relationships.length > 0) {
    const relationship = chance.pick(scope.relationships)
    choices.push(
      [2, () => `${relationship}.since ${compare} ${chance.pick(['1', '$float', `${node}.num`])}`],
      [1, () => `type(${relationship}) = '${chance.pick(RELATIONSHIP_TYPES)}'`],
      [1, () => `${chance.pick(['startNode', 'endNode'])}(${relationship}) = ${node}`],
      [0.5, () => `(${node})-[${relationship}]-(${other})`],
      [0.5, () => `EXISTS { (${node})<-[${relationship}]-() }`],
    )
  }
  if (scope.lists.length > 0) {
    const list = chance.pick(scope.lists)
    choices.push(
      [2, () => `${node} IN ${list}`],
      [1, () => `size(${list}) ${compare} 1`],
      [1, () => `${chance.pick(['all', 'any', 'none', 'single'])}(i IN ${list} WHERE i.num > 0)`],
    )
  }
  if (scope.paths.length > 0) {
    const path = chance.pick(scope.paths)
    choices.push(
      [1, () => `length(${path}) ${compare} ${chance.between(0, 3)}`],
      [1, () => `${chance.pick(['all', 'any', 'none'])}(i IN nodes(${path}) WHERE i.flag)`],
      [1, () => `${node} IN nodes(${path})`],
      [1, () => `single(i IN relationships(${path}) WHERE i.since = 1)`],
    )
  }
  if (scope.trails.length > 0) {
    const trail = chance.pick(scope.trails)
    choices.push(
      [0.5, () => `EXISTS { (${node})-[${trail}*]->() }`],
      [0.5, () => `(${node})-[${trail}*0..]-(${other})`],
      [2, () => `size(${trail}) ${compare} ${chance.between(0, 2)}`],
      [
        2,
        () =>
          `${chance.pick(['all', 'any', 'none'])}(i IN ${trail} WHERE ${chance.pick(['i.since > 0', "i.role = 'a'", `type(i) = '${chance.pick(RELATIONSHIP_TYPES)}'`])})`,
      ],
    )
  }
  return chance.weighted(choices)()
}

const id = (chance: Random): string => `n${chance.between(0, 4)}`

/** A number or null. */
export function number(chance: Random, node: string, scope: GeneratedScope): string {
  const choices: (readonly [number, string])[] = [
    [4, `${node}.num`],
    [1, `${node}.property.num`],
    [1, `${node}.num + 1`],
    [1, `${node}.num * 2`],
    [0.5, `${node}.num / 2`],
    [0.5, `-${node}.num`],
    [0.5, `abs(${node}.num)`],
    [0.5, `size(${node}.tags)`],
    [0.5, `size(${node}.name)`],
    [2, String(chance.between(0, 2))],
    [1, '1.5'],
    [1, '$number'],
    [0.5, '$claims.level'],
    [0.3, '$claims.ghost'],
  ]
  if (scope.numbers.length > 0) choices.push([3, chance.pick(scope.numbers)])
  return chance.weighted(choices)
}

/** Between two known names, or from one to any node. */
function patternPredicate(chance: Random, known: readonly string[]): string {
  const end = chance.weighted([
    [3, `(${chance.pick(known)})`],
    [1, '()'],
    [1, `(:${chance.pick(NODE_TYPES)})`],
    [0.5, '({flag: true})'],
  ] as const)
  const middle = chance.odds(0.3) ? `${step(chance)}()` : ''
  const text = `(${chance.pick(known)})${middle}${step(chance)}${end}`
  return chance.odds(0.35) ? `NOT ${text}` : text
}
