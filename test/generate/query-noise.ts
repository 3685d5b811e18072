// Texts for the parser: bytes, tokens in any order, queries with pieces removed and inserted, and deep or long ones.
import { keywords } from '../../grammar/tokens.ts'
import { randomCondition } from './condition.ts'
import type { Random } from './random.ts'
import { randomRows } from './rows-query.ts'

const SIGNS = [
  ...[
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '<',
    '>',
    '-',
    '->',
    '<-',
    '--',
    '|',
    ':',
    '.',
    '..',
    ',',
    ';',
    '$',
    '$p',
    '`',
    '`a b`',
  ],
  ...[
    '*',
    '+',
    '/',
    '=',
    '<>',
    '<=',
    '=~',
    '!',
    '%',
    '&',
    '^',
    '/*',
    '*/',
    '//',
    '\n',
    ' ',
    "'",
    '"',
    "'a'",
    '"b"',
    '\\',
    '\\u',
  ],
  ...['0', '1', '-1', '2', '9223372036854775807', '0x', '0xF', '1.5', '.5', '1e', '1e9', '1.', '*1..2', '*', '*..'],
  ...['x', 'n', 'a', 'Person', 'é', '—', '\0', '\ud800', '\u{1F600}', '\u00a0', '\u2028'],
  ...[
    '(n)',
    '(a)-[:R]->(b)',
    '(n:A {x: 1})',
    '[x IN l | x]',
    'count(*)',
    'RETURN n',
    'MATCH (n)',
    'AS x',
    'exists {',
    'n {.*}',
  ],
  ...['graph.byName(', 'shortestPath(', 'date(', 'size(', 'collect(', 'all(x IN', 'reduce(s = 0, x IN'],
]
const PIECES = [...keywords.keys(), ...SIGNS]

const tokensOf = (text: string): string[] => text.match(/\s+|\w+|'[^']*'|->|<-|--|\.\.|[^\w\s]/gu) ?? [text]

export class Noise {
  private readonly random: Random
  private readonly corpus: readonly string[]
  constructor(random: Random, corpus: readonly string[]) {
    this.random = random
    this.corpus = corpus
  }

  text(): string {
    const { random } = this
    return random.weighted<() => string>([
      [2, () => this.bytes()],
      [3, () => this.soup()],
      [6, () => this.mutated(this.query())],
      [6, () => this.retokened(this.query())],
      [1, () => this.query()],
      [0.05, () => this.deep()],
      [0.02, () => this.long()],
    ])()
  }

  private query(): string {
    const { random } = this
    if (random.odds(0.75)) return random.pick(this.corpus)
    return random.odds(0.5) ? randomCondition(random).text : randomRows(random).text
  }

  private bytes(): string {
    const { random } = this
    const length = random.between(0, 60)
    const highest = random.pick([0x7f, 0xff, 0xffff])
    const units = Array.from({ length }, () => random.between(0, highest))
    if (highest === 0xff && random.odds(0.5)) return new TextDecoder().decode(Uint8Array.from(units))
    return String.fromCharCode(...units)
  }

  private soup(): string {
    const { random } = this
    const joint = random.pick([' ', ' ', ' ', ''])
    return Array.from({ length: random.between(1, 25) }, () => random.pick(PIECES)).join(joint)
  }

  private mutated(query: string): string {
    const { random } = this
    let text = query
    for (let edits = random.between(1, 4); edits > 0; edits--) {
      const at = random.between(0, text.length)
      const removed = random.pick([0, 0, 1, 2, 5, 15])
      const other = random.pick(this.corpus)
      const from = random.between(0, other.length)
      const inserted = random.pick(['', '', random.pick(PIECES), other.slice(from, from + random.between(1, 30))])
      text = text.slice(0, at) + inserted + text.slice(at + removed)
    }
    return text
  }

  /** Edits whole words, so that more of the text stays parseable. */
  private retokened(query: string): string {
    const { random } = this
    const tokens = tokensOf(query)
    for (let edits = random.between(1, 3); edits > 0 && tokens.length > 0; edits--) {
      const at = random.between(0, tokens.length - 1)
      const other = tokensOf(random.pick(this.corpus))
      const edit = random.weighted<() => void>([
        [2, () => tokens.splice(at, 1)],
        [3, () => tokens.splice(at, 1, random.pick(tokens))],
        [2, () => tokens.splice(at, 1, random.pick(other))],
        [1, () => tokens.splice(at, 0, random.pick(tokens))],
        [1, () => tokens.splice(at, 1, random.pick(PIECES))],
      ])
      edit()
    }
    return tokens.join('')
  }

  /** Nests one construct in itself. */
  private deep(): string {
    const { random } = this
    const [before, after] = random.pick([
      ['(', ')'],
      ['[', ']'],
      ['{a: ', '}'],
      ['NOT ', ''],
      ['-', ''],
      ['[x IN [1] | ', ']'],
      ['size([', '])'],
      ['CASE WHEN true THEN ', ' END'],
      ['all(x IN [1] WHERE ', ')'],
      ['EXISTS { MATCH (n) WHERE ', ' }'],
      ['COUNT { MATCH (n) WHERE ', ' }'],
      ['reduce(s = 0, x IN [1] | ', ')'],
      ['1 + ', ''],
      ['true AND ', ''],
      ['true XOR ', ''],
      ['1 < ', ''],
      ['', '.a'],
      ['', '[0]'],
      ['', ' IS NULL'],
    ] as const)
    const times = random.pick([10, 60, 190, 300, 1500, 5000])
    const inner = before.repeat(times) + random.pick(['1', 'true', 'n', '']) + after.repeat(times)
    return random.pick([
      `RETURN ${inner} AS x`,
      `MATCH (n) WHERE ${inner} RETURN n`,
      `MATCH (subject), (resource) WHERE ${inner}`,
    ])
  }

  /** Repeats one construct next to itself. */
  private long(): string {
    const { random } = this
    const times = random.pick([50, 200, 1000])
    const [before, piece, joint, after] = random.pick([
      ['MATCH ', '(a)-->(b)', ', ', ' RETURN 1'],
      ['MATCH (a)', '-->()', '', ' RETURN a'],
      ['RETURN ', '1 AS x', ', ', ''],
      ['RETURN [', "'abc'", ', ', ']'],
      ['RETURN {', 'a: 1', ', ', '}'],
      ['', 'RETURN 1 AS x', ' UNION ', ''],
      ['MATCH (n) WHERE ', 'n.x = 1', ' OR ', ' RETURN n'],
      ['MATCH (n', ':A', '', ') RETURN n'],
      ["RETURN '", 'ab', '', "' AS x"],
      ['MATCH (n) ', 'WITH n', ' ', ' RETURN n'],
      ['MATCH (n) ', 'OPTIONAL MATCH (n)-->()', ' ', ' RETURN n'],
      ['', 'CALL { RETURN 1 }', ' ', ' RETURN 1'],
      ['MATCH (n) RETURN ', 'n.x', ', ', ' ORDER BY n.x'],
      ['RETURN 1', '', ' ', ''],
      ['', '(', ' ', ''],
      ['/*', '*', '', ''],
    ] as const)
    return before + Array.from({ length: times }, () => piece).join(joint) + after
  }
}
