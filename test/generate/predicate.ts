// Random conditions over the names in scope. They never fail on a generated graph, so that every engine has a result.
// Nulls, mixed types and negations are frequent.

import { EXTRA_LABELS, NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'
import type { Random } from './random.ts'
import { type GeneratedScope, someNodes } from './scope.ts'
import { counted, existing, step, valueList } from './subquery.ts'

const COMPARISONS = ['=', '<>', '<', '<=', '>', '>='] as const

export function predicate(random: Random, scope: GeneratedScope, depth = 2): string {
  const inner = (): string => predicate(random, scope, depth - 1)
  if (depth > 0) {
    const shape = random.weighted([
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
  return plain(random, scope)
}

function plain(random: Random, scope: GeneratedScope): string {
  const known = someNodes(scope)
  const node = random.pick(known)
  const other = random.pick(known)
  const compare = random.pick(COMPARISONS)
  const choices: (readonly [number, () => string])[] = [
    [4, () => `${number(random, node, scope)} ${compare} ${number(random, other, scope)}`],
    [2, () => `${node}.name ${compare} ${random.pick([`${other}.name`, '$text', "'b'", '$claims.act.sub', 'null'])}`],
    [
      1,
      () =>
        `${node}.odd ${compare} ${random.pick([`${other}.odd`, '$number', "'a'", 'true', "['a', 'b']", `${other}.tags`])}`,
    ],
    [1, () => `${node}.flag`],
    [1, () => `${node}.property.flag = ${random.pick(['true', 'false'])}`],
    [1, () => `${node} ${random.pick(['=', '<>'])} ${other}`],
    [1, () => `${node}.${random.pick(['num', 'name', 'odd', 'missing'])} IS ${random.odds(0.5) ? 'NOT ' : ''}NULL`],
    [
      1,
      () =>
        `${node}.odd IN ${random.pick(['[1, null]', "['a', true]", '$texts', '[]', `${other}.tags`, `[${other}.odd]`])}`,
    ],
    [1, () => `${random.pick(["'a'", '$text', `${node}.name`])} IN ${other}.tags`],
    [
      1,
      () =>
        `${node}.name ${random.pick(['STARTS WITH', 'ENDS WITH', 'CONTAINS'])} ${random.pick(["'a'", `${other}.name`, "''", '$unset', `${other}.odd`])}`,
    ],
    [1, () => `${node}:${random.pick([...NODE_TYPES, ...EXTRA_LABELS])}`],
    [1, () => `'${random.pick(EXTRA_LABELS)}' IN labels(${node})`],
    [
      1,
      () =>
        `${random.pick(['all', 'any', 'none', 'single'])}(i IN ${node}.tags WHERE i ${random.pick(["= 'a'", `IN ${other}.tags`, `<> ${other}.name`])})`,
    ],
    [1, () => `size([i IN ${node}.tags WHERE i <> ${other}.name]) ${compare} 1`],
    [
      1,
      () =>
        `CASE WHEN ${node}.num > 1 THEN ${other}.flag WHEN ${node}.name = 'a' THEN true ELSE ${random.pick(['false', 'null', 'true'])} END`,
    ],
    [1, () => `CASE ${node}.name WHEN 'a' THEN ${other}.num ELSE 1 END = 1`],
    [1, () => `0 < ${node}.num <= 2`],
    [1, () => `coalesce(${node}.num, ${other}.num, 0) > 0`],
    [
      1,
      () =>
        `${node}.external_id ${random.pick([`= '${id(random)}'`, '= $id', `IN ['${id(random)}', '${id(random)}']`, '<> $id', `STARTS WITH 'n1'`])}`,
    ],
    [0.5, () => `(${node}:${random.pick(NODE_TYPES)} AND ${node}.name = ${random.pick(["'a'", '$text'])})`],
    [0.5, () => `${node}:(${random.pick(NODE_TYPES)}|${random.pick(EXTRA_LABELS)})`],
    [0.5, () => `head(${node}.tags) = ${random.pick([`last(${other}.tags)`, "'a'"])}`],
    [
      0.5,
      () =>
        `'a' IN ${random.pick([`tail(${node}.tags)`, `reverse(${node}.tags)`, `${node}.tags[1..]`, `${node}.tags + 'a'`, `[${node}.name, ${other}.name]`])}`,
    ],
    [0.5, () => `reduce(s = 0, i IN [1, ${node}.num, 2] | s + i) ${compare} 3`],
    [0.5, () => `any(i IN range(0, 2) WHERE i = ${node}.num)`],
    [0.5, () => `${node}.name IN split('a,b', ',')`],
    [0.5, () => `(toLower(${node}.name) = 'a' OR left(${other}.name, 1) = 'a')`],
    [3, () => patternPredicate(random, known)],
    [2, () => `${random.odds(0.3) ? 'NOT ' : ''}${existing(random, node, known)}`],
    [1, () => `${counted(random, node, known)} ${compare} ${random.between(0, 2)}`],
    [1, () => `${random.pick(["'a'", `${other}.name`, '$text'])} IN ${valueList(random, node, known, 'name')}`],
    [0.5, () => `any(i IN ${valueList(random, node, known, 'num')} WHERE i > 0)`],
    [0.5, () => `size(${valueList(random, node, known, 'flag')}) ${compare} 1`],
  ]
  if (scope.relationships.length > 0) {
    const relationship = random.pick(scope.relationships)
    choices.push(
      [2, () => `${relationship}.since ${compare} ${random.pick(['1', '$float', `${node}.num`])}`],
      [1, () => `type(${relationship}) = '${random.pick(RELATIONSHIP_TYPES)}'`],
      [1, () => `${random.pick(['startNode', 'endNode'])}(${relationship}) = ${node}`],
      [0.5, () => `(${node})-[${relationship}]-(${other})`],
      [0.5, () => `EXISTS { (${node})<-[${relationship}]-() }`],
    )
  }
  if (scope.lists.length > 0) {
    const list = random.pick(scope.lists)
    choices.push(
      [2, () => `${node} IN ${list}`],
      [1, () => `size(${list}) ${compare} 1`],
      [1, () => `${random.pick(['all', 'any', 'none', 'single'])}(i IN ${list} WHERE i.num > 0)`],
    )
  }
  if (scope.paths.length > 0) {
    const path = random.pick(scope.paths)
    choices.push(
      [1, () => `length(${path}) ${compare} ${random.between(0, 3)}`],
      [1, () => `${random.pick(['all', 'any', 'none'])}(i IN nodes(${path}) WHERE i.flag)`],
      [1, () => `${node} IN nodes(${path})`],
      [1, () => `single(i IN relationships(${path}) WHERE i.since = 1)`],
    )
  }
  if (scope.trails.length > 0) {
    const trail = random.pick(scope.trails)
    choices.push(
      [0.5, () => `EXISTS { (${node})-[${trail}*]->() }`],
      [0.5, () => `(${node})-[${trail}*0..]-(${other})`],
      [2, () => `size(${trail}) ${compare} ${random.between(0, 2)}`],
      [
        2,
        () =>
          `${random.pick(['all', 'any', 'none'])}(i IN ${trail} WHERE ${random.pick(['i.since > 0', "i.role = 'a'", `type(i) = '${random.pick(RELATIONSHIP_TYPES)}'`])})`,
      ],
    )
  }
  return random.weighted(choices)()
}

const id = (random: Random): string => `n${random.between(0, 4)}`

/** A number or null. */
export function number(random: Random, node: string, scope: GeneratedScope): string {
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
    [2, String(random.between(0, 2))],
    [1, '1.5'],
    [1, '$number'],
    [0.5, '$claims.level'],
    [0.3, '$claims.ghost'],
  ]
  if (scope.numbers.length > 0) choices.push([3, random.pick(scope.numbers)])
  return random.weighted(choices)
}

/** Between two known names, or from one to any node. */
function patternPredicate(random: Random, known: readonly string[]): string {
  const end = random.weighted([
    [3, `(${random.pick(known)})`],
    [1, '()'],
    [1, `(:${random.pick(NODE_TYPES)})`],
    [0.5, '({flag: true})'],
  ] as const)
  const middle = random.odds(0.3) ? `${step(random)}()` : ''
  const text = `(${random.pick(known)})${middle}${step(random)}${end}`
  return random.odds(0.35) ? `NOT ${text}` : text
}
