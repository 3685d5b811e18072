// The constructs of the manuals of Cypher 5 and Cypher 25 that read: an example of each, which is run. Its result, or the message
// with which it is refused, is a row of docs/reference/cypher-constructs.md. `npm run golden` writes the page.
import { Examples, refusalOf } from '../language-reference/run-example.ts'

interface Construct {
  readonly name: string
  /** A query, a condition over `subject` and `resource`, or an expression over `n`, `r`, `m` and `p`; see grammar/README.md. */
  readonly example: string
  readonly isRefused: boolean
  /** A text of a policy: the dialect `3.0-kbac` refuses what the library accepts. */
  readonly isPolicy?: boolean
}

const works = (name: string, example: string): Construct => ({ name, example, isRefused: false })
const refused = (name: string, example: string): Construct => ({ name, example, isRefused: true })
const inPolicy = (name: string, condition: string): Construct => {
  const example = `MATCH (subject)-[:OWNS]->(resource) WHERE ${condition}`
  return { name, example, isRefused: true, isPolicy: true }
}

const people = 'MATCH (n:Person)'

const chapters: Readonly<Record<string, readonly Construct[]>> = {
  Clauses: [
    works('MATCH', 'MATCH (n:Team) RETURN n'),
    works('OPTIONAL MATCH', `${people} OPTIONAL MATCH (n)-[:OWNS]->(c) RETURN n, c`),
    works('WHERE', `${people} WHERE n.age > 35 RETURN n`),
    works('FILTER', `${people} FILTER n.age > 35 RETURN n`),
    works('FILTER WHERE', `${people} FILTER WHERE n.age > 35 RETURN n`),
    works('LET', `${people} LET old = n.age > 35 RETURN n, old`),
    works('FOR … IN', 'FOR x IN [1, 2] RETURN x'),
    works('UNWIND', 'UNWIND [1, null] AS x RETURN x'),
    works('WITH', `${people} WITH n.age AS age WHERE age > 35 RETURN age`),
    works('WITH *', `${people} WITH *, n.age AS age RETURN age`),
    works('WITH DISTINCT', 'MATCH (n:Car) WITH DISTINCT n.wheels AS w RETURN w'),
    works('RETURN', 'RETURN 1 AS x'),
    works('RETURN *', 'WITH 1 AS x RETURN *'),
    works('RETURN DISTINCT', 'MATCH (n:Car) RETURN DISTINCT n.wheels AS w'),
    works('ORDER BY in WITH and RETURN', `${people} RETURN n ORDER BY n.age DESC`),
    works('ORDER BY as a clause', `${people} ORDER BY n.age LIMIT 1 RETURN n`),
    works('SKIP', 'UNWIND [1, 2, 3] AS x RETURN x SKIP 2'),
    works('OFFSET', 'UNWIND [1, 2, 3] AS x RETURN x OFFSET 2'),
    works('LIMIT', 'UNWIND [1, 2, 3] AS x RETURN x LIMIT 1'),
    works('SKIP, OFFSET and LIMIT as clauses', 'UNWIND [1, 2, 3] AS x SKIP 1 LIMIT 1 RETURN x'),
    works('UNION, UNION DISTINCT', 'RETURN 1 AS x UNION DISTINCT RETURN 1 AS x'),
    works('UNION ALL', 'RETURN 1 AS x UNION ALL RETURN 1 AS x'),
    works('braces around queries', '{ RETURN 1 AS x UNION RETURN 1 AS x } UNION ALL { RETURN 1 AS x }'),
    works('NEXT', `${people} RETURN n AS p NEXT MATCH (p)-[:OWNS]->(c) RETURN c`),
    works('UNION after NEXT', 'UNWIND [1, 2] AS x RETURN x NEXT RETURN sum(x) AS y UNION RETURN max(x) AS y'),
    works('WHEN … THEN … ELSE', 'WHEN false THEN RETURN 1 AS x ELSE RETURN 2 AS x'),
    works('WHEN after NEXT: for each row', `${people} RETURN n NEXT WHEN n.age > 35 THEN RETURN n`),
    works('CALL { }', 'CALL { MATCH (n:Team) RETURN n } RETURN n'),
    works('CALL with importing WITH', `${people} CALL { WITH n MATCH (n)-[:OWNS]->(c) RETURN c } RETURN c`),
    works('CALL (x, y) { }', `${people} CALL (n) { MATCH (n)-[:OWNS]->(c) RETURN c } RETURN c`),
    works('CALL (*) { }', `${people} CALL (*) { MATCH (n)-[:OWNS]->(c) RETURN c } RETURN c`),
    works('CALL () { }', 'CALL () { MATCH (n:Team) RETURN n } RETURN n'),
    works('OPTIONAL CALL', `${people} OPTIONAL CALL (n) { MATCH (n)-[:OWNS]->(c) RETURN c } RETURN n, c`),
    works('WHEN in CALL', `${people} CALL (*) { WHEN n.age > 35 THEN RETURN 'old' AS x } RETURN n, x`),
    works('USE graph.byName', "USE graph.byName('north') MATCH (n:Team) RETURN n"),
    refused('USE of another graph reference', 'USE north MATCH (n) RETURN n'),
    refused('FINISH', 'MATCH (n) FINISH'),
    refused('CREATE, INSERT', 'CREATE (n)'),
    refused('MERGE', 'MERGE (n)'),
    refused('SET', 'MATCH (n) SET n.x = 1'),
    refused('REMOVE', 'MATCH (n) REMOVE n.x'),
    refused('DELETE, DETACH DELETE', 'MATCH (n) DETACH DELETE n'),
    refused('FOREACH', 'MATCH (n) FOREACH (x IN [1] | SET n.x = x)'),
    refused('LOAD CSV', "LOAD CSV FROM 'file:///a.csv' AS row RETURN row"),
    refused('CALL of a procedure', 'CALL db.labels() YIELD label RETURN label'),
    refused('CALL { } IN TRANSACTIONS', 'MATCH (n) CALL (n) { RETURN 1 AS x } IN TRANSACTIONS RETURN x'),
    refused('SHOW', 'SHOW FUNCTIONS'),
    refused('CREATE INDEX', 'CREATE INDEX FOR (n:Person) ON (n.age)'),
    refused('index hints', 'MATCH (n:Person) USING INDEX n:Person(age) RETURN n'),
    refused('EXPLAIN', 'EXPLAIN MATCH (n) RETURN n'),
    refused('PROFILE', 'PROFILE MATCH (n) RETURN n'),
    refused('CYPHER 25', 'CYPHER 25 MATCH (n) RETURN n'),
  ],
  Conditions: [
    works('clauses without RETURN', 'MATCH (subject)-[:OWNS]->(resource)'),
    works('RETURN subject, resource', 'MATCH (a)-[:OWNS]->(b) RETURN a AS subject, b AS resource'),
    works(
      'UNION',
      'MATCH (subject)-[:OWNS]->(resource) RETURN subject, resource UNION MATCH (subject)-->(:Team)-->(resource) RETURN subject, resource',
    ),
    works('NEXT', 'MATCH (t:Team) RETURN t NEXT MATCH (subject)-->(t)-->(resource) RETURN subject, resource'),
    { name: 'other columns', example: 'MATCH (subject)-->(resource) RETURN resource', isRefused: true, isPolicy: true },
    inPolicy('rand()', 'rand() < 0.5'),
    inPolicy('randomUUID()', "randomUUID() = 'a'"),
    inPolicy('realtime()', 'datetime.realtime() > resource.until'),
  ],
  Operators: [
    works('`+`, `-`, `*`, `/`, `%`, `^`', '1 + 2 * 3 - 4 / 2 % 3 + 2 ^ 2'),
    works('`=`, `<>`, `<`, `<=`, `>`, `>=`', '[1 = 1.0, 1 <> 2, 1 < 2, 2 <= 2, 3 > 2, 2 >= 3]'),
    works('comparisons in a chain', '1 < 2 <= 3'),
    works('AND, OR, XOR, NOT', 'true AND NOT false XOR false OR null'),
    works('IS NULL, IS NOT NULL', '[n.ghost IS NULL, n.name IS NOT NULL]'),
    works('IN', '1 IN [1, 2]'),
    works('STARTS WITH, ENDS WITH, CONTAINS', "['abc' STARTS WITH 'a', 'abc' ENDS WITH 'a', 'abc' CONTAINS 'b']"),
    works('`=~`', "'abc' =~ 'a.c'"),
    works('`||` of strings', "'a' || 'b'"),
    works('`||` of lists', '[1] || [2]'),
    works('`IS :: TYPE`', 'n.age IS :: INTEGER'),
    works('`:: TYPE`', 'n.age :: INTEGER'),
    works('`IS NOT ::`, `NOT NULL`', 'null IS NOT :: INTEGER NOT NULL'),
    works('IS TYPED, unions of types', 'n.age IS TYPED STRING | INTEGER'),
    works('types of lists', '[1, null] IS :: LIST<INTEGER NOT NULL>'),
    works(
      '`ANY`, `PROPERTY VALUE`, `MAP`, `NODE`, `PATH`',
      '[n IS :: NODE, p IS :: PATH, {} IS :: MAP, 1 IS :: PROPERTY VALUE]',
    ),
    works('temporal types', "date('2026-01-01') IS :: DATE"),
    refused('`VECTOR`', '1 IS :: VECTOR'),
    works('IS NORMALIZED', "'a' IS NORMALIZED"),
    works('IS NOT NFKD NORMALIZED', "'\\u00c5' IS NOT NFKD NORMALIZED"),
    works('label tests', 'n:Person&!Team'),
    works('label tests with `IS`', 'n IS Person|Team'),
    works('property, item, slice', "[n.age, [1, 2][0], [1, 2, 3][1..], n['name']]"),
  ],
  Expressions: [
    works('decimal, hexadecimal, octal integers', '[1_000, 0xFF, 0o17]'),
    works('floats', '[1.5, .5, 1e3]'),
    works('INF, Infinity, NaN', '[INF, -Infinity, NaN]'),
    works('strings and escapes', String.raw`'it\'s' || "\t\u0041"`),
    works('names in back-ticks', '`n`.`age`'),
    works('parameters', '$number'),
    works('comments', '1 /* a */ + 1'),
    works('CASE with conditions', "CASE WHEN n.age > 18 THEN 'adult' ELSE 'minor' END"),
    works('CASE with values', "CASE n.age WHEN 30 THEN 'thirty' END"),
    works('CASE with several values', "CASE n.age WHEN 29, 30 THEN 'yes' END"),
    works('CASE with operators', "CASE n.age WHEN < 18 THEN 'minor' WHEN IS NULL THEN 'unknown' ELSE 'adult' END"),
    works('list comprehension', '[x IN [1, 2, 3] WHERE x > 1 | x * 10]'),
    works('pattern comprehension', '[(n)-[:MEMBER]->(t) | t.external_id]'),
    works('map, map projection', '[{a: 1}, n {.age, id: n.external_id}]'),
    works(
      'all, any, none, single',
      '[all(x IN [1] WHERE x > 0), any(x IN [1] WHERE x > 1), none(x IN [] WHERE true), single(x IN [1] WHERE true)]',
    ),
    works('reduce', 'reduce(s = 0, x IN [1, 2] | s + x)'),
    works('allReduce', 'allReduce(s = 0, x IN [1, 2] | s + x, s < 3)'),
    works('EXISTS { } of a pattern', 'EXISTS { (n)-[:OWNS]->(c) WHERE c.wheels = 4 }'),
    works(
      'EXISTS { } of a query with UNION',
      'EXISTS { MATCH (n)-[:KNOWS]->(x) RETURN x UNION MATCH (n)-[:OWNS]->(x) RETURN x }',
    ),
    works('COUNT { }', 'COUNT { (n)-->() }'),
    works('COUNT { } of a query', 'COUNT { MATCH (n)-->(x) RETURN DISTINCT labels(x) }'),
    works('COLLECT { }', 'COLLECT { MATCH (n)-->(x) RETURN x.external_id AS id ORDER BY id }'),
    works('COLLECT { } with UNION and WHEN', 'COLLECT { { WHEN n.age > 1 THEN RETURN 1 AS x } UNION RETURN 2 AS x }'),
    works('patterns as conditions', '[1 IN [1] AND NOT (n)-[:KNOWS]->()]'),
  ],
  Functions: [
    works(
      'aggregates',
      '[count(*), count(DISTINCT n), sum(1), avg(1), min(1), max(1), collect(1), stDev(1), stDevP(1)]',
    ),
    works('percentileCont, percentileDisc', '[percentileCont(n.age, 0.5), percentileDisc(n.age, 0.5)]'),
    works('coalesce, nullIf, isEmpty', "[coalesce(null, 1), nullIf(1, 1), isEmpty('')]"),
    works('valueType', 'valueType([1, null])'),
    works('randomUUID', 'size(randomUUID())'),
    works('elementId, id, labels, type', '[elementId(n) IS NOT NULL, id(n) > 0, size(labels(n)), type(r)]'),
    works('properties, keys, startNode, endNode', '[keys(r), properties(r).since, startNode(r) = n, endNode(r) = m]'),
    works('nodes, relationships, length, size', '[size(nodes(p)), size(relationships(p)), length(p)]'),
    works(
      'head, last, tail, range, reverse',
      '[head([1, 2]), last([1, 2]), tail([1, 2]), range(1, 3), reverse([1, 2])]',
    ),
    works('toBoolean, toInteger, toFloat, toString', "[toBoolean('true'), toInteger('1'), toFloat('1'), toString(1)]"),
    works('…OrNull', "[toBooleanOrNull('x'), toIntegerOrNull([]), toFloatOrNull('x'), toStringOrNull([])]"),
    works('…List', "[toBooleanList(['true']), toIntegerList(['1']), toFloatList(['1']), toStringList([1])]"),
    works('coll.distinct, flatten, sort', '[coll.distinct([1, 1]), coll.flatten([[1], 2]), coll.sort([2, 1])]'),
    works(
      'coll.indexOf, insert, remove, max, min',
      '[coll.indexOf([1], 1), coll.insert([1], 0, 2), coll.remove([1], 0), coll.max([1, 2]), coll.min([1, 2])]',
    ),
    works('char_length, character_length', "[char_length('abc'), character_length('abc')]"),
    works('toUpper, toLower, upper, lower', "[toUpper('a'), toLower('A'), upper('a'), lower('A')]"),
    works('trim, btrim, ltrim, rtrim', "[trim(' a '), btrim('xax', 'x'), ltrim('xa', 'x'), rtrim('ax', 'x')]"),
    works('trim(BOTH … FROM …)', "trim(BOTH 'x' FROM 'xax')"),
    works(
      'left, right, substring, replace, split, reverse',
      "[left('abc', 1), right('abc', 1), substring('abc', 1), replace('a', 'a', 'b'), split('a,b', ','), reverse('ab')]",
    ),
    works('normalize', "normalize('\\ufb01', NFKC)"),
    works('abs, ceil, floor, round, sign, isNaN', '[abs(-1), ceil(1.2), floor(1.2), round(1.5), sign(-1), isNaN(1.0)]'),
    works('e, exp, log, log10, sqrt', '[round(e()), exp(0), log(1), log10(10), sqrt(4)]'),
    works(
      'sin, cos, tan, cot, asin, acos, atan, atan2',
      '[sin(0), cos(0), tan(0), round(cot(1)), asin(0), acos(1), atan(0), atan2(0, 1)]',
    ),
    works('sinh, cosh, tanh, coth', '[sinh(0), cosh(0), tanh(0), round(coth(1))]'),
    works('degrees, radians, haversin, pi', '[degrees(0), radians(0), haversin(0), round(pi())]'),
    works('rand', '0 <= rand() < 1'),
    works('timestamp', 'timestamp() > 0'),
    works(
      'date, time, localtime, datetime, localdatetime',
      "[date('2026-01-31'), time('12:00Z'), localtime('12:00'), datetime('2026-01-31T12:00Z'), localdatetime('2026-01-31T12:00')]",
    ),
    works('statement(), transaction(), realtime()', 'datetime.statement() <= datetime.realtime()'),
    works('truncate', "date.truncate('month', date('2026-01-31'))"),
    works('datetime.fromEpoch, fromEpochMillis', '[datetime.fromEpoch(0, 0), datetime.fromEpochMillis(1)]'),
    works('duration', "duration('P1DT2H')"),
    works(
      'duration.between, inMonths, inDays, inSeconds',
      "[duration.between(date('2026-01-01'), date('2026-02-02')), duration.inMonths(date('2026-01-01'), date('2026-02-02')), duration.inDays(date('2026-01-01'), date('2026-02-02')), duration.inSeconds(date('2026-01-01'), date('2026-01-02'))]",
    ),
    works('arithmetic of temporals', "date('2026-01-31') + duration('P1M')"),
    works('names of GQL', "[ceiling(1.2), ln(1), path_length(p), zoned_datetime('2026-01-31T12:00Z')]"),
    refused('point', 'point({x: 1, y: 2})'),
    refused('point.distance, point.withinBBox', 'point.distance(1, 2)'),
    refused('vectors', 'vector([1, 2], 2, INTEGER)'),
    refused('similarity of vectors', 'vector.similarity.cosine([1], [2])'),
    refused('file, linenumber', 'linenumber()'),
    refused('graph functions', 'graph.names()'),
    refused('functions of extensions', 'apoc.text.join([], 1)'),
  ],
}

/** The page. Throws if a construct that should work is refused, or the other way round. */
export async function constructsPage(note: string): Promise<string> {
  const examples = await Examples.open()
  try {
    const tables = Object.entries(chapters).map(([chapter, constructs]) => {
      const rows = constructs.map((construct) => row(construct, examples))
      return `## ${chapter}\n\n| construct | example | |\n| --- | --- | --- |\n${rows.join('\n')}\n`
    })
    const all = Object.values(chapters).flat()
    const refusals = all.filter(({ isRefused }) => isRefused).length
    const counts = Object.entries(chapters).map(([chapter, constructs]) => {
      const count = constructs.filter(({ isRefused }) => isRefused).length
      return `| ${chapter} | ${constructs.length - count} | ${count} |`
    })
    return [
      '# Cypher: construct by construct',
      '',
      `${note} Each example is run on the graph of [the language](cypher.md); an example may be an expression over \`n\`, \`r\`, \`m\` and \`p\`.`,
      'Patterns are in the tables of that page.',
      '',
      '| | works | refused |\n| --- | --- | --- |',
      ...counts,
      `| **all** | **${all.length - refusals}** | **${refusals}** |`,
      '',
      tables.join('\n'),
    ].join('\n')
  } finally {
    await examples.close()
  }
}

const quoted = (text: string): string => {
  const shown = text.replaceAll('|', '\\|')
  return shown.includes('`') ? `\`\` ${shown} \`\`` : `\`${shown}\``
}

function row({ name, example, isRefused, isPolicy }: Construct, examples: Examples): string {
  const cells = [name.replaceAll('|', '\\|'), quoted(example)]
  if (!isRefused) return `| ${cells.join(' | ')} | works: ${quoted(examples.form(example).gives)} |`
  const isQuery = /^(?:[A-Z]{3,})\b/.test(example)
  const { message } = refusalOf(isQuery ? example : `RETURN ${example} AS value`, isPolicy ? '3.0-kbac' : 'open')
  return `| ${cells.join(' | ')} | refused: ${message.replaceAll('|', '\\|')} |`
}
