// Exclusions that a null turns off are found by execution: a policy that denies while a value is present and equal, and grants
// while it is absent, must be warned of; one that denies in both cases must not. A suggested text must deny in both cases.
import { beforeAll, describe, expect, test } from 'vitest'
import type { Authorizer } from '../../../src/authorizer/authorizer.ts'
import { openExclusionsIn } from '../../../src/engine/open-exclusions.ts'
import { writeJson } from '../../../src/kernel/json/json.ts'
import { readScenarioText } from '../../../src/scenarios/load-scenario.ts'
import { openScenario } from '../../../src/scenarios/run.ts'

const BAN = '(subject)-[k:KNOWS]->(resource)'

/** The clauses after MATCH, what is compared in place of `{}`, and the name of the nullable value, if it has one. */
const forms: readonly (readonly [form: string, left: string, value?: string])[] = [
  // Names that clauses before the exclusion bind, and that are repeated in it.
  [`WITH *, N AS v WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app', 'v'],
  [`WITH *, $q AS v WHERE NOT EXISTS { MATCH ${BAN} WHERE {} RETURN 1 AS one }`, 'k.app', 'v'],
  [`UNWIND [$q] AS v WITH * WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app', 'v'],
  [`CALL (resource) { RETURN resource.filter AS v } WITH * WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app', 'v'],
  [`CALL () { RETURN $q AS v } WITH * WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app', 'v'],
  [`WITH *, resource AS doc WHERE NOT EXISTS { (subject)-[k:KNOWS]->(doc) WHERE {} }`, 'k.app', 'doc.filter'],
  [`UNWIND [resource] AS d WITH * WHERE NOT EXISTS { (subject)-[k:KNOWS]->(d) WHERE {} }`, 'k.app', 'd.filter'],
  [
    `MATCH (subject)-[:KNOWS]->(d) WHERE d = resource AND NOT EXISTS { (subject)-[k:KNOWS]->(d) WHERE {} }`,
    'k.app',
    'd.filter',
  ],
  [
    `CALL (subject, resource) { MATCH (subject)-[:KNOWS]->(d) WHERE d = resource RETURN d } WITH * WHERE NOT EXISTS { (subject)-[k:KNOWS]->(d) WHERE {} }`,
    'k.app',
    'd.filter',
  ],
  [
    `OPTIONAL MATCH (subject)-[:KNOWS]->(d) WHERE d = resource WITH * WHERE NOT EXISTS { ${BAN} WHERE {} }`,
    'k.app',
    'd.filter',
  ],
  [`WITH *, {a: N} AS m WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app', 'm.a'],
  // Names of which the last is another one.
  [
    `WITH subject, resource, EXISTS { ${BAN} WHERE {} } AS a WITH subject, resource, NOT a AS ok, false AS a WITH * WHERE ok`,
    'k.app',
  ],
  [
    `WITH *, NOT EXISTS { ${BAN} WHERE {} } AS ok WITH subject, resource, ok AS fine, true AS ok WITH * WHERE fine`,
    'k.app',
  ],
  [
    `OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, k IS NULL AS ok OPTIONAL MATCH (subject)-[k:NONE]->() WITH * WHERE ok`,
    'k.app',
  ],
  [
    `CALL (subject, resource) { WITH subject, resource, EXISTS { ${BAN} WHERE {} } AS a RETURN NOT a AS ok } WITH *, 1 AS a WHERE ok`,
    'k.app',
  ],
  // A test for null elsewhere.
  [`WITH *, N IS NULL AS missing WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app'],
  [`WHERE (N IS NULL OR N IS NOT NULL) AND NOT EXISTS { ${BAN} WHERE {} }`, 'k.app'],
  [`WHERE NOT (N IS NOT NULL AND resource.wheels > 3) AND NOT EXISTS { ${BAN} WHERE {} }`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE N IS NULL AND k.level > 5 OR {} }`, 'k.app'],
  [`WHERE CASE WHEN resource.wheels > 3 THEN N IS NOT NULL ELSE NOT EXISTS { ${BAN} WHERE {} } END`, 'k.app'],
  [`WHERE N IS NOT NULL AND NOT EXISTS { ${BAN} WHERE {} }`, 'k.app'],
  [`WITH * WHERE N IS NOT NULL WITH * WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE N IS NULL OR {} }`, 'k.app'],
  [`WHERE CASE WHEN N IS NULL THEN false ELSE NOT EXISTS { ${BAN} WHERE {} } END`, 'k.app'],
  // Aggregates and reduce.
  [`MATCH ${BAN} WITH subject, resource, sum(CASE WHEN {} THEN 1 ELSE 0 END) AS n WHERE n = 0`, 'k.app'],
  [`MATCH ${BAN} WITH subject, resource, max(CASE WHEN {} THEN 1 ELSE 0 END) AS n WHERE n < 1`, 'k.app'],
  [`MATCH ${BAN} WITH subject, resource, count(CASE WHEN {} THEN 1 END) AS n WHERE n = 0`, 'k.app'],
  [`MATCH ${BAN} WITH subject, resource, collect(CASE WHEN {} THEN k END) AS l WHERE l = []`, 'k.app'],
  [`MATCH ${BAN} WITH subject, resource, collect({}) AS l WHERE NOT true IN l`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, max(k.level) AS n WHERE n IS NULL`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, max(k.level) AS n WHERE coalesce(n, 0) = 0`, 'k.app'],
  ['WHERE reduce(banned = false, x IN resource.tags | CASE WHEN {} THEN true ELSE banned END) = false', 'x'],
  ['WHERE reduce(n = 0, x IN resource.tags | n + CASE WHEN {} THEN 1 ELSE 0 END) = 0', 'x'],
  ['WHERE size(reduce(l = [], x IN resource.tags | CASE WHEN {} THEN l + x ELSE l END)) = 0', 'x'],
  // Conditional queries.
  ['CALL (*) { WHEN {} THEN { RETURN false AS ok } ELSE { RETURN true AS ok } } WITH * WHERE ok', 'subject.app'],
  ['CALL (*) { WHEN {} THEN { MATCH (x:None) RETURN 1 AS one } ELSE { RETURN 1 AS one } } WITH *', 'subject.app'],
  ['WHERE EXISTS { WHEN {} THEN { MATCH (x:None) RETURN 1 AS one } ELSE { RETURN 1 AS one } }', 'subject.app'],
  [
    `CALL (*) { WHEN EXISTS { ${BAN} WHERE {} } THEN RETURN false AS ok ELSE RETURN true AS ok } WITH * WHERE ok`,
    'k.app',
  ],
  ['CALL (*) { WHEN NOT {} THEN { RETURN true AS ok } ELSE { RETURN false AS ok } } WITH * WHERE ok', 'subject.app'],
  // Lists and conversions of the value, and its place in a pattern.
  [`WHERE NOT EXISTS { UNWIND N + [] AS x MATCH ${BAN} WHERE k.app = x RETURN k }`, ''],
  [`WHERE NOT EXISTS { UNWIND split(N, ',') AS x MATCH ${BAN} WHERE k.app = x RETURN k }`, ''],
  [`WHERE NOT EXISTS { MATCH ${BAN} UNWIND [x IN split(N, ',') WHERE x = k.app] AS y RETURN y }`, ''],
  [`WHERE NOT EXISTS { ${BAN} WHERE toBoolean(replace(N, 'crm', 'true')) }`, ''],
  [`WHERE NOT EXISTS { ${BAN} WHERE toBoolean(toString({})) }`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE toString({}) = 'true' }`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE k.app IN split(N, ',') }`, ''],
  [`WHERE NOT EXISTS { ${BAN} WHERE nullIf(k.app, N) IS NULL }`, ''],
  ['WHERE nullIf(subject.app, N) IS NOT NULL', ''],
  [`WITH *, [${BAN} | N] AS l WHERE NOT 'crm' IN l`, ''],
  ['WHERE NOT EXISTS { (subject)-[k:KNOWS {app: N}]->(resource) }', ''],
  ['WHERE NOT EXISTS { (subject)-[:KNOWS {app: N}]->(resource) }', ''],
  ['WHERE NOT (subject)-[:KNOWS {app: N}]->(resource)', ''],
  ['WHERE NOT EXISTS { (subject)-[:KNOWS]->(:Doc {app: N}) }', ''],
  // Simple CASE: a null takes the alternative after all values.
  ["WHERE CASE N WHEN 'crm' THEN false ELSE true END", ''],
  ['WHERE CASE subject.app WHEN N THEN false ELSE true END', ''],
  ["WHERE CASE N WHEN 'x' THEN true WHEN 'crm' THEN false ELSE true END", ''],
  ["WHERE NOT CASE N WHEN 'crm' THEN true ELSE false END", ''],
  ["WHERE CASE N WHEN 'x' THEN true ELSE false END", ''],
  ["WHERE CASE N WHEN 'crm' THEN false WHEN 'x' THEN true END", ''],
  ["WHERE CASE N WHEN IS NULL THEN false WHEN 'crm' THEN false ELSE true END", ''],
  ["WHERE CASE N WHEN 'crm' THEN resource.wheels > 3 ELSE false END", ''],
  // Names of names, and of paths.
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, k AS ban WHERE ban IS NULL`, 'k.app'],
  [
    `OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, count(k) AS n WITH subject, resource, n AS bans WHERE bans = 0`,
    'k.app',
  ],
  [`WITH subject, resource, EXISTS { ${BAN} WHERE {} } AS a WITH subject, resource, a AS b WHERE NOT b`, 'k.app'],
  [`OPTIONAL MATCH p = ${BAN} WHERE {} WITH subject, resource, p WHERE p IS NULL`, 'k.app'],
  // Patterns and subqueries.
  [`WHERE NOT EXISTS { ${BAN} WHERE {} }`, 'k.app'],
  [`WHERE NOT EXISTS { MATCH ${BAN} WHERE {} RETURN k }`, 'k.app'],
  [`WHERE NOT EXISTS { MATCH ${BAN} WITH k WHERE {} RETURN k }`, 'k.app'],
  ['WHERE NOT EXISTS { (subject)-[k:KNOWS WHERE {}]->(resource) }', 'k.app'],
  ['WHERE NOT EXISTS { (subject) ((x)-[k:KNOWS WHERE {}]->(y)){1,2} (resource) }', 'k.app'],
  [`WHERE EXISTS { ${BAN} WHERE {} } = false`, 'k.app'],
  [`WHERE EXISTS { ${BAN} WHERE {} } <> true`, 'k.app'],
  [`WHERE EXISTS { ${BAN} WHERE {} } XOR true`, 'k.app'],
  [`WHERE true XOR EXISTS { ${BAN} WHERE {} }`, 'k.app'],
  [`WHERE EXISTS { ${BAN} WHERE {} } XOR resource.open`, 'k.app'],
  [`WHERE EXISTS { ${BAN} WHERE {} } <> resource.open`, 'k.app'],
  [`WHERE EXISTS { ${BAN} WHERE {} } IN [false]`, 'k.app'],
  [`WHERE NOT coalesce(EXISTS { ${BAN} WHERE {} }, false)`, 'k.app'],
  [`WHERE toString(EXISTS { ${BAN} WHERE {} }) = 'false'`, 'k.app'],
  [`WHERE NOT (resource.wheels > 3 OR EXISTS { ${BAN} WHERE {} })`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE k.app = 'crm' AND {} }`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE NOT NOT {} }`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE EXISTS { (subject)-[k]->() WHERE {} } }`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE CASE WHEN {} THEN true ELSE false END }`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE {} } = 0`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE {} } < 1`, 'k.app'],
  [`WHERE NOT COUNT { ${BAN} WHERE {} } > 0`, 'k.app'],
  [`WHERE 1 > COUNT { ${BAN} WHERE {} }`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE {} } <> 1`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE {} } + 1 = 1`, 'k.app'],
  [`WHERE 2 - COUNT { ${BAN} WHERE {} } * 2 > 1`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE {} } < resource.wheels`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE {} } IN [0]`, 'k.app'],
  [`WHERE COLLECT { MATCH ${BAN} WHERE {} RETURN k.app } = []`, 'k.app'],
  [`WHERE size(COLLECT { MATCH ${BAN} WHERE {} RETURN k.app }) = 0`, 'k.app'],
  [`WHERE isEmpty(COLLECT { MATCH ${BAN} WHERE {} RETURN k.app })`, 'k.app'],
  [`WHERE head(COLLECT { MATCH ${BAN} WHERE {} RETURN k.app }) IS NULL`, 'k.app'],
  [`WHERE NOT 'crm' IN COLLECT { MATCH ${BAN} WHERE {} RETURN k.app }`, 'k.app'],
  [`WHERE size([${BAN} WHERE {} | k.app]) = 0`, 'k.app'],
  [`WHERE [${BAN} WHERE {} | k.app] = []`, 'k.app'],
  // Lists.
  ['WHERE size([x IN resource.tags WHERE {}]) = 0', 'x'],
  ['WHERE [x IN resource.tags WHERE {}] = []', 'x'],
  ['WHERE NOT [x IN resource.tags WHERE {}] <> []', 'x'],
  ['WHERE isEmpty([x IN resource.tags WHERE {}])', 'x'],
  ['WHERE [x IN resource.tags WHERE {}][0] IS NULL', 'x'],
  ["WHERE NOT 'crm' IN [x IN resource.tags WHERE {}]", 'x'],
  ["WHERE none(y IN [x IN resource.tags WHERE {}] WHERE y = 'crm')", 'x'],
  ["WHERE all(y IN [x IN resource.tags WHERE {}] WHERE y <> 'crm')", 'x'],
  ['WHERE none(x IN resource.tags WHERE {})', 'x'],
  ['WHERE NOT any(x IN resource.tags WHERE {})', 'x'],
  ['WHERE all(x IN resource.tags WHERE NOT {})', 'x'],
  // Alternatives.
  ['WHERE CASE WHEN {} THEN false ELSE true END', 'subject.app'],
  ['WHERE NOT CASE WHEN {} THEN true ELSE false END', 'subject.app'],
  ['WHERE CASE WHEN NOT {} THEN true WHEN {} THEN false ELSE true END', 'subject.app'],
  ["WHERE CASE WHEN {} THEN 'deny' ELSE 'allow' END = 'allow'", 'subject.app'],
  ["WHERE CASE WHEN {} THEN 'deny' ELSE 'allow' END <> 'deny'", 'subject.app'],
  ['WHERE CASE WHEN {} THEN 0 ELSE 1 END > 0', 'subject.app'],
  ["WHERE CASE WHEN {} THEN resource.app = 'x' ELSE true END", 'subject.app'],
  [`WHERE CASE WHEN EXISTS { ${BAN} WHERE {} } THEN false ELSE true END`, 'k.app'],
  ['WITH *, CASE WHEN {} THEN false ELSE true END AS ok WHERE ok', 'subject.app'],
  // Names.
  [`WITH *, EXISTS { ${BAN} WHERE {} } AS banned WHERE NOT banned`, 'k.app'],
  [`WITH *, COUNT { ${BAN} WHERE {} } AS bans WHERE bans = 0`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH * WHERE k IS NULL`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH * WHERE k.app IS NULL`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH * WHERE NOT coalesce(k.blocked, false)`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH * WHERE coalesce(k.level, 0) < 1`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, count(k) AS n WHERE n = 0`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, collect(k) AS ks WHERE ks = []`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, collect(k) AS ks WHERE size(ks) = 0`, 'k.app'],
  [`OPTIONAL MATCH ${BAN} WHERE {} WITH subject, resource, count(k) > 0 AS banned WITH * WHERE NOT banned`, 'k.app'],
  [`OPTIONAL CALL (subject, resource) { MATCH ${BAN} WHERE {} RETURN k AS b } WITH * WHERE b IS NULL`, 'k.app'],
  [`CALL (subject, resource) { MATCH ${BAN} WHERE {} RETURN count(*) AS n } WITH * WHERE n = 0`, 'k.app'],
  [`CALL (subject, resource) { MATCH ${BAN} WHERE {} RETURN collect(k.app) AS l } WITH * WHERE l = []`, 'k.app'],
  // Forms that deny for a null, and some that need no warning.
  ['WHERE NOT {}', 'subject.app'],
  [`WHERE EXISTS { ${BAN} WHERE NOT {} }`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE NOT {} } > 0`, 'k.app'],
  [`WHERE COUNT { ${BAN} WHERE NOT {} } = 1`, 'k.app'],
  [`WHERE NOT EXISTS { ${BAN} WHERE coalesce({}, true) }`, 'k.app'],
  ['WHERE CASE WHEN NOT {} THEN true ELSE false END', 'subject.app'],
  ['WHERE CASE WHEN coalesce({}, true) THEN false ELSE true END', 'subject.app'],
  ['WITH *, {} AS banned WHERE NOT banned', 'subject.app'],
  ['WHERE size([x IN resource.tags WHERE NOT {}]) = size(resource.tags)', 'x'],
  ['WHERE reduce(banned = false, x IN resource.tags | banned OR {}) = false', 'x'],
]

/** Comparisons of `L` with a value `N` that may be null. */
const comparisons = [
  'L = N',
  'N = L',
  'NOT L <> N',
  'L IN [N]',
  'L IN [N, N]',
  'L STARTS WITH N',
  'L <= N',
  'L = N + ""',
  'L = toLower(N)',
  'L + N = L + L',
  '[L] = [N]',
  '(L >= N AND L <= N)',
  '"crm" <= L <= N',
  'L = coalesce(N, N)',
  'L = coalesce(N, $none)',
  '{a: L} = {a: N}',
  'toBoolean(toString(L = N))',
]
/** A parameter, a member of one, and a property: of the resource `with` all are `crm`, and of `without` they are absent. */
const values = ['$q', '$c.a', "$c['a']", 'resource.filter']

interface Exclusion {
  readonly form: string
  readonly cypher: string
}

const cases: readonly Exclusion[] = forms.flatMap(([form, left, name]) =>
  (form.includes('{}') ? comparisons : ['']).flatMap((comparison, i) => {
    // The first comparison with each value, the others with one.
    const all = i === 0 ? values : values.slice(i % values.length, (i % values.length) + 1)
    return (name === undefined ? all : values.slice(0, 1)).map((value) => {
      const condition = comparison
        .replace(/\bL\b/g, left)
        .replace(/\bN\b/g, () => name ?? value)
        .replaceAll('"', "'")
      const clauses = form.replaceAll('{}', () => condition).replace(/\bN\b/g, () => value)
      return { form, cypher: `MATCH (subject:Person), (resource:Doc) ${clauses}` }
    })
  }),
)

async function authorizerOf(texts: readonly string[]): Promise<Authorizer> {
  const policies = texts.map((cypher, i) => ({ subject: 'Person', action: `a${i}`, resource: 'Doc', cypher }))
  const graph = `(ann:Person {app: 'crm'})-[:KNOWS {app: 'crm', blocked: true, level: 1}]->(with:Doc {filter: 'crm', wheels: 1, app: 'crm', tags: ['crm'], open: true})
(ann)-[:KNOWS {app: 'crm', blocked: true, level: 1}]->(without:Doc {wheels: 1, app: 'crm', tags: ['crm'], open: true})`
  return openScenario(readScenarioText('exclusions', writeJson({ version: '3.0-kbac', graph, policies }), null))
}

/** The decisions with a value that is equal, and without one. */
function decided(authorizer: Authorizer, i: number): { readonly present: boolean; readonly absent: boolean } {
  const ask = (id: string, q: string | null, c: object) =>
    authorizer.evaluate({
      subject: { type: 'Person', id: 'ann' },
      action: { name: `a${i}` },
      resource: { type: 'Doc', id },
      context: { input_params: { q, c, none: null } },
    }).decision
  return { present: ask('with', 'crm', { a: 'crm' }), absent: ask('without', null, {}) }
}

describe('an exclusion', () => {
  let open: (Exclusion & { readonly isOpen: boolean; readonly found: ReturnType<typeof openExclusionsIn> })[] = []

  beforeAll(async () => {
    await using authorizer = await authorizerOf(cases.map(({ cypher }) => cypher))
    open = cases.flatMap((one, i) => {
      const { present, absent } = decided(authorizer, i)
      return present ? [] : [{ ...one, isOpen: absent, found: openExclusionsIn(one.cypher) }]
    })
  })

  test('excludes a value that is present, in each form', () => {
    const excluding = new Set(open.map(({ form }) => form))
    expect(forms.filter(([form]) => !excluding.has(form)).map(([form]) => form)).toEqual([])
    expect(open.filter(({ isOpen }) => isOpen).length).toBeGreaterThan(700)
  })

  test('is warned of if it grants without the value', () => {
    const silent = open.filter(({ isOpen, found }) => isOpen && found.length === 0)
    expect(silent.map(({ cypher }) => cypher)).toEqual([])
  })

  test('is not warned of if it denies without the value', () => {
    const loud = open.filter(({ isOpen, found }) => !isOpen && found.length > 0)
    expect(loud.map(({ cypher }) => cypher)).toEqual([])
  })

  test('denies with and without the value as the warning suggests', async () => {
    const mended = open.flatMap(({ cypher, isOpen, found }) => {
      if (!isOpen) return []
      if (found.some(({ suggestion }) => suggestion === null)) return []
      // From the end, so that places before it stay.
      const sorted = [...found].sort((a, b) => b.span.start - a.span.start)
      return [
        sorted.reduce(
          (text, { span, suggestion }) => text.slice(0, span.start) + suggestion + text.slice(span.end),
          cypher,
        ),
      ]
    })
    expect(mended.length).toBeGreaterThan(700)
    await using authorizer = await authorizerOf(mended)
    const granting = mended.filter((_, i) => {
      const { present, absent } = decided(authorizer, i)
      return present || absent
    })
    expect(granting).toEqual([])
    expect(mended.filter((cypher) => openExclusionsIn(cypher).length > 0)).toEqual([])
  })
})

test('a chain of names that repeat an exclusion is analysed once', () => {
  const chain = (operator: string) =>
    Array.from({ length: 60 }, (_, i) => `WITH subject, resource, a${i} ${operator} a${i} AS a${i + 1}`).join(' ')
  for (const text of [
    `WITH subject, resource, NOT EXISTS { ${BAN} WHERE k.app = $app } AS a0 ${chain('AND')} WITH * WHERE a60`,
    `WITH subject, resource, COLLECT { MATCH ${BAN} WHERE k.app = $app RETURN k } AS a0 ${chain('+')} WITH * WHERE size(a60) = 0`,
  ])
    expect(openExclusionsIn(`MATCH (subject:Person), (resource:Car) ${text}`)).toHaveLength(1)
})

test('what repeats in itself is analysed once', () => {
  const nested = (times: number, start: string, wrap: (inner: string, i: number) => string) =>
    Array.from({ length: times }).reduce<string>((inner, _, i) => wrap(inner, i), start)
  const banned = `EXISTS { ${BAN} WHERE k.app = $app }`
  for (const text of [
    `WHERE size(${nested(60, `COLLECT { MATCH ${BAN} WHERE k.app = $app RETURN k }`, (inner, i) => `[x${i} IN ${inner} | x${i}]`)}) = 0`,
    `WHERE NOT ${nested(40, banned, (inner, i) => `any(x${i} IN [1] WHERE ${inner})`)}`,
    `WHERE NOT ${nested(60, banned, (inner) => `CASE WHEN ${inner} THEN true ELSE false END`)}`,
    `WHERE NOT ${nested(60, banned, (inner) => `coalesce(${inner}, $other)`)}`,
    `WHERE reduce(n = 0, x IN [1] | n + ${nested(3, `COUNT { ${BAN} WHERE k.app = $app }`, (inner, i) => `reduce(m${i} = 0, y IN [1] | m${i} + ${inner})`)}) = 0`,
    `WITH subject, resource, ${banned} AS a0 ${Array.from({ length: 60 }, (_, i) => `WITH subject, resource, CASE WHEN a${i} THEN a${i} ELSE a${i} AND a${i} END AS a${i + 1}`).join(' ')} WITH * WHERE NOT a60`,
    `WITH subject, resource, ${banned} AS a0 ${Array.from({ length: 60 }, (_, i) => `CALL (a${i}) { WHEN a${i} THEN RETURN a${i} AS a${i + 1} ELSE RETURN a${i} AS a${i + 1} }`).join(' ')} WITH * WHERE NOT a60`,
  ]) {
    const found = openExclusionsIn(`MATCH (subject:Person), (resource:Car) ${text}`)
    expect(found.map(({ suggestion }) => suggestion)).toEqual(['coalesce(k.app = $app, true)'])
  }
})

test('a query that is too large is reported, not left out', () => {
  const branches = Array.from({ length: 12_000 }, (_, i) => `WHEN resource.w = ${i} THEN true`).join(' ')
  const found = openExclusionsIn(`MATCH (subject:Person), (resource:Car) WHERE CASE ${branches} ELSE false END`)
  expect(found[0]?.message).toContain('too large')
})

test.each([
  `WITH subject, resource, $app AS app WHERE NOT EXISTS { ${BAN} WHERE k.app = app }`,
  `WHERE NOT EXISTS { ${BAN} WHERE any(app IN $apps WHERE app = k.app) }`,
  `WITH subject, resource, CASE WHEN $app = 'crm' THEN 'blocked' ELSE 'ok' END AS s WHERE s = 'ok'`,
  `WHERE NOT EXISTS { ${BAN} WHERE k.app = CASE WHEN true THEN $app END }`,
])('a value that may be null is found through names, in lists and in CASE: %s', (text) => {
  expect(openExclusionsIn(`MATCH (subject:Person), (resource:Car) ${text}`)).toHaveLength(1)
})

test.each([
  'OPTIONAL MATCH (l) WHERE l IS NOT NULL WITH * WHERE l IS NULL',
  'OPTIONAL MATCH (l) WHERE l IS NULL AND size(collect(l)) = 0 WITH * WHERE size(collect(l)) = 0',
  'CALL (*) { OPTIONAL MATCH (l) WHERE l IS NOT NULL RETURN count(l) AS n } WITH * WHERE n < 1',
])('a pattern whose condition reads its own element is analysed: %s', (text) => {
  expect(openExclusionsIn(`MATCH (subject)-->(resource) ${text}`)).toEqual([])
})
