// The text of printed queries: one example of each construct, what is not printed, and names that try to leave their quotes.
import { describe, expect, test } from 'vitest'
import { type PrintedQuery, printQuery } from '../../../../src/bolt/print/print-query.ts'
import { compileModel } from '../../../../src/engine/definitions/model.ts'
import { compileText } from '../../../../src/engine/prepared-query.ts'
import { pushedQueryOf } from '../../../../src/engine/pushdown.ts'
import { type AccessQuery, allRows } from '../../../../src/engine/relation-query.ts'
import { err, ok, type Result } from '../../../../src/kernel/result.ts'

function printed(text: string, access: AccessQuery = allRows): Result<PrintedQuery, string> {
  const compiled = compileText(text, 'open', access === allRows ? 'rows' : 'condition')
  if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
  return printQuery(pushedQueryOf(compiled.value.bound, access))
}

function textOf(text: string, access?: AccessQuery): string {
  const result = printed(text, access)
  if (!result.ok) throw new Error(`${text}: not printable: ${result.error}`)
  return result.value.text
}

/** The text before the last lines, which return the columns. */
const bodyOf = (text: string): string => textOf(text).replace(/\nWITH [^\n]*\nRETURN [^\n]*$/, '')

const types = new Map([
  ['subject', 'Person'],
  ['resource', 'Car'],
])
const hasType = (node: string, name: string, parameter: string, first: number): string =>
  `(${node}:\`${name}\` AND coalesce(${node}.\`_verdigraph_type\`, reduce(x${first} = null, x${first + 1} IN [x${first + 2} IN labels(${node}) WHERE NOT toLower(x${first + 2}) STARTS WITH '_verdigraph'] | CASE WHEN x${first} IS NULL OR x${first + 1} < x${first} THEN x${first + 1} ELSE x${first} END)) = ${parameter})`

const bodies: readonly (readonly [query: string, body: string])[] = [
  ['MATCH (a:Person)-[r:KNOWS|LIKES]->(b) RETURN r', 'MATCH (v0)-[v2:`KNOWS`|`LIKES`]->(v1)\nWHERE (v0:`Person`)'],
  ['MATCH (a) RETURN a', 'MATCH (v0)\nWHERE NOT v0:`_VerdigraphState`'],
  [
    'MATCH (a)-[*0..2]->(b) RETURN a',
    'MATCH (v0)-[]->{0,2}(v1)\nWHERE NOT v0:`_VerdigraphState` AND NOT v1:`_VerdigraphState`',
  ],
  ['MATCH (a)--(b), (c:X&(Y|!Z)) RETURN a', 'MATCH (v0)-[]-(v1), (v3)\nWHERE (v3:(`X`&(`Y`|!(`Z`))))'],
  ['MATCH p = (a)<-[:T]-(b) RETURN p', 'MATCH v3 = (v0)<-[:`T`]-(v1)'],
  [
    'MATCH (a:A) OPTIONAL MATCH (a)-[:T]->(b {x: 1}) RETURN a',
    'MATCH (v0)\nWHERE (v0:`A`)\nOPTIONAL MATCH (v0)-[:`T`]->(v1)\nWHERE (v1.`x` = $p0)',
  ],
  ['MATCH (a)-[r:T*1..3 {x: 1}]->(b) RETURN b', 'MATCH (v0)-[v2:`T` WHERE (v2.`x` = $p0)]->{1,3}(v1)'],
  [
    'MATCH (a) ((x)-[r:T]->(y:B) WHERE x.n < y.n){2,} (b) RETURN b',
    'MATCH (v0) ((v6)-[v5:`T`]->(v7) WHERE ((v7:`B`) AND (CASE WHEN v6.`n` IS :: DURATION NOT NULL THEN 1 / $p0 = 1 ELSE v6.`n` < v7.`n` END))){2,} (v1)',
  ],
  [
    'MATCH SHORTEST 2 GROUPS (a)-[:T]->+(b) RETURN a',
    'MATCH SHORTEST 2 GROUPS ((v0)-[:`T`]->{1,}(v1))\nWHERE NOT v0:`_VerdigraphState` AND NOT v1:`_VerdigraphState`',
  ],
  [
    'MATCH SHORTEST 2 GROUPS ((a:A)-[r:T]->(b:B) WHERE r.x = 1) RETURN b',
    'MATCH ((v0)-[v2:`T`]->(v1) WHERE (v2.`x` = $p0))\nWHERE (v0:`A`) AND (v1:`B`)',
  ],
  [
    'MATCH (a:A), p = shortestPath((a)-[:T*..5]->(b:B)) RETURN a',
    'MATCH v3 = SHORTEST 1 ((v0)-[:`T`]->{1,5}(v1))\nWHERE (v0:`A`) AND (v1:`B`)',
  ],
  ['MATCH REPEATABLE ELEMENTS (a)-[:T]->(b)-[:T]->(c) RETURN c', 'MATCH (v0)-[:`T`]->(v1)\nMATCH (v1)-[:`T`]->(v3)'],
  ['UNWIND $list AS x RETURN x', 'UNWIND $p0 AS v0'],
  [
    'MATCH (:A)<--(a) UNWIND a.list AS x RETURN x',
    'MATCH (v0)<-[]-(v1)\nWHERE (v0:`A`)\nUNWIND (CASE WHEN v1.`list` IS :: LIST<ANY> THEN v1.`list` ELSE [1 / $p0] END) AS v3',
  ],
  [
    'MATCH (a:A) CALL (a) { MATCH (a)-->(b) RETURN count(b) AS n } RETURN n',
    'MATCH (v0)\nWHERE (v0:`A`)\nCALL (v0) {\nMATCH (v0)-[]->(v1)\nWITH count(v1) AS v3\nRETURN v3 AS v3\n}',
  ],
  [
    'MATCH (a:A) OPTIONAL CALL (a) { MATCH (a)-->(b) RETURN b } RETURN b',
    'MATCH (v0)\nWHERE (v0:`A`)\nOPTIONAL CALL (v0) {\nMATCH (v0)-[]->(v1)\nWITH v1 AS v1\nRETURN v1 AS v3\n}',
  ],
  [
    'MATCH (a:A) CALL (a) { MATCH (a)-->(b) WITH a, count(b) AS n RETURN n } RETURN n',
    'MATCH (v0)\nWHERE (v0:`A`)\nCALL (v0) {\nMATCH (v0)-[]->(v1)\nWITH v0 AS x0, count(v1) AS v3\nWITH v3 AS v3\nRETURN v3 AS v3\n}',
  ],
  [
    'MATCH (a:A) WHERE EXISTS { (a)-[:T]->(:B) } AND COUNT { (a)-->() } > 2 RETURN a',
    'MATCH (v0)\nWHERE (v0:`A`) AND EXISTS { MATCH (v0)-[:`T`]->(v1)\nWHERE (v1:`B`) } AND (COUNT { MATCH (v0)-[]->(v3) } > $p0)',
  ],
  [
    'MATCH (a:A) WHERE a.flag RETURN a',
    'MATCH (v0)\nWHERE (v0:`A`) AND (CASE WHEN v0.`flag` IS :: BOOLEAN THEN v0.`flag` ELSE 1 / $p0 = 1 END)',
  ],
  [
    'MATCH (a:A) WHERE NOT a.x = $x.y.z OR a.y IS NULL RETURN a',
    'MATCH (v0)\nWHERE (v0:`A`) AND ((NOT (v0.`x` = $p0)) OR (v0.`y` IS NULL))',
  ],
  ["MATCH (a:A) WHERE a.name =~ 'x.*' RETURN a", 'MATCH (v0)\nWHERE (v0:`A`) AND (v0.`name` =~ $p0)'],
]

test.each(bodies)('prints %s', (query, body) => {
  expect(bodyOf(query)).toBe(body)
})

const wholes: readonly (readonly [query: string, text: string])[] = [
  [
    'MATCH (a:A) RETURN a.x AS x ORDER BY x DESC SKIP 1 LIMIT $n',
    'MATCH (v0)\nWHERE (v0:`A`)\nWITH v0.`x` AS v1\nORDER BY v1 DESC\nSKIP $p0\nLIMIT $p1\nRETURN v1 AS c0',
  ],
  [
    'MATCH (a:A) WITH a, count(*) AS n, collect(a.x) AS xs WHERE n > 1 RETURN DISTINCT a, n, 3 IN xs AS found',
    'MATCH (v0)\nWHERE (v0:`A`)\nWITH v0 AS v0, count(*) AS v1, collect(v0.`x`) AS v2\nWHERE (v1 > $p0)\nWITH DISTINCT v0 AS v0, v1 AS v1, ($p1 IN v2) AS v3\nRETURN v0 AS c0, v1 AS c1, v3 AS c2',
  ],
  [
    'MATCH (a:A) RETURN a.x AS x UNION ALL MATCH (b:B) RETURN b.y AS x',
    'CALL () {\nMATCH (v0)\nWHERE (v0:`A`)\nWITH v0.`x` AS v1\nRETURN v1 AS v4\nUNION ALL\nMATCH (v2)\nWHERE (v2:`B`)\nWITH v2.`y` AS v3\nRETURN v3 AS v4\n}\nRETURN v4 AS c0',
  ],
  [
    'MATCH (a:A) RETURN [(a)-->(b) | b.x] AS xs, size(nodes(null)) AS n',
    'MATCH (v0)\nWHERE (v0:`A`)\nWITH COLLECT { MATCH (v0)-[]->(v1)\nWITH v1.`x` AS v3\nRETURN v3 AS x0 } AS v4, $p0 AS v5\nRETURN v4 AS c0, v5 AS c1',
  ],
  [
    'MATCH ()-[r]->(a) RETURN type(r) AS t, id(a) AS i, elementId(r) AS e, a.is_identity AS x, a.update_time AS u',
    'MATCH (v0)-[v2]->(v1)\nWITH type(v2) AS v3, (id(v1) + 1) AS v4, coalesce(v2.`_verdigraph_id`, toString(id(v2) + 1)) AS v5, (CASE WHEN v1 IS NULL THEN null ELSE coalesce(v1.`_verdigraph_identity`, false) = true END) AS v6, coalesce(v1.`_verdigraph_updated`, v1.`update_time`) AS v7\nRETURN v3 AS c0, v4 AS c1, v5 AS c2, v6 AS c3, v7 AS c4',
  ],
]

test.each(wholes)('prints the whole of %s', (query, text) => {
  expect(textOf(query)).toBe(text)
})

const MODEL = `
DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) }
DEFINE (u:User)-[:reads]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (u)-[:in]->(g)-[:VIEWER]->(d) }
DEFINE (u:User)-[:inherits]->(d) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:inherits]->(f) }
DEFINE (u:User)-[:leaps]->(d) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (d)-[:A]->()-[:B]->(f) WHERE (u)-[:leaps]->(f) }
DEFINE (u:User)-[:approves]->(d) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:A]->(x), (d)-[:B]->(y) WHERE (u)-[:approves]->(x) AND (u)-[:approves]->(y)
}`

/** The body of a condition over the model, for a check or for a search of resources. */
function derivedText(text: string, returns: 'exists' | { readonly nodesOf: string }): Result<string, string> {
  const model = compileModel(MODEL)
  if (!model.ok) throw new Error(model.error[0]!.message)
  const compiled = compileText(text, 'open', 'condition', model.value)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
  const fixed = returns === 'exists' ? ['subject', 'resource'] : ['subject']
  const printed = printQuery(pushedQueryOf(compiled.value.bound, { fixed, returns, types: new Map() }))
  return printed.ok ? ok(printed.value.text.replace(/\nWITH (?:1|DISTINCT)[\s\S]*$/, '')) : printed
}

const linesOf = (text: Result<string, string>): readonly string[] => (text.ok ? text.value.split('\n') : [text.error])

describe('definitions', () => {
  test('a step between two fixed nodes is a condition', () => {
    const text = derivedText('MATCH (subject)-[:in]->(resource)', 'exists')
    expect(linesOf(text)).toEqual([
      'MATCH (v0), (v1)',
      'WHERE (v1.`external_id` = $p0) AND (v0.`external_id` = $p1) AND NOT v0:`_VerdigraphState` AND NOT v1:`_VerdigraphState` AND (EXISTS {',
      'MATCH (v0)-[:`MEMBER`]->(v1)',
      'WHERE (v0:`User`) AND (v1:`Group`)',
      'RETURN 1 AS x0',
      '})',
    ])
  })

  test('a step from one fixed node gives each node at its other end once', () => {
    const text = derivedText('MATCH (subject)-[:reads]->(resource)', { nodesOf: 'resource' })
    expect(linesOf(text)).toEqual([
      'MATCH (v0)',
      'WHERE (v0.`external_id` = $p0) AND NOT v0:`_VerdigraphState`',
      'CALL (v0) {',
      'MATCH (v0)-[:`OWNER`]->(v1)',
      'WHERE (v0:`User`) AND (v1:`Doc`)',
      'RETURN DISTINCT v1 AS v1',
      'UNION',
      'MATCH (v0)',
      'WHERE (v0:`User`)',
      'CALL (v0) {',
      'MATCH (v0)-[:`MEMBER`]->(v3)',
      'WHERE (v0:`User`) AND (v3:`Group`)',
      'RETURN DISTINCT v3 AS v3',
      '}',
      'MATCH (v3)-[:`VIEWER`]->(v1)',
      'WHERE (v1:`Doc`)',
      'RETURN DISTINCT v1 AS v1',
      '}',
    ])
  })

  test('a recursive definition that is a walk gives each node at its end once', () => {
    const text = derivedText('MATCH (subject)-[:inherits]->(resource)', { nodesOf: 'resource' })
    expect(linesOf(text)).toEqual([
      'MATCH (v0)',
      'WHERE (v0.`external_id` = $p0) AND NOT v0:`_VerdigraphState`',
      'CALL (v0) {',
      'MATCH (v0)-[:`OWNER`]->(v2)',
      'WHERE (v0:`User`)',
      'CALL (v2) {',
      'MATCH (v2) ((v4)<-[v7:`PARENT`]-(v5) WHERE (v4:`Folder`)){0,} (v1)',
      'RETURN DISTINCT v1 AS v1',
      '}',
      'RETURN DISTINCT v1 AS v1',
      '}',
    ])
  })

  test('stored patterns wait for the nodes that a step reaches', () => {
    const text = derivedText('MATCH (subject)-[:in]->(g)-[:VIEWER]->(resource)', { nodesOf: 'resource' })
    expect(linesOf(text)).toEqual([
      'MATCH (v0)',
      'WHERE (v0.`external_id` = $p0) AND NOT v0:`_VerdigraphState`',
      'CALL (v0) {',
      'MATCH (v0)-[:`MEMBER`]->(v1)',
      'WHERE (v0:`User`) AND (v1:`Group`)',
      'RETURN DISTINCT v1 AS v1',
      '}',
      'MATCH (v1)-[:`VIEWER`]->(v3)',
    ])
  })

  test('an optional step is an optional call', () => {
    const text = derivedText('MATCH (subject), (resource) OPTIONAL MATCH (subject)-[:in]->(g)', 'exists')
    expect(linesOf(text)).toEqual([
      'MATCH (v0), (v1)',
      'WHERE (v1.`external_id` = $p0) AND (v0.`external_id` = $p1) AND NOT v0:`_VerdigraphState` AND NOT v1:`_VerdigraphState`',
      'OPTIONAL CALL (v0) {',
      'MATCH (v0)',
      'WHERE (v0 IS NOT NULL)',
      'CALL (v0) {',
      'MATCH (v0)-[:`MEMBER`]->(v2)',
      'WHERE (v0:`User`) AND (v2:`Group`)',
      'RETURN DISTINCT v2 AS v2',
      '}',
      'RETURN v2 AS v2',
      '}',
    ])
  })

  test('another recursion is not printed', () => {
    expect(derivedText('MATCH (subject)-[:approves]->(resource)', 'exists')).toEqual(err('a definition with a table'))
    const leaps = derivedText('MATCH (subject)-[:leaps]->(resource)', 'exists')
    expect(leaps).toEqual(err('a walk with hops of several relationships'))
  })
})

test('a check compares both fixed variables with parameters, and stops at the first row', () => {
  const check = printed('MATCH (subject)-[:OWNS]->(resource)', {
    fixed: ['subject', 'resource'],
    returns: 'exists',
    types,
  })
  if (!check.ok) throw new Error(check.error)
  expect(check.value.text).toBe(
    `MATCH (v0)-[:\`OWNS\`]->(v1)\nWHERE ${hasType('v1', 'Car', '$p0', 0)} AND (v1.\`external_id\` = $p1) AND ${hasType('v0', 'Person', '$p2', 3)} AND (v0.\`external_id\` = $p3)\nWITH 1 AS found\nLIMIT 1\nRETURN count(*) > 0 AS found`,
  )
  const { parameters, columns, propertyNames, graph } = check.value
  expect(
    [...parameters].map(([name, { expression, takes }]) => [
      name,
      takes,
      'name' in expression ? expression.name : expression,
    ]),
  ).toEqual([
    ['p0', 'any', { kind: 'constant', value: 'Car' }],
    ['p1', 'any', 'given resource'],
    ['p2', 'any', { kind: 'constant', value: 'Person' }],
    ['p3', 'any', 'given subject'],
  ])
  expect([columns, propertyNames, graph]).toEqual([['found'], [], 0])
})

test('a search returns each node once, in the order of ids, after a node', () => {
  const text = textOf('MATCH (subject)-[:OWNS]->(resource)', {
    fixed: ['subject'],
    returns: { nodesOf: 'resource' },
    types,
  })
  expect(
    text.endsWith('\nWITH DISTINCT v1 AS node\nWHERE id(node) > $after\nRETURN node\nORDER BY id(node)\nLIMIT $enough'),
  ).toBe(true)
})

test('a restriction that holds only at the end is a condition of the last projection', () => {
  const query = 'MATCH (subject)-[:OWNS]->(resource) WITH subject, resource ORDER BY subject, resource LIMIT 3'
  const text = textOf(query, { fixed: ['subject'], returns: 'exists', types })
  expect(text).toMatch(/\nLIMIT \$p0\nWITH v0 AS v0, v1 AS v1\nWHERE \(.*external_id.* = \$p\d\).*\nWITH 1 AS found/)
})

test('a parameter is the value of the longest expression that reads no row', () => {
  const result = printed(
    'MATCH (a:A) WHERE a.x IN $list AND a.y > $token.claims.level + 1 AND a.z < timestamp() RETURN a',
  )
  if (!result.ok) throw new Error(result.error)
  expect([...result.value.parameters.values()].map(({ expression, takes }) => [expression.kind, takes])).toEqual([
    ['parameter', 'list'],
    ['binary', 'scalar'],
    ['function', 'scalar'],
  ])
  expect(result.value.text).toContain('WHERE (v0:`A`) AND (v0.`x` IN $p0) AND (v0.`y` > $p1) AND (v0.`z` < $p2)')
  expect(result.value.propertyNames).toEqual(['x', 'y', 'z'])
})

const refused: readonly (readonly [query: string, reason: string])[] = [
  ['MATCH (a:A) RETURN properties(a) AS x', 'all properties of an element'],
  ['MATCH (a:A) RETURN a.property AS x', 'all properties of an element'],
  ['MATCH (a:A) RETURN a {.*} AS x', 'all properties of an element'],
  ['MATCH (a:A) RETURN keys(a) AS x', 'the function keys'],
  ["MATCH (a:A) RETURN graph.metadata(a, 'x', 'source') AS x", 'the function graph.metadata'],
  ['MATCH (a:A) WHERE rand() < 0.5 RETURN a', 'the function rand'],
  ['MATCH (a:A) RETURN toInteger(a.x) AS x', 'the function toInteger'],
  ['MATCH (a:A) RETURN avg(a.x) AS x', 'the aggregate avg'],
  ['MATCH (a:A) RETURN a[$key] = 1 AS x, a[a.key] AS y', 'an index of unknown kind'],
  ['MATCH (a:A) WITH a LIMIT 3 RETURN a', 'SKIP or LIMIT without an order of all columns'],
  ['MATCH (a:A) RETURN collect(a.x)[0] AS x', 'a list without a defined order'],
  ['MATCH (a:A) RETURN DISTINCT a.x / 2 AS x', 'groups of computed numbers'],
  ['MATCH (a:A) WHERE a.x IS :: INTEGER RETURN a', 'a test of a type'],
  ["MATCH (a:A) WHERE a.x =~ '(a*)*b' RETURN a", 'a regular expression'],
  ["MATCH (a:A) WHERE a.x =~ '[a&&b]' RETURN a", 'a regular expression'],
  ['MATCH (a:A) WHERE a.x =~ a.y RETURN a', 'a regular expression'],
  ['MATCH (a:A) OPTIONAL MATCH (b:B) WHERE COUNT { (c) } < 1 RETURN b', 'a subquery in OPTIONAL MATCH'],
  ['MATCH p = SHORTEST 1 (a)-[:T]->+(b) RETURN p', 'the path of a path selector'],
  ["USE graph.byName('north') MATCH (a) RETURN a", 'several graphs'],
  ['MATCH (a:A) RETURN a.`_verdigraph_details` AS x', 'a reserved property'],
  ['MATCH (a:_VerdigraphState) RETURN a', 'a reserved label'],
]

test.each(refused)('does not print %s', (query, reason) => {
  const other = query.startsWith('USE') ? `${query} UNION MATCH (a:A) RETURN a` : query
  expect(printed(other)).toEqual({ ok: false, error: reason })
})

test('the index of the graph is that of USE', () => {
  const result = printed("USE graph.byName('north') MATCH (a:A) RETURN a")
  expect(result.ok && result.value.graph).toBe(1)
})

/** Names in back-ticks, as an author writes them: a back-tick within is doubled. */
const hostile: readonly string[] = [
  'A`) DETACH DELETE n //',
  '`',
  '``',
  "a' OR 1=1",
  'a"b',
  'a\nRETURN 1',
  'a\u2028b',
  'a//b',
  'a/*b*/',
  '\u00b4\uff40\u02cb',
  '$p0',
  '{}',
  ';',
  'é\u0301',
]
const places: readonly ((name: string) => string)[] = [
  (name) => `MATCH (a:${name}) RETURN a`,
  (name) => `MATCH (a)-[:${name}]->() RETURN a`,
  (name) => `MATCH (a:A {${name}: 1}) RETURN a`,
  (name) => `MATCH (a:A) WHERE a.${name} = 1 RETURN a`,
  (name) => `MATCH (a:A) RETURN {${name}: a.x} AS m`,
  (name) => `MATCH (a:A) RETURN a.x AS ${name}`,
  (name) => `MATCH (a:A) WITH a.x AS ${name} RETURN ${name}`,
  (name) => `MATCH (a:A) WHERE a.x = $${name} RETURN a`,
]

test.each(hostile)('the name %j stays within its quotes', (name) => {
  const quotedName = `\`${name.replaceAll('`', '``')}\``
  /** The text without the contents of its quotes. */
  const outside = (text: string): string => text.replaceAll(/`(?:[^`]|``)*`/g, '`')
  for (const place of places) {
    const text = textOf(place(quotedName))
    expect(outside(text)).toBe(outside(textOf(place('plain'))))
  }
})

test.each(['\\u0060) DETACH DELETE n //', 'a\\', '\\'])(
  'the name %j is not printed: an escape could end its quotes',
  (name) => {
    // The first five places name something of the graph.
    for (const place of places.slice(0, 5)) {
      expect(printed(place(`\`${name}\``))).toEqual({ ok: false, error: 'a name with a backslash' })
    }
    for (const place of places.slice(5)) expect(textOf(place(`\`${name}\``))).not.toContain('\\')
  },
)

test('values never become text', () => {
  const query = "MATCH (a:A) WHERE a.x = '` \\u0027 }' AND a.y IN ['x\\'y', 12345, 1.25] AND a.z = {k: 'v'} RETURN a"
  expect(textOf(query)).toBe(
    'MATCH (v0)\nWHERE (v0:`A`) AND (v0.`x` = $p0) AND (v0.`y` IN $p1) AND (v0.`z` = $p2)\nWITH v0 AS v0\nRETURN v0 AS c0',
  )
})
