// Every clause, pattern form and operator of the language: one example each, and where it is tested. The tables in
// grammar/README.md are generated from this; results and dialects of an example are found by running it.

export interface LanguageForm {
  readonly form: string
  /**
   * A condition, a query with RETURN, or an expression over `n` (ann), `r` (her OWNS), `m` (car) and `p` (the path).
   * Examples of expressions begin neither with a clause nor with `CALL`.
   */
  readonly example: string
  /** A category of the TCK, or a file below test/ and a string in it. */
  readonly test: string | readonly [file: string, word: string]
}

/** The graph of the examples. */
export const sampleGraph = `
(ann:Person:Vip {age: 30, name: 'Ann'})-[:MEMBER {since: 2020}]->(red:Team)-[:OWNS]->(van:Car {wheels: 4})
(bob:Person {age: 40})-[:MEMBER {since: 2023}]->(red)
(bob)-[:KNOWS]->(ann)-[:OWNS {since: 2021}]->(car:Car {wheels: 4})
(cyd:Person)-[:KNOWS]->(bob)-[:OWNS]->(bike:Car {wheels: 2})
`.trim()

const own: readonly [string, string] = [
  'language-reference/language-reference.test.ts',
  'every example of the language page is run, and the page is up to date',
]
const queries = (word: string): readonly [string, string] => [
  'unit/engine/conditions.subqueries-and-unions.test.ts',
  word,
]
const world = (name: string, word: string): readonly [string, string] => [`scenarios/${name}.scenario.yaml`, word]
const paths = (word: string): readonly [string, string] => ['unit/engine/quantified-paths.test.ts', word]
const clauses25 = (word: string): readonly [string, string] => ['unit/engine/rows-query.cypher-25.test.ts', word]
const accepted = (word: string): readonly [string, string] => ['unit/grammar/cases/accepted.case', word]

export const clauses: readonly LanguageForm[] = [
  { form: 'MATCH', example: 'MATCH (subject)-[:OWNS]->(resource)', test: 'clauses/match' },
  {
    form: 'MATCH of several patterns',
    example: 'MATCH (subject)-[:MEMBER]->(t), (t)-[:OWNS]->(resource)',
    test: 'clauses/match',
  },
  {
    form: 'WHERE',
    example: 'MATCH (subject)-[:OWNS]->(resource) WHERE subject.age > 35',
    test: 'clauses/match-where',
  },
  {
    form: 'OPTIONAL MATCH',
    example: 'MATCH (subject)-[:OWNS]->(resource) OPTIONAL MATCH (subject)-[k:KNOWS]->() WITH * WHERE k IS NULL',
    test: world('optional', 'OPTIONAL MATCH'),
  },
  {
    form: 'WITH, AS',
    example: 'MATCH (a:Person)-[:OWNS]->(b) WITH a AS subject, b AS resource',
    test: 'clauses/with',
  },
  { form: 'WITH *', example: 'MATCH (subject)-[:OWNS]->(resource) WITH *, subject.age AS age', test: 'clauses/with' },
  {
    form: 'WITH DISTINCT',
    example: 'MATCH (subject)-[:OWNS]->(resource) WITH DISTINCT subject, resource',
    test: 'clauses/with',
  },
  {
    form: 'WITH … WHERE',
    example: 'MATCH (subject)-->(x) WITH subject, count(x) AS n WHERE n > 1 MATCH (subject)-[:OWNS]->(resource)',
    test: 'clauses/with-where',
  },
  {
    form: 'ORDER BY, ASC, DESC',
    example: 'MATCH (n:Person) RETURN n.external_id AS id ORDER BY n.age DESC, id ASC',
    test: 'clauses/return-orderby',
  },
  {
    form: 'ASCENDING, DESCENDING',
    example: 'MATCH (n:Person) RETURN n.external_id AS id ORDER BY id DESCENDING',
    test: 'clauses/with-orderBy',
  },
  {
    form: 'SKIP, OFFSET⁺, LIMIT',
    example: 'MATCH (subject)-[:OWNS]->(resource) WITH * ORDER BY subject.age DESC SKIP 1 LIMIT 1',
    test: 'clauses/with-skip-limit',
  },
  {
    form: 'UNWIND',
    example: "UNWIND ['bike', 'car'] AS id MATCH (subject)-[:OWNS]->(resource {external_id: id})",
    test: 'clauses/unwind',
  },
  { form: 'FOR⁺: the same as UNWIND', example: 'FOR x IN [1, 2] RETURN x', test: clauses25('FOR x IN') },
  {
    form: 'FILTER⁺',
    example: 'MATCH (subject)-[:OWNS]->(resource) FILTER subject.age > 35 AND resource.wheels < 4',
    test: clauses25('FILTER x > 1'),
  },
  {
    form: 'LET⁺',
    example: 'MATCH (subject)-[:OWNS]->(resource) LET old = subject.age > 35 FILTER old',
    test: clauses25('LET a = 1'),
  },
  {
    form: 'ORDER BY, SKIP, OFFSET, LIMIT as clauses⁺',
    example: 'MATCH (subject)-[:OWNS]->(resource) ORDER BY subject.age DESC LIMIT 1',
    test: clauses25('ORDER BY n.age LIMIT 1'),
  },
  {
    form: 'NEXT⁺: the query after it reads all rows',
    example: 'MATCH (t:Team) RETURN t NEXT MATCH (subject)-->(t)-->(resource) RETURN subject, resource',
    test: world('composed', 'NEXT'),
  },
  {
    form: 'WHEN … THEN … ELSE⁺',
    example: 'WHEN 1 > 2 THEN RETURN 1 AS x ELSE { RETURN 2 AS x }',
    test: clauses25('WHEN false THEN'),
  },
  {
    form: 'OPTIONAL CALL⁺: null where the subquery has no row',
    example: 'MATCH (n:Person) OPTIONAL CALL (n) { MATCH (n)-[:OWNS]->(c) RETURN c } RETURN n, c',
    test: clauses25('OPTIONAL CALL (n)'),
  },
  {
    form: 'RETURN in a condition⁺: the columns are the pair',
    example: 'MATCH (person)-[:OWNS]->(thing) RETURN person AS subject, thing AS resource',
    test: world('composed', 'action: return'),
  },
  {
    form: 'UNION in a condition⁺',
    example:
      'MATCH (subject)-[:OWNS]->(resource) RETURN subject, resource UNION MATCH (subject)-[:MEMBER]->()-[:OWNS]->(resource) RETURN subject, resource',
    test: world('composed', 'action: union'),
  },
  {
    form: '`{ }` around a query⁺',
    example: '{ RETURN 1 AS x UNION RETURN 1 AS x } UNION ALL { RETURN 1 AS x }',
    test: clauses25('{ RETURN 1 AS x NEXT'),
  },
  { form: 'UNION DISTINCT⁺', example: 'RETURN 1 AS x UNION DISTINCT RETURN 1 AS x', test: clauses25('UNION DISTINCT') },
  { form: 'RETURN', example: 'MATCH (n:Car) RETURN n.external_id AS id, n.wheels', test: 'clauses/return' },
  { form: 'RETURN DISTINCT', example: 'MATCH (n:Car) RETURN DISTINCT n.wheels AS wheels', test: 'clauses/return' },
  { form: 'RETURN *', example: 'MATCH (n:Team) WITH n.external_id AS team RETURN *', test: 'clauses/return' },
  { form: 'UNION', example: 'RETURN 1 AS x UNION RETURN 1 AS x', test: 'clauses/union' },
  { form: 'UNION ALL', example: 'RETURN 1 AS x UNION ALL RETURN 1 AS x', test: 'clauses/union' },
  {
    form: 'CALL { }⁺: sees what its first WITH passes on',
    example: 'MATCH (subject:Person) CALL { WITH subject MATCH (subject)-[:OWNS]->(resource) RETURN resource }',
    test: queries('CALL imports by its first WITH'),
  },
  {
    form: 'CALL (a, b) { }⁺: sees those',
    example: 'MATCH (subject:Person) CALL (subject) { MATCH (subject)-[:OWNS]->(resource) RETURN resource }',
    test: queries('CALL (x) imports by name'),
  },
  {
    form: 'CALL (*) { }⁺: sees all',
    example: 'MATCH (subject:Vip) CALL (*) { MATCH (subject)-[:OWNS]->(resource) RETURN resource }',
    test: queries('subject, resource'),
  },
  {
    form: 'CALL () { }⁺: sees nothing',
    example: 'MATCH (subject)-[:OWNS]->(resource) CALL () { MATCH (t:Team) RETURN count(t) AS n } WITH * WHERE n = 1',
    test: accepted('CALL ()'),
  },
  {
    form: 'UNION in CALL⁺: one right by two ways',
    example:
      'CALL { MATCH (subject)-[:OWNS]->(resource) RETURN subject, resource UNION MATCH (subject)-[:MEMBER]->()-[:OWNS]->(resource) RETURN subject, resource }',
    test: queries('UNION inside CALL'),
  },
  {
    form: 'USE⁺',
    example: "USE graph.byName('north') MATCH (n:Team) RETURN n.external_id AS id",
    test: queries('USE names another graph by literal'),
  },
  {
    form: 'comments, a closing `;`',
    example: 'MATCH (subject)-[:OWNS]->(resource) /* any */ // other',
    test: accepted('/* another */'),
  },
]

const between = (middle: string): string => `MATCH (subject)${middle}(resource)`

export const patterns: readonly LanguageForm[] = [
  { form: 'node', example: 'MATCH (subject)-->()-->(resource)', test: 'clauses/match' },
  { form: 'label', example: 'MATCH (subject:Vip)-[:OWNS]->(resource:Car)', test: 'clauses/match' },
  { form: 'all of several labels', example: 'MATCH (subject:Person:Vip)-[:OWNS]->(resource)', test: 'clauses/match' },
  { form: 'the same with `&`⁺', example: 'MATCH (subject:Person&Vip)-[:OWNS]->(resource)', test: accepted('A&B') },
  {
    form: 'one of several labels⁺',
    example: 'MATCH (subject:Vip|Team)-[:OWNS]->(resource)',
    test: world('badges', '|'),
  },
  {
    form: 'not that label⁺',
    example: 'MATCH (subject:!Vip)-[:OWNS]->(resource)',
    test: ['generate/path-text.ts', ':!'],
  },
  { form: 'any label⁺', example: 'MATCH (subject:%)-[:OWNS]->(resource)', test: ['generate/path-text.ts', ':%'] },
  {
    form: 'IS instead of the colon⁺',
    example: 'MATCH (subject IS Vip)-[IS OWNS]->(resource)',
    test: accepted('n IS A'),
  },
  {
    form: 'label expressions⁺',
    example: 'MATCH (subject:(Vip|Team)&!Car)-[:OWNS]->(resource)',
    test: ['generate/path-text.ts', ')&!'],
  },
  {
    form: 'properties',
    example: "MATCH (subject {name: 'Ann'})-[:OWNS]->(resource {wheels: 4})",
    test: 'clauses/match',
  },
  {
    form: 'key: type and external id',
    example: "MATCH (subject:Person {external_id: 'bob'})-[:OWNS]->(resource)",
    test: ['unit/engine/optimize/golden-plans/node-unique-index-seek.plan', 'external_id'],
  },
  {
    form: 'WHERE in a node⁺',
    example: 'MATCH (subject WHERE subject.age > 35)-[:OWNS]->(resource)',
    test: accepted('WHERE n.y > 1'),
  },
  {
    form: 'relationship along, against, either way',
    example: between('-->(:Team)<--(:Person)-[:OWNS]-'),
    test: 'clauses/match',
  },
  { form: '`<-->`: either way', example: between('<-[:KNOWS]->(:Person)-->'), test: accepted('(a)<-->(b)') },
  { form: 'type', example: between('-[:OWNS]->'), test: 'clauses/match' },
  { form: 'one of several types', example: between('-[:OWNS|KNOWS]->'), test: 'clauses/match' },
  { form: 'the same, older', example: between('-[:OWNS|:KNOWS]->'), test: 'clauses/match' },
  { form: 'type expressions⁺', example: between('-[:!KNOWS]->'), test: ['generate/path-text.ts', ':!${'] },
  { form: 'named relationship', example: `${between('-[r:OWNS]->')} WHERE r.since > 2020`, test: 'clauses/match' },
  { form: 'properties of a relationship', example: between('-[{since: 2021}]->'), test: 'clauses/match' },
  {
    form: 'WHERE in a relationship⁺',
    example: between('-[r WHERE r.since > 2020]->'),
    test: accepted('[r WHERE r.x > 1]'),
  },
  { form: '`*`: 1 or more', example: between('-[*]->'), test: world('folders', '*') },
  { form: '`*2`: so many', example: between('-[*2]->'), test: 'clauses/match' },
  { form: '`*1..2`: from, to', example: between('-[*1..2]->'), test: 'clauses/match' },
  { form: '`*..2`: up to', example: between('-[*..2]->'), test: 'clauses/match' },
  { form: '`*2..`: at least', example: between('-[*2..]->'), test: 'clauses/match' },
  { form: '`*0..`: none or more', example: between('-[:KNOWS*0..]->()-[:OWNS]->'), test: 'clauses/match' },
  { form: '`+` after the arrow⁺: 1 or more', example: between('-[:MEMBER|OWNS]->+'), test: accepted('->+') },
  {
    form: '`*` after the arrow⁺: none or more',
    example: between('-[:MEMBER]->*()-[:OWNS]->'),
    test: accepted('-->*(b)'),
  },
  { form: '`{2}` after the arrow⁺', example: between('-->{2}'), test: accepted('-->{2}(b)') },
  { form: '`{1,2}`, `{1,}`, `{,2}` after the arrow⁺', example: between('-->{1,2}'), test: accepted('-->{2,3}') },
  {
    form: 'quantified path pattern⁺: `{n}`, `{n,m}`, `{n,}`, `{,m}`, `+`, `*`',
    example: 'MATCH (subject) ((a)-[:KNOWS|OWNS]->(b) WHERE b.wheels IS NULL OR b.wheels = 4){1,2} (resource)',
    test: paths('a quantified path pattern'),
  },
  {
    form: 'its variables are lists outside of it⁺',
    example:
      'MATCH (:Person {external_id: "cyd"}) ((a)-[r]->(b)){2} (:Car) RETURN [n IN b | n.external_id] AS ids, size(r) AS n',
    test: paths('are lists'),
  },
  {
    form: 'SHORTEST k, ANY k, ANY, ANY SHORTEST⁺: so many paths between two nodes',
    example: 'MATCH p = SHORTEST 1 (:Person {external_id: "cyd"})-[]->+(:Team) RETURN length(p) AS steps',
    test: paths('SHORTEST k'),
  },
  {
    form: 'ALL SHORTEST, SHORTEST k GROUPS⁺: all paths of the shortest lengths',
    example: 'MATCH p = SHORTEST 2 GROUPS (:Vip)--{1,4}(:Person {external_id: "cyd"}) RETURN length(p) AS steps',
    test: paths('GROUPS'),
  },
  {
    form: 'WHERE before a selector chooses⁺',
    example:
      'MATCH SHORTEST 1 (p = (:Vip)--+(:Person {external_id: "bob"}) WHERE length(p) > 1) RETURN length(p) AS steps',
    test: paths('before the selector'),
  },
  {
    form: 'MATCH DIFFERENT RELATIONSHIPS⁺: the default',
    example: 'MATCH DIFFERENT RELATIONSHIPS (:Vip)-[]-{2}(n:Vip) RETURN count(*) AS n',
    test: paths('REPEATABLE ELEMENTS'),
  },
  {
    form: 'MATCH REPEATABLE ELEMENTS⁺: a relationship may repeat',
    example: 'MATCH REPEATABLE ELEMENTS (:Vip)-[]-{2}(n:Vip) RETURN count(*) AS n',
    test: paths('REPEATABLE ELEMENTS'),
  },
  {
    form: '`$(expression)`⁺: a label or type that a run knows; `$all(list)`, `$any(list)`',
    example: "MATCH (subject:$('V' + 'ip'))-[:$any(['OWNS', 'RENTS'])]->(resource)",
    test: paths('dynamic'),
  },
  { form: 'properties of every step', example: between('-[:OWNS*1..2 {since: 2021}]->'), test: 'clauses/match' },
  { form: 'WHERE on every step⁺', example: between('-[r*1..2 WHERE r.since > 2020]->'), test: own },
  {
    form: 'a variable again: the same element',
    example: 'MATCH (subject)-[:KNOWS]->(x)-[:MEMBER]->(t), (x)-[:OWNS]->(resource)',
    test: 'clauses/match',
  },
  {
    form: 'a known relationship again',
    example: 'MATCH ()-[r {since: 2021}]->() MATCH (subject)-[r]->(resource)',
    test: 'clauses/match',
  },
  {
    form: 'a known list of relationships again',
    example: 'MATCH (:Vip)-[r*2]->() MATCH (subject)-[r*]->(resource)',
    test: 'clauses/match',
  },
  { form: 'named path', example: `MATCH p = (subject)-[*]->(resource) WHERE length(p) = 2`, test: 'clauses/match' },
  {
    form: 'shortestPath',
    example: 'MATCH p = shortestPath((:Person {external_id: "cyd"})-[*]->(:Team)) RETURN length(p) AS steps',
    test: queries('shortestPath'),
  },
  {
    form: 'allShortestPaths',
    example: 'MATCH p = allShortestPaths((:Vip)-[*]-(:Person {external_id: "cyd"})) RETURN length(p) AS steps',
    test: queries('allShortestPaths'),
  },
]

const cypher25 = (word: string): readonly [string, string] => [
  'unit/engine/exec/compile-expression.cypher-25.test.ts',
  word,
]

export const operators: readonly LanguageForm[] = [
  { form: 'OR', example: 'n.age > 50 OR n:Vip', test: 'expressions/boolean' },
  { form: 'XOR', example: 'n:Person XOR n:Vip', test: 'expressions/boolean' },
  { form: 'AND', example: 'null AND false', test: 'expressions/boolean' },
  { form: 'NOT', example: 'NOT null', test: 'expressions/boolean' },
  { form: '`=`', example: '1 = 1.0', test: 'expressions/comparison' },
  { form: '`<>`', example: '[1, null] <> [2, null]', test: 'expressions/comparison' },
  { form: '`<`, `<=`, `>`, `>=`', example: "1 < 'a'", test: 'expressions/comparison' },
  { form: 'comparisons in a chain', example: '18 <= n.age < 65', test: 'expressions/comparison' },
  { form: 'STARTS WITH', example: "n.name STARTS WITH 'A'", test: 'expressions/string' },
  { form: 'ENDS WITH', example: "n.name ENDS WITH 'A'", test: 'expressions/string' },
  { form: 'CONTAINS', example: "n.name CONTAINS 'nn'", test: 'expressions/string' },
  { form: '=~', example: "n.name =~ 'A.+'", test: ['unit/engine/value/functions/graph.test.ts', "'n.plate =~ $p'"] },
  { form: 'IN', example: '3 IN [1, null]', test: 'expressions/list' },
  { form: 'IS NULL', example: 'n.ghost IS NULL', test: 'expressions/null' },
  { form: 'IS NOT NULL', example: 'n.name IS NOT NULL', test: 'expressions/null' },
  { form: '`IS :: TYPE`⁺', example: 'n.age IS :: INTEGER NOT NULL', test: cypher25('IS :: INTEGER NOT NULL') },
  {
    form: '`IS TYPED`⁺, unions and lists of types',
    example: "[1, 'a'] IS NOT TYPED LIST<INTEGER | STRING>",
    test: cypher25('LIST<INTEGER | STRING>'),
  },
  { form: 'IS NORMALIZED⁺', example: 'n.name IS NFC NORMALIZED', test: cypher25('IS NFD NORMALIZED') },
  { form: '`||` of strings or lists⁺', example: "'a' || 'b'", test: cypher25("'a' || 'b' || 'c'") },
  { form: '`+` of numbers', example: '1 + 2.5', test: 'expressions/precedence' },
  { form: '`+` of strings', example: "'a' + 'b'", test: ['unit/engine/value/arithmetic.test.ts', "'+'"] },
  { form: '`+` of lists', example: '[1] + [2] + 3', test: 'expressions/list' },
  {
    form: '`<`, `<=`, `>`, `>=` of durations',
    example: "[duration('PT25H') > duration('P1D'), duration('P1M') > duration('P30D')]",
    test: 'expressions/temporal',
  },
  { form: '`+`, `-` of temporals', example: "date('2026-01-31') + duration('P1M')", test: 'expressions/temporal' },
  { form: '`-`, `*`', example: '7 - 2 * 3', test: 'expressions/precedence' },
  { form: '`/`: of integers an integer', example: '-7 / 2', test: 'expressions/mathematical' },
  {
    form: '`%`: with the sign of the left',
    example: '-7 % 3',
    test: ['unit/engine/value/arithmetic.test.ts', "[-7, '%', 3, -1]"],
  },
  { form: '`^`: a float', example: '2 ^ 10', test: 'expressions/precedence' },
  { form: 'signs', example: '-n.age + +1', test: 'expressions/precedence' },
  { form: 'property', example: 'n.age', test: 'expressions/graph' },
  {
    form: 'captured property, even under a field’s name',
    example: 'n.property.age',
    test: ['unit/engine/exec/compile-expression.elements.test.ts', '.property.external_id'],
  },
  {
    form: 'own fields',
    example: '[n.external_id, n.type, n.is_identity]',
    test: ['unit/engine/exec/compile-expression.elements.test.ts', 'external_id'],
  },
  { form: 'property by name', example: "n['a' + 'ge']", test: 'expressions/map' },
  { form: 'item, from the end too', example: '[1, 2, 3][-1]', test: 'expressions/list' },
  { form: 'slice', example: '[1, 2, 3, 4][1..-1]', test: 'expressions/list' },
  { form: 'label test, type test', example: 'n:Vip AND r:OWNS', test: 'expressions/graph' },
  { form: 'label test by expression⁺', example: 'n:(Car|!Team)', test: ['generate/predicate.ts', ':('] },
]

export const expressions: readonly LanguageForm[] = [
  { form: 'integers of 64 bits', example: '[9223372036854775807, 0x1F, 0o17]', test: 'expressions/literals' },
  { form: '`_` between digits⁺', example: '[1_000_000, 0xFF_FF]', test: cypher25('1_000 + 0xF_F') },
  { form: 'INF, NaN⁺', example: '[INF, -Infinity, NaN]', test: cypher25('-Infinity') },
  { form: 'floats', example: '[1.0, .5, 1e9]', test: 'expressions/literals' },
  { form: 'strings', example: String.raw`'it\'s' + "\u0041"`, test: 'expressions/literals' },
  { form: 'true, false, null', example: '[true, false, null]', test: 'expressions/literals' },
  { form: 'lists', example: "[1, 'a', [n.age]]", test: 'expressions/literals' },
  { form: 'maps', example: '{a: 1, match: {b: n.name}}', test: 'expressions/literals' },
  {
    form: 'temporal components',
    example: "duration('PT-0.1S').millisecondsOfSecond",
    test: ['unit/engine/value/temporal/duration.components.test.ts', 'millisecondsOfSecond'],
  },
  { form: 'parameters', example: '$number', test: world('parameters', '$') },
  { form: 'values in a parameter', example: '$claims.act.sub', test: world('parameters', '.') },
  {
    form: 'CASE of conditions',
    example: "CASE WHEN n.age < 18 THEN 'minor' ELSE 'adult' END",
    test: 'expressions/conditional',
  },
  {
    form: 'CASE of a value',
    example: "CASE n.age WHEN 30 THEN 'thirty' END",
    test: ['unit/engine/exec/compile-expression.test.ts', 'CASE'],
  },
  {
    form: 'CASE with several values and operators⁺',
    example: "CASE n.age WHEN 1, 2 THEN 'few' WHEN > 29 THEN 'many' WHEN IS NULL THEN 'unknown' END",
    test: cypher25("CASE 3 WHEN 1, 2 THEN 'low'"),
  },
  {
    form: 'trim with FROM⁺',
    example: "trim(LEADING 'x' FROM 'xxax')",
    test: cypher25("trim(LEADING 'xy' FROM"),
  },
  { form: 'list comprehension', example: '[x IN [1, 2, 3] WHERE x > 1 | x * 10]', test: 'expressions/list' },
  { form: 'pattern comprehension', example: '[(n)-[:MEMBER]->(t) | t.external_id]', test: 'expressions/pattern' },
  { form: 'all', example: 'all(x IN [1, 2] WHERE x > 0)', test: 'expressions/quantifier' },
  { form: 'any', example: 'any(x IN [1, null] WHERE x > 1)', test: 'expressions/quantifier' },
  { form: 'none', example: 'none(x IN [1, 2] WHERE x > 2)', test: 'expressions/quantifier' },
  { form: 'single', example: 'single(x IN [1, 2] WHERE x > 1)', test: 'expressions/quantifier' },
  {
    form: 'reduce',
    example: 'reduce(s = 0, x IN [1, 2, 3] | s + x)',
    test: ['unit/engine/exec/compile-expression.test.ts', 'reduce('],
  },
  {
    form: 'allReduce⁺',
    example: 'allReduce(s = 0, x IN [1, 2, 3] | s + x, s < 10)',
    test: cypher25('allReduce(sum = 0'),
  },
  {
    form: 'map projection⁺',
    example: 'n {.age, .ghost, here: true, r}',
    test: ['unit/engine/exec/compile-expression.elements.test.ts', '{.'],
  },
  {
    form: 'map projection of all⁺',
    example: 'm {.*, id: m.external_id}',
    test: ['unit/engine/exec/compile-expression.elements.test.ts', '.*'],
  },
  { form: 'a path as a condition', example: 'NOT (n)-[:KNOWS]->()', test: 'expressions/pattern' },
  {
    form: 'EXISTS { } of patterns⁺',
    example: 'EXISTS { (n)-[:OWNS]->(c) WHERE c.wheels = 4 }',
    test: 'expressions/existentialSubqueries',
  },
  {
    form: 'EXISTS { } of a query⁺',
    example: 'EXISTS { MATCH (n)-->(x) WITH count(x) AS c WHERE c > 1 RETURN c }',
    test: queries('EXISTS { } takes a whole query'),
  },
  { form: 'COUNT { }⁺', example: 'COUNT { (n)-->() }', test: queries('COUNT { } counts') },
  {
    form: 'COLLECT { }⁺',
    example: 'COLLECT { MATCH (n)-->(x) RETURN x.external_id ORDER BY x.external_id }',
    test: queries('COLLECT { } gives'),
  },
  {
    form: 'exists() of a property',
    example: 'exists(n.name)',
    test: ['unit/engine/exec/compile-expression.elements.test.ts', 'exists('],
  },
  { form: 'count(*)', example: 'count(*)', test: 'expressions/aggregation' },
  { form: 'DISTINCT in an aggregate', example: 'count(DISTINCT n.age)', test: 'expressions/aggregation' },
]

/** Forms that are not executed, each with an example text; code and message are those of the diagnostic. */
export interface RefusedForm {
  readonly what: string
  readonly example: string
  readonly dialect: '2.0-kbac' | '3.0-kbac' | 'open'
}

const inPolicy = (what: string, example: string): RefusedForm => ({ what, example, dialect: '3.0-kbac' })
const anywhere = (what: string, example: string): RefusedForm => ({ what, example, dialect: 'open' })

export const refused: readonly RefusedForm[] = [
  anywhere('a word that does not fit', 'MATCH (n) WEHRE n.x RETURN n'),
  anywhere('a misspelt function', "RETURN toUper('a') AS x"),
  anywhere('a misspelt variable', 'MATCH (person) RETURN persn'),
  anywhere('writing clauses', 'CREATE (n)'),
  anywhere('procedures', 'CALL db.labels() YIELD label RETURN label'),
  anywhere('a pattern that needs more than linear time', "MATCH (n) WHERE n.x =~ '(?=a).*' RETURN n"),
  anywhere('a parameter as a whole map of a pattern', 'MATCH (n $map) RETURN n'),
  anywhere('nested quantifiers', 'MATCH (a) ((b) ((c)-->(d))+ (e)){2} (f) RETURN a'),
  anywhere('two notations in one MATCH', 'MATCH (a)-[*]->(b) ((c)-->(d))+ (e) RETURN a'),
  anywhere('a selector with several patterns', 'MATCH ANY (a)-->+(b), (b)-->(c) RETURN a'),
  anywhere('REPEATABLE ELEMENTS without bound', 'MATCH REPEATABLE ELEMENTS (a)-->+(b) RETURN a'),
  anywhere('a shortest path of several steps', 'MATCH p = shortestPath((a)-->()-->(b)) RETURN p'),
  anywhere('a relationship twice in one MATCH', 'MATCH (a)-[r]->(b)-[r]->(c) RETURN r'),
  anywhere('one name for two things', 'MATCH (a)-[a]->(b) RETURN a'),
  anywhere('an operand of a wrong type', "RETURN 'a' - 1 AS x"),
  anywhere('an ambiguous grouping key', 'MATCH (n) RETURN n.x + count(*) AS c'),
  anywhere('an aggregate in an aggregate', 'MATCH (n) RETURN count(sum(n.x)) AS c'),
  anywhere('an aggregate in WHERE', 'MATCH (n) WHERE count(*) > 1 RETURN n'),
  anywhere('a number beyond 64 bits', 'RETURN 9223372036854775808 AS x'),
  anywhere('columns that differ in a UNION', 'RETURN 1 AS x UNION RETURN 2 AS y'),
  anywhere('WHEN before UNION without braces', 'WHEN true THEN RETURN 1 AS x UNION RETURN 2 AS x'),
  anywhere('an expression without a name in WITH', 'MATCH (n) WITH n.x RETURN 1 AS x'),
  anywhere('a first WITH that does not only import', 'MATCH (n) CALL { WITH n AS m RETURN m } RETURN m'),
  inPolicy('a condition with RETURN that does not return the pair', 'MATCH (subject)-->(resource) RETURN subject'),
  inPolicy('a part of a UNION without RETURN', 'MATCH (subject)-->(resource) UNION MATCH (resource)-->(subject)'),
  {
    what: 'RETURN in the older policies',
    example: 'MATCH (subject)-->(resource) RETURN subject, resource',
    dialect: '2.0-kbac',
  },
  inPolicy('a function that differs for the same input', 'MATCH (subject)-->(resource) WHERE rand() < 0.5'),
  inPolicy('a condition that binds no `resource`', 'MATCH (subject)-->(x)'),
  inPolicy('a `resource` that may be null', 'MATCH (subject) OPTIONAL MATCH (subject)-->(resource)'),
  {
    what: 'USE in the older policies',
    example: "USE graph.byName('north') MATCH (subject)-->(resource)",
    dialect: '2.0-kbac',
  },
  inPolicy('reserved parameters', 'MATCH (subject)-->(resource) WHERE resource.x = $subject_id'),
  {
    what: 'CALL in the older policies',
    example: 'CALL { MATCH (subject)-->(resource) RETURN * }',
    dialect: '2.0-kbac',
  },
]

/** Texts too long to print; each is refused with the given code. */
export const limits: readonly { readonly what: string; readonly example: string }[] = [
  { what: 'more than 200 levels of nesting', example: `RETURN ${'('.repeat(201)}1${')'.repeat(201)} AS x` },
  { what: 'more than 1,000 operations in one chain', example: `RETURN ${'1 + '.repeat(1_001)}1 AS x` },
  { what: 'more than 100 clauses in one query', example: `${'WITH 1 AS x '.repeat(101)}RETURN x` },
  {
    what: 'more than 1,500 parts of UNION, branches of WHEN and subqueries',
    example: Array(1501).fill('RETURN 1 AS x').join(' UNION '),
  },
  {
    what: 'more than 200 columns',
    example: `RETURN ${Array.from({ length: 201 }, (_, i) => `1 AS x${i}`).join(', ')}`,
  },
  { what: 'more than 100 relationships in one MATCH', example: `MATCH (a)${'-->()'.repeat(101)} RETURN a` },
  { what: 'more than 100 patterns in one MATCH', example: `MATCH ${'(), '.repeat(100)}() RETURN 1 AS x` },
  { what: 'more than 512,000 characters', example: `RETURN 1 AS x${' '.repeat(512_000)}` },
]
