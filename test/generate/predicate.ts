// Random conditions over the names in scope. They never fault on any generated graph, so that every engine has an answer;
// nulls, mixed kinds and negations are frequent.
import type { Chance } from './chance.ts'
import type { Scope } from './condition.ts'
import { EXTRA_LABELS, NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'

const COMPARISONS = ['=', '<>', '<', '<=', '>', '>='] as const

export function predicate(chance: Chance, scope: Scope, depth = 2): string {
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

function plain(chance: Chance, scope: Scope): string {
  const node = chance.pick(scope.nodes)
  const other = chance.pick(scope.nodes)
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
    [3, () => patternPredicate(chance, scope)],
    [2, () => existsPredicate(chance, scope)],
  ]
  if (scope.relationships.length > 0) {
    const relationship = chance.pick(scope.relationships)
    choices.push(
      [2, () => `${relationship}.since ${compare} ${chance.pick(['1', '$float', `${node}.num`])}`],
      [1, () => `type(${relationship}) = '${chance.pick(RELATIONSHIP_TYPES)}'`],
      [1, () => `${chance.pick(['startNode', 'endNode'])}(${relationship}) = ${node}`],
    )
  }
  if (scope.trails.length > 0) {
    const trail = chance.pick(scope.trails)
    choices.push(
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

/** A number or null. */
function number(chance: Chance, node: string, scope: Scope): string {
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

function step(chance: Chance): string {
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

/** Between two known names, or from one to anything. */
function patternPredicate(chance: Chance, scope: Scope): string {
  const end = chance.weighted([
    [3, `(${chance.pick(scope.nodes)})`],
    [1, '()'],
    [1, `(:${chance.pick(NODE_TYPES)})`],
    [0.5, '({flag: true})'],
  ] as const)
  const middle = chance.odds(0.3) ? `${step(chance)}()` : ''
  const text = `(${chance.pick(scope.nodes)})${middle}${step(chance)}${end}`
  return chance.odds(0.35) ? `NOT ${text}` : text
}

function existsPredicate(chance: Chance, scope: Scope): string {
  const node = chance.pick(scope.nodes)
  const where = chance.pick([
    '',
    ` WHERE e.num > ${node}.num`,
    ` WHERE e <> ${chance.pick(scope.nodes)}`,
    ' WHERE NOT e.flag',
    ` WHERE (e)${step(chance)}(${chance.pick(scope.nodes)})`,
  ])
  const keyword = chance.odds(0.5) ? 'MATCH ' : ''
  const more = chance.odds(0.25) ? `, (e)${step(chance)}(${chance.pick(scope.nodes)})` : ''
  return `${chance.odds(0.3) ? 'NOT ' : ''}EXISTS { ${keyword}(${node})${step(chance)}(e)${more}${where} }`
}
