// Random models: definitions in layers, recursive ones among them, that use the names of random graphs.

import { EXTRA_LABELS, NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'
import type { Random } from './random.ts'

export interface GeneratedModel {
  readonly text: string
  /** The names of each layer: what a layer excludes or counts is in layers before it. */
  readonly layers: readonly (readonly string[])[]
}

/** Two or three layers of one to three definitions. */
export function randomModel(random: Random): GeneratedModel {
  const layers: string[][] = []
  const texts: string[] = []
  for (let layer = random.between(2, 3); layer > 0; layer--) {
    const before = layers.flat()
    const names = Array.from({ length: random.between(1, 3) }, (_, at) => `d${before.length + at}`)
    for (const name of names) texts.push(definition(name, names, before, random))
    layers.push(names)
  }
  return { text: texts.join('\n'), layers }
}

/** A condition over a model: its definitions in all places of a pattern. */
export function randomDerivedCondition(random: Random, { layers }: GeneratedModel): string {
  const names = layers.flat()
  const step = (from: string, to: string): string => derived(random.pick(names), from, to, random)
  const [s, r] = [`(subject:${random.pick(NODE_TYPES)})`, `(resource:${random.pick(NODE_TYPES)})`]
  const body = random.weighted<() => string>([
    [4, () => `MATCH ${step(s, r)}`],
    [2, () => `MATCH ${step(s, '(x)')}, ${random.odds(0.5) ? step('(x)', r) : stored('(x)', r, random)}`],
    [2, () => `MATCH ${stored(s, '(x)', random)} MATCH ${step('(x)', r)}`],
    [2, () => `MATCH ${s}, ${r} WHERE ${test(names, ['subject', 'resource'], random)}`],
    [1, () => `MATCH ${step(s, r)}, ${step('(subject)', '(resource)')}`],
    [1, () => `MATCH ${step(s, r)} OPTIONAL MATCH ${step('(resource)', '(o)')} WITH * WHERE o IS NULL OR o.num > 1`],
    [
      1,
      () =>
        `MATCH ${s} CALL (subject) { MATCH ${step('(subject)', r)} RETURN resource UNION MATCH ${stored('(subject)', r, random)} RETURN resource }`,
    ],
    [
      1,
      () =>
        `MATCH ${s}, ${r} WHERE COUNT { ${step('(subject)', '(c)')} } ${random.pick(['>', '='])} ${random.between(0, 2)} AND ${test(names, ['subject', 'resource'], random)}`,
    ],
    [1, () => `MATCH ${step(s, '(x)')} WITH subject, x MATCH ${step('(x)', r)}`],
  ])()
  return body
}

function definition(name: string, layer: readonly string[], before: readonly string[], random: Random): string {
  const ends = [end('u', random), end('d', random)]
  if (random.odds(0.35)) {
    const body = [alternative(before, before, random), ...continuations(name, random)].join(' UNION ')
    return `DEFINE ${ends[0]}-[:${name}]->${ends[1]} AS { ${body} }`
  }
  const alternatives = Array.from({ length: random.between(1, 3) }, (_, at) =>
    alternative(at === 0 && random.odds(0.8) ? before : [...before, ...layer], before, random),
  )
  return `DEFINE ${ends[0]}-[:${name}]->${ends[1]} AS { ${alternatives.join(' UNION ')} }`
}

/** Alternatives that continue the pairs of a definition at one end: a walk may be made of them. */
function continuations(name: string, random: Random): readonly string[] {
  const [still, moving] = random.pick([
    ['u', 'd'],
    ['d', 'u'],
  ] as const)
  const pair = still === 'u' ? `(u)-[:${name}]->(x)` : `(x)-[:${name}]->(d)`
  return Array.from({ length: random.between(1, 2) }, () => {
    const hop = stored('(x)', `(${moving})`, random, true)
    const text = random.pick([
      `MATCH ${pair}, ${hop}`,
      `MATCH ${hop} WHERE ${pair}`,
      `MATCH (${random.pick(['u', 'd', 'x', `:${random.pick(EXTRA_LABELS)}`])}) MATCH ${hop} MATCH ${pair}`,
      `MATCH ${pair} MATCH ${stored('(x)', '(y)', random, true)}, ${stored('(y)', `(${moving})`, random, true)}`,
    ])
    return withLabel(text, random)
  })
}

function end(variable: string, random: Random): string {
  return random.weighted([
    [6, `(${variable})`],
    [2, `(${variable}:${random.pick(NODE_TYPES)})`],
    [1, `(${variable}:${random.pick(NODE_TYPES)}|${random.pick(EXTRA_LABELS)})`],
  ])
}

/** `usable`: definitions for places where more pairs give more pairs; `before`: for all places. */
function alternative(usable: readonly string[], before: readonly string[], random: Random): string {
  const step = (from: string, to: string): string =>
    usable.length > 0 && random.odds(0.6) ? derived(random.pick(usable), from, to, random) : stored(from, to, random)
  const middle = random.odds(0.9) ? '(x)' : `(x:${random.pick(NODE_TYPES)})`
  const patterns = random.weighted<() => string>([
    [3, () => `MATCH ${step('(u)', '(d)')}`],
    [4, () => `MATCH ${step('(u)', middle)}, ${step('(x)', '(d)')}`],
    [2, () => `MATCH ${step('(d)', middle)}`],
    [2, () => `MATCH ${step('(u)', middle)} MATCH ${step('(x)', '(d)')}`],
    [1, () => `MATCH ${step('(d)', '(x)')}, ${step('(d)', '(y)')}`],
    // A hop of several relationships, which one walk may take at different places of it.
    [2, () => `MATCH ${step('(u)', middle)}, ${stored('(x)', stored('()', '(d)', random, true), random, true)}`],
    [1, () => `MATCH ${step('(u)', middle)} WITH u, x MATCH ${step('(x)', '(d)')}`],
    [1, () => `MATCH ${step('(u)', '(d)')} WITH ${random.pick(['u', 'd'])} MATCH ${stored('(u)', '(y)', random)}`],
    [1, () => `MATCH ${step('(u)', middle)} WITH x MATCH ${step('(x)', '(d)')}`],
    [1, () => `MATCH (:${random.pick(NODE_TYPES)}), ${step('(u)', middle)}, ${step('(x)', '(d)')}`],
    [
      1,
      () =>
        `MATCH (u) OPTIONAL MATCH ${before.length > 0 ? derived(random.pick(before), '(u)', '(x)', random) : stored('(u)', '(x)', random)}`,
    ],
  ])()
  const conditions: string[] = []
  if (usable.length > 0 && patterns.includes('(x') && random.odds(0.2)) {
    conditions.push(asPredicate(derived(random.pick(usable), '(u)', '(x)', random)))
  }
  if (random.odds(0.2)) conditions.push(test(usable, ['u', 'd'], random, before))
  if (random.odds(0.1))
    conditions.push(`${random.pick(['u', 'd'])}.num ${random.pick(['>', '<', '='])} ${random.between(0, 2)}`)
  if (random.odds(0.1)) conditions.push(`d.num ${random.pick(['>', '<='])} $n`)
  const isOptional = patterns.includes('OPTIONAL')
  if (conditions.length === 0) return withLabel(patterns, random)
  return withLabel(`${patterns} ${isOptional ? 'WITH * ' : ''}WHERE ${conditions.join(' AND ')}`, random)
}

/** The alternative, sometimes with a label of its own at one of its nodes. */
function withLabel(text: string, random: Random): string {
  if (random.odds(0.7)) return text
  const places = [...text.matchAll(/\((u|d|x)\)/g)]
  if (places.length === 0) return text
  const { index, 1: name } = random.pick(places)
  return `${text.slice(0, index)}(${name}:${random.pick([...NODE_TYPES, ...EXTRA_LABELS])})${text.slice(index + 3)}`
}

/** A condition on two variables with definitions in it. */
function test(
  usable: readonly string[],
  [a, b]: readonly [string, string],
  random: Random,
  excludable: readonly string[] = usable,
): string {
  const named = (names: readonly string[], from: string, to: string): string =>
    names.length > 0 ? derived(random.pick(names), from, to, random) : stored(from, to, random)
  const holds = (names: readonly string[], from: string, to: string): string => asPredicate(named(names, from, to))
  return random.weighted<() => string>([
    [2, () => holds(usable, `(${a})`, `(${b})`)],
    [2, () => `NOT ${holds(excludable, `(${a})`, `(${b})`)}`],
    [1, () => `(${holds(usable, `(${a})`, `(${b})`)} OR ${stored(`(${b})`, `(${a})`, random)})`],
    [1, () => `EXISTS { ${named(usable, `(${a})`, '(z)')} WHERE z.num > 0 OR ${holds(usable, '(z)', `(${b})`)} }`],
    [1, () => `NOT EXISTS { MATCH ${named(excludable, `(${a})`, '(z)')}, ${named(excludable, '(z)', `(${b})`)} }`],
    [1, () => `COUNT { ${named(excludable, `(${a})`, '(z)')} } > ${random.between(0, 1)}`],
    [1, () => `EXISTS { MATCH ${named(usable, `(${a})`, '(z)')} RETURN z LIMIT 1 }`],
    [
      1,
      () =>
        `EXISTS { MATCH ${named(excludable, `(${a})`, '(z)')} WITH count(*) AS c WHERE c ${random.pick(['=', '>'])} ${random.between(0, 1)} RETURN c }`,
    ],
  ])()
}

function derived(name: string, from: string, to: string, random: Random): string {
  const [left, right] = random.odds(0.7) ? ['-', '->'] : ['<-', '-']
  const [first, last] = left === '-' ? [from, to] : [to, from]
  const step = `${left}[:${name}]${right}`
  return random.weighted([
    [8, `${first}${step}${last}`],
    [1, `${first}${step}${quantifier(random)}${last}`],
    [1, `${first}(${repeatedPattern(step, random)})${quantifier(random)}${last}`],
  ])
}

/** A pattern predicate cannot contain a repeated pattern. */
function asPredicate(pattern: string): string {
  return pattern.includes(')(') ? `EXISTS { ${pattern} }` : pattern
}

function quantifier(random: Random): string {
  return random.pick(['+', '*', '{0,1}', '{1,2}', '{2}', '{2,}', '{,2}'])
}

/** One repetition: the step, alone or with another one, and a condition on its own nodes. */
function repeatedPattern(step: string, random: Random): string {
  const condition = random.pick(['', '', ' WHERE i.num > 0', ' WHERE j.num <= $n', ' WHERE i.num = j.num'])
  return random.weighted([
    [3, `(i)${step}(j)${condition}`],
    [2, `${stored('(i)', '(h)', random, true)}${step}(j)${condition}`],
    [2, `(i)${step}${stored('(j)', `(:${random.pick(NODE_TYPES)})`, random, true)}${condition}`],
    [1, `(i)${step}(i)`],
  ])
}

function stored(from: string, to: string, random: Random, isPlain = false): string {
  const type = random.pick(RELATIONSHIP_TYPES)
  return random.weighted([
    [4, `${from}-[:${type}]->${to}`],
    [2, `${from}<-[:${type}]-${to}`],
    [1, `${from}-[:${type}]-${to}`],
    [1, `${from}-[:${type}|${random.pick(RELATIONSHIP_TYPES)}]->${to}`],
    [isPlain ? 0 : 1, `${from}-[:${type}]->{1,2}${to}`],
  ])
}
