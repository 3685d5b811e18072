// Writes path patterns: chains of nodes and steps with labels, keys, properties, inline conditions, ranges and names.

import { EXTRA_LABELS, NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'
import type { Random } from './random.ts'
import { type GeneratedScope, type NamesInScope, someNodes } from './scope.ts'

/** The remaining cost of patterns for the reference interpreter, which tries every assignment. */
export interface Effort {
  steps: number
  /** Steps without an upper bound. */
  unbounded: number
}

const REFERENCE_EFFORT: Effort = { steps: 6, unbounded: 1 }

export class PathWriter {
  private readonly effort: Effort
  private readonly random: Random
  private readonly names: NamesInScope
  /** The intended type of a name. */
  private readonly types: Readonly<Record<string, string>>
  constructor(
    random: Random,
    names: NamesInScope,
    types: Readonly<Record<string, string>>,
    effort = { ...REFERENCE_EFFORT },
  ) {
    this.random = random
    this.names = names
    this.types = types
    this.effort = effort
  }

  /** A chain from one name to another (null: to any node), sometimes with a path name. */
  path(from: string, to: string | null, scope: GeneratedScope): string {
    const { random, effort } = this
    const wanted = random.weighted([
      [6, 1],
      [4, 2],
      [1, 3],
    ] as const)
    const length = Math.min(Math.max(effort.steps, 1), wanted)
    effort.steps -= length
    let text = this.node(from, scope)
    for (let step = 1; step <= length; step++) {
      text += this.step(scope) + (step === length && to ? this.node(to, scope) : this.anyNode(scope))
    }
    if (!random.odds(0.08)) return text
    const name = this.names.fresh('p')
    scope.paths.push(name)
    return `${name} = ${text}`
  }

  private anyNode(scope: GeneratedScope): string {
    const { random } = this
    if (random.odds(0.35)) return this.node(null, scope)
    if (random.odds(0.15) && scope.nodes.length > 0) return this.node(random.pick(scope.nodes), scope)
    return this.node(this.names.fresh('v'), scope)
  }

  node(name: string | null, scope: GeneratedScope): string {
    const { random } = this
    const known = [...scope.nodes]
    if (name && !someNodes(scope).includes(name)) scope.nodes.push(name)
    // Sometimes the label is that of another type than the requested one, which then grants nothing.
    const own = name ? this.types[name] : undefined
    const type = (): string => (own && random.odds(0.9) ? own : random.pick(NODE_TYPES))
    const labels = random.weighted<() => string>([
      [10, () => ''],
      [5, () => `:${type()}`],
      [0.5, () => `:${random.pick(EXTRA_LABELS)}`],
      [0.3, () => `:${type()}:${random.pick([...EXTRA_LABELS, ...NODE_TYPES])}`],
      [0.3, () => `:${type()}|${random.pick(EXTRA_LABELS)}`],
      [0.3, () => `:!${random.pick(EXTRA_LABELS)}`],
      [0.2, () => `:(${type()}|${random.pick(EXTRA_LABELS)})&!${random.pick([...NODE_TYPES, ...EXTRA_LABELS])}`],
      [0.1, () => ':%'],
      [0.1, () => ':Ghost'],
    ])()
    const map = random.odds(0.18) ? ` ${this.map(known)}` : ''
    const where = name && random.odds(0.03) ? ` WHERE ${name}.num ${random.pick(['>', '=', '<>'])} 1` : ''
    return `(${name ?? ''}${labels}${map}${where})`
  }

  /** Keys and properties for which an index may be used, with values of every kind; also from other variables. */
  private map(known: readonly string[]): string {
    const { random } = this
    const entry = random.weighted<() => string>([
      [3, () => `external_id: ${random.pick(["'n0'", "'n1'", "'n2'", "'n3'", '$id', "'ghost'"])}`],
      [2, () => `name: ${random.pick(["'a'", "'b'", '$text', '$claims.act.sub', "''"])}`],
      [2, () => `num: ${random.pick(['1', '1.0', '0', '-1', '1.5', '$number', '$float', '2 - 1'])}`],
      [1, () => `flag: ${random.pick(['true', 'false'])}`],
      [1, () => `odd: ${random.pick(['1', '1.0', "'1'", 'true', "['a', 'b']", '$unset', 'null', "'a'"])}`],
      [0.5, () => `type: '${random.pick(NODE_TYPES)}'`],
      [0.5, () => `tags: ${random.pick(["['a']", '[]', "['a', 'b']"])}`],
      [0.3, () => `external_id: ${random.pick(['1', '$unset', '$texts', "'n' + '1'"])}`],
      [0.3, () => 'missing: 1'],
      [known.length > 0 ? 1 : 0, () => `${sideways(random)}: ${random.pick(known)}.${sideways(random)}`],
    ])()
    return random.odds(0.15) ? `{${entry}, is_identity: ${random.odds(0.5)}}` : `{${entry}}`
  }

  step(scope: GeneratedScope): string {
    const { random } = this
    const types = random.weighted<string>([
      [4, `:${random.pick(RELATIONSHIP_TYPES)}`],
      [4, `:${random.pick(RELATIONSHIP_TYPES)}|${random.pick(RELATIONSHIP_TYPES)}`],
      [3, ''],
      [0.2, ':Z'],
    ])
    const range = random.weighted<() => string>([
      [7, () => ''],
      [1, () => '*2'],
      [1, () => '*..2'],
      [1, () => '*1..3'],
      [1, () => '*0..1'],
      [0.7, () => '*0..2'],
      [0.5, () => '*0'],
      [1, () => this.unbounded()],
    ])()
    const quantifier =
      range === ''
        ? random.weighted([
            [20, ''],
            [0.5, '{1,2}'],
            [0.5, '{2}'],
            [0.3, '{,2}'],
          ] as const)
        : ''
    const isTrail = range !== '' || quantifier !== ''
    const map = random.weighted<string>([
      [20, ''],
      [1, ' {since: 1}'],
      [0.5, " {role: 'a'}"],
      [0.3, ' {since: $number}'],
    ])
    let name = ''
    if (random.odds(0.2)) {
      name = this.names.fresh('r')
      ;(isTrail ? scope.trails : scope.relationships).push(name)
    }
    // A variable-length step accepts only alternatives of types.
    const stranger = !isTrail && types === '' && random.odds(0.05) ? `:!${random.pick(RELATIONSHIP_TYPES)}` : ''
    const where = name && !isTrail && random.odds(0.1) ? ` WHERE ${name}.since ${random.pick(['>', '='])} 1` : ''
    const inside = `${name}${types}${stranger}${range}${map}${where}`
    const body = inside ? `[${inside}]` : random.pick(['[]', ''])
    const arrow = random.weighted([
      [4, [`-${body}-`, '>']],
      [3, [`<-${body}-`, '']],
      [3, [`-${body}-`, '']],
    ] as const)
    return arrow.join('') + quantifier
  }

  private unbounded(): string {
    if (this.effort.unbounded === 0) return '*1..2'
    this.effort.unbounded -= 1
    return this.random.pick(['*', '*0..', '*1..', '*2..'])
  }
}

const sideways = (random: Random): string => random.pick(['num', 'name', 'odd', 'flag'])
