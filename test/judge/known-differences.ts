// The differences between Verdigraph and Neo4j that are known and stay: each with an example that is run every time, so that an entry
// that no longer holds is noticed. The page docs/reference/differences-from-neo4j.md is made from this table.
import type { Query } from '../../grammar/ast.ts'
import {
  DateTimeValue,
  DurationValue,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from '../../src/engine/value/temporal/temporal.ts'
import type { JudgedOutcome } from './judged-outcome.ts'
import { type JudgedValue, textOf } from './judged-value.ts'
import {
  addedAsText,
  aggregatingSubqueryAsNull,
  averageAsSum,
  type ChangedQuery,
  collectedCopied,
  conditionAsBoolean,
  countsBeforeOptionalMatch,
  countsWrapped,
  divisorZero,
  emptyTextAsNull,
  groupsOfOneLengthAsAll,
  nanInGroups,
  otherDigitsAsNull,
  singleValueAsList,
  splitCopied,
  textWithoutZeros,
  trimmedRight,
  unevaluatedPartAsNull,
} from './query-changes.ts'

/** One known difference. */
export interface KnownDifference {
  readonly id: string
  /** The construct, as the title of the entry. */
  readonly construct: string
  /** Who follows the specification of openCypher or GQL; `both` where it leaves the choice. */
  readonly right: 'Verdigraph' | 'Neo4j' | 'both'
  /** The behaviour of both, and the reason. */
  readonly why: string
  /** Must differ, and match. */
  readonly example: {
    readonly query: string
    readonly graph?: string
    readonly parameters?: Readonly<Record<string, unknown>>
  }
  /** Whether a difference is this one, or may be this one if there are changed queries. */
  matches(text: string, ours: JudgedOutcome, theirs: JudgedOutcome): boolean
  /** Queries without the cause: the difference is this one only if one of them is answered equally. */
  readonly changed?: (query: Query) => ChangedQuery[]
}

const compileMessage = ({ error }: JudgedOutcome): string => (error?.phase === 'compile' ? error.message : '')
const refusedByNeo4j =
  (message: RegExp): KnownDifference['matches'] =>
  (_, ours, theirs) =>
    ours.error?.phase !== 'compile' && message.test(compileMessage(theirs))

const bothHaveRows: KnownDifference['matches'] = (_, ours, theirs) => ours.error === null && theirs.error === null

/** Ordered by how often they occur. */
export const knownDifferences: readonly KnownDifference[] = [
  {
    id: 'static-types',
    construct: 'A type error that the text alone shows',
    right: 'both',
    why: 'Neo4j refuses a text in which a literal, a variable or a parameter has the wrong type for an operator. Verdigraph refuses only what is wrong for every value, and reports the rest when the expression is evaluated; a query that never evaluates it has an answer.',
    example: { query: "RETURN range('a', 2) AS x" },
    matches: (_, ours, theirs) =>
      ours.error?.phase !== 'compile' &&
      (ours.error === null || ['type', 'argument'].includes(ours.error.kind)) &&
      /^Type mismatch|^Invalid input .* is not a valid|^A map key must|is not a valid type/.test(
        compileMessage(theirs),
      ),
  },
  {
    id: 'mixed-quantifiers',
    construct: 'Variable-length and quantified relationships in one pattern',
    right: 'both',
    why: 'Neo4j refuses `-[*]->` and `->+` in one `MATCH`. Verdigraph accepts both: each has its own meaning.',
    example: { query: 'MATCH (a)-[:A*0..]-(b)-[:B]-{2}(c) RETURN a' },
    matches: refusedByNeo4j(/^Mixing variable-length relationships/),
  },
  {
    id: 'mixed-label-symbols',
    construct: 'Colons and `&`, `|`, `!`, `%` or `IS` between the labels of one statement',
    right: 'both',
    why: 'Neo4j refuses `(a:A:B)` in a statement that also has `(b:!C)` or `(b IS C)`. Verdigraph accepts all notations everywhere.',
    example: { query: 'MATCH (a:A:B)--(b:!C) RETURN a' },
    matches: refusedByNeo4j(/^Mixing (label expression symbols|the IS keyword)/),
  },
  {
    id: 'colon-between-types',
    construct: 'A colon before a further relationship type, `[:A|:B]`, with a length or a variable',
    right: 'both',
    why: 'Neo4j deprecated this notation of openCypher and refuses it in variable-length relationships. Verdigraph reads it as `[:A|B]`.',
    example: { query: 'MATCH (a)-[:A|:B*]->(b) RETURN a' },
    matches: refusedByNeo4j(/^The semantics of using colon in the separation/),
  },
  {
    id: 'dynamic-label-test',
    construct: 'A dynamic label in a label test outside of a pattern',
    right: 'both',
    why: 'Neo4j reads `$(…)` only within patterns. Verdigraph reads it in every label test, for example in `WHERE`.',
    example: { query: "MATCH (a) WHERE a:$('A') RETURN a" },
    matches: refusedByNeo4j(/^Dynamic Label and Types are only allowed in/),
  },
  {
    id: 'shortest-path-properties',
    construct: 'Properties within `shortestPath`',
    right: 'both',
    why: 'Neo4j refuses a map of properties within the relationship of `shortestPath` unless it has a variable length. Verdigraph filters by it.',
    example: { query: 'MATCH p = shortestPath(({x: 1})-[{since: 1}]->({x: 2})) RETURN length(p) AS n' },
    matches: refusedByNeo4j(/^(s|allS)hortestPaths?\(\.\.\.\) contains properties/),
  },
  {
    id: 'temporal-text-seconds',
    construct: '`toString` of a time without seconds',
    right: 'both',
    why: 'Neo4j writes `10:00:00` since a release of 5, Verdigraph the shorter ISO 8601 form `10:00`. Both read either.',
    example: { query: "RETURN toString(localtime('10:00')) AS x" },
    matches: bothHaveRows,
    changed: textWithoutZeros,
  },
  {
    id: 'temporal-null',
    construct: 'A null argument of a temporal function, or a null member of its map',
    right: 'both',
    why: 'Neo4j fails for null in most of these positions. In Verdigraph a temporal function of null is null, as other functions are.',
    example: { query: "WITH null AS d RETURN date.truncate('month', d, {day: 2}) AS x" },
    matches: (_, ours, theirs) =>
      ours.error?.phase !== 'compile' && theirs.error?.phase === 'run' && /NO_?VALUE|null/i.test(theirs.error.message),
  },
  {
    id: 'shortest-path-same-node',
    construct: '`shortestPath` from a node to itself',
    right: 'both',
    why: 'Neo4j refuses equal ends. Verdigraph refuses them only in undirected patterns, where the answer would be the way there and back.',
    example: { query: 'MATCH (a) MATCH p = shortestPath((a)-[*]->(a)) RETURN length(p) AS n', graph: '(a:Person)' },
    matches: (_, ours, theirs) =>
      ours.error === null && (theirs.error?.message ?? '').startsWith('The shortest path algorithm does not work'),
  },
  {
    id: 'reverse-stored-list',
    construct: '`reverse` of a list that is a property',
    right: 'Verdigraph',
    why: 'Neo4j refuses some lists that come from a property of a node. Verdigraph reverses every list.',
    example: { query: 'MATCH (a) RETURN reverse(a.tags) AS x', graph: "(a:Person {tags: ['a', 'b']})" },
    matches: (text, ours, theirs) =>
      /reverse\(/.test(text) &&
      ours.error === null &&
      (theirs.error?.message ?? '').startsWith("Invalid input for function 'reverse()'"),
  },
  {
    id: 'reserved-names',
    construct: 'Reserved words as names',
    right: 'both',
    why: 'Neo4j reads `(null)` as a node with the name `null`. Verdigraph refuses reserved words as names, unless they are in back-ticks.',
    example: { query: 'MATCH (null) RETURN 1 AS x' },
    matches: (_, ours, theirs) =>
      theirs.error === null && / is a reserved word; to use it as a name/.test(compileMessage(ours)),
  },
  {
    id: 'temporal-component',
    construct: 'A component that a temporal value does not have',
    right: 'both',
    why: 'Both fail when the expression is evaluated: Neo4j with a type error, Verdigraph with an argument error that lists the components.',
    example: { query: "RETURN duration('P1D').hour AS x" },
    matches: (_, ours, theirs) =>
      / has no `\w+`; it has /.test(ours.error?.message ?? '') &&
      /^(No such|Unsupported) field/.test(theirs.error?.message ?? ''),
  },
  {
    id: 'epoch-before-1970',
    construct: '`epochSeconds` of an instant before 1970 with a fraction of a second',
    right: 'Verdigraph',
    why: 'Neo4j rounds towards zero, Verdigraph down, as the Java class `Instant` and Unix time do. `epochMillis` and `epochSeconds` then name the same instant.',
    example: { query: 'RETURN datetime.fromEpochMillis(-1500).epochSeconds AS x' },
    matches: (text, ours, theirs) => /epochSeconds/.test(text) && ours.error === null && theirs.error === null,
  },
  {
    id: 'cypher-25-clauses',
    construct: '`FILTER`, `LET`, `FOR`, `NEXT` and `WHEN` as clauses',
    right: 'Verdigraph',
    why: 'These clauses are part of Cypher 25, which Neo4j 5.26 does not have.',
    example: { query: 'LET x = 1 RETURN x' },
    matches: refusedByNeo4j(/^Invalid input '(FILTER|LET|FOR|NEXT|WHEN)'/),
  },
  {
    id: 'aggregate-in-subquery',
    construct: 'An aggregate within `EXISTS { }`, `COUNT { }` or `COLLECT { }` in a projection',
    right: 'Verdigraph',
    why: 'Neo4j takes the aggregate of the subquery for one of the outer projection, and refuses its variables as implicit grouping keys, or the aggregate as nested.',
    example: { query: 'MATCH (v) RETURN NOT exists { MATCH (e) WHERE ()--(v) WITH count(e) AS m } AS x' },
    matches: refusedByNeo4j(
      /^Aggregation column contains implicit grouping|^Can't use aggregate functions inside of aggregate functions/,
    ),
    changed: aggregatingSubqueryAsNull,
  },
  {
    id: 'condition-not-evaluated',
    construct: 'An error in a part that the answer does not need',
    right: 'both',
    why: 'The order of the conditions of a pattern is not specified, nor whether a part is evaluated that no row or no result needs. Each of the two may fail where the other does not evaluate the part: Neo4j evaluates an independent subquery or condition before the rows, and omits the items of a list literal that an index does not take.',
    example: {
      query: 'MATCH ()-->()<--() WITH * WHERE exists { MATCH (z) WITH z.num AS w WHERE w } RETURN 1 AS x',
      graph: '(a:Team {num: 1})-[:B]->(a)',
    },
    matches: (_, ours, theirs) =>
      (ours.error === null && theirs.error?.phase === 'run') || (theirs.error === null && ours.error?.phase === 'run'),
    changed: unevaluatedPartAsNull,
  },
  {
    id: 'own-functions',
    construct:
      '`net.contains`, `net.version`, `dateOrNull`, `timeOrNull`, `localtimeOrNull`, `datetimeOrNull`, `localdatetimeOrNull`, `durationOrNull`',
    right: 'both',
    why: 'These functions are those of Verdigraph. On a database server, Verdigraph evaluates them itself.',
    example: { query: "RETURN net.version('10.0.0.1') AS x" },
    matches: refusedByNeo4j(/^Unknown function '(?:net\.\w+|\w+OrNull)'/),
  },
  {
    id: 'duration-order',
    construct: '`<`, `<=`, `>` and `>=` of durations',
    right: 'both',
    why: 'Verdigraph compares two durations if one ends before the other from every start: a day has 24 hours, a month 28 to 31 days, twelve months 365 or 366. Otherwise the result is null, as in Neo4j for all durations.',
    example: { query: "RETURN duration('PT90M') < duration('PT2H') AS x" },
    matches: (text, ours, theirs) => /duration/.test(text) && /[<>]/.test(text) && bothHaveRows(text, ours, theirs),
  },
  {
    id: 'average-duration',
    construct: '`avg` of durations',
    right: 'Verdigraph',
    why: 'Verdigraph adds months, days and time exactly and divides once; time never becomes days. Neo4j averages floats, loses nanoseconds, and turns 24 hours into a day.',
    example: { query: "RETURN avg(duration('PT365H')) AS x" },
    matches: (text, ours, theirs) => /duration/.test(text) && bothHaveRows(text, ours, theirs),
    changed: averageAsSum,
  },
  {
    id: 'duration-fraction',
    construct: 'A duration times or divided by a number: the last nanoseconds',
    right: 'Verdigraph',
    why: 'Verdigraph multiplies and divides exactly and drops the rest below a nanosecond. Neo4j computes with floats, which can be some nanoseconds off.',
    example: { query: "RETURN duration('P1Y2M3DT4H5M6.7S') / 3 AS x" },
    matches: (text, ours, theirs) =>
      /duration/.test(text) &&
      /[*/]/.test(text) &&
      [0n, NEAR_NANOS / 2n].some((shift) => withoutNanos(ours, shift) === withoutNanos(theirs, shift)),
  },
  {
    id: 'empty-count-in-optional-match',
    construct: 'A `COUNT { }` or `COLLECT { }` without rows in the `WHERE` of an `OPTIONAL MATCH`',
    right: 'Verdigraph',
    why: 'If the subquery uses no variable from outside, Neo4j groups its rows by the outer variables: without a row there is no group, and the condition counts as false. The count is 0.',
    example: {
      query: 'MATCH (a) OPTIONAL MATCH (b) WHERE COUNT { (c) WHERE c.num > 1 } < 1 RETURN b',
      graph: '(a:Person)',
    },
    matches: bothHaveRows,
    changed: countsBeforeOptionalMatch,
  },
  {
    id: 'distinct-of-expression-in-subquery',
    construct: 'DISTINCT of an expression after a variable length, within a subquery',
    right: 'Verdigraph',
    why: 'Neo4j finds each end node once and then drops the DISTINCT, although the expression can have the same value for several nodes.',
    example: {
      query: 'MATCH (a) CALL { WITH a MATCH (a)-[*1..2]-(b) RETURN DISTINCT b.num AS n } RETURN n',
      graph: '(a:Doc)-[:B]->(b:Doc)-[:B]->(c:Team)',
    },
    matches: (text, ours, theirs) =>
      /\{.*(\*|\{\d*,\d*\}|\+).*DISTINCT.*\}/s.test(text) && asSets(ours) !== null && asSets(ours) === asSets(theirs),
  },
  {
    id: 'nan-groups',
    construct: '`NaN` in DISTINCT, UNION and grouping keys',
    right: 'Verdigraph',
    why: 'By the equivalence of openCypher, which groups values, `NaN` is equivalent to itself, although `NaN = NaN` is false. Neo4j makes a group of each `NaN`, and one of all if it is a literal.',
    example: { query: 'UNWIND [NaN, NaN] AS x RETURN DISTINCT x' },
    matches: bothHaveRows,
    changed: nanInGroups,
  },
  {
    id: 'float-by-integer-zero',
    construct: 'A float or null divided by the integer 0',
    right: 'both',
    why: 'Verdigraph divides a float by an integer as a float: the result is infinite or `NaN`, and null for null. Neo4j does the same with literals, and fails if the 0 comes from a variable or a property.',
    example: { query: 'UNWIND [0] AS z RETURN 1.5 / z AS x' },
    matches: (_, ours, theirs) =>
      ours.error === null && theirs.error?.kind === 'arithmetic' && /by zero/.test(theirs.error.message),
    changed: divisorZero,
  },
  {
    id: 'duration-by-float-zero',
    construct: 'A duration divided by the float 0.0',
    right: 'both',
    why: 'Verdigraph reports a division by zero, as for the integer 0. Neo4j returns a duration of 0.',
    example: { query: "UNWIND [0.0] AS z RETURN duration('P1D') / z AS x" },
    matches: (text, ours, theirs) =>
      /duration/.test(text) &&
      theirs.error === null &&
      ours.error?.kind === 'arithmetic' &&
      /by zero/.test(ours.error.message),
  },
  {
    id: 'chained-predicates',
    construct: 'Several of `IN`, `STARTS WITH`, `=~`, `IS NULL`, `IS ::` and the like in a chain without parentheses',
    right: 'Verdigraph',
    why: 'The grammar of openCypher has such chains, from left to right: `a IN b IN c` is `(a IN b) IN c`. Neo4j 5.26 accepts only one predicate without parentheses.',
    example: { query: 'RETURN 1 IN [1] IN [true] AS x' },
    matches: refusedByNeo4j(/^Invalid input '(IN|IS|STARTS|ENDS|CONTAINS|=~|::)'/),
  },
  {
    id: 'single-value-as-list',
    construct:
      'A single value where a list is wanted: after `IN`, in `UNWIND`, slices, comprehensions, `any`, `reduce` and `tail`',
    right: 'Verdigraph',
    why: 'Neo4j takes a value that is no list for a list of one item if its type is known only when the query runs, and refuses the text otherwise. Verdigraph always reports a type error: openCypher defines these for lists.',
    example: { query: 'MATCH (a) RETURN 1 IN a.num AS x', graph: '(a:Person {num: 1})' },
    matches: (_, ours, theirs) =>
      ours.error?.kind === 'type' &&
      / takes a list| has no items$/.test(ours.error.message) &&
      theirs.error?.phase !== 'compile',
    changed: singleValueAsList,
  },
  {
    id: 'condition-no-boolean',
    construct: 'A condition, or an operand of `AND`, `OR` and `XOR`, that is no boolean',
    right: 'Verdigraph',
    why: 'Neo4j simplifies `x AND true` to `x` and `x AND false` to false without a look at `x`, and takes a map, or a list that is not empty, for true. Verdigraph reports a type error, because such a condition is a mistake that would grant access.',
    example: { query: 'MATCH (a) WHERE a.tags RETURN 1 AS x', graph: "(a:Person {tags: ['a']})" },
    matches: (_, ours, theirs) =>
      ours.error?.kind === 'type' &&
      ours.error.message.startsWith('a condition takes a boolean') &&
      theirs.error?.phase !== 'compile',
    changed: conditionAsBoolean,
  },
  {
    id: 'same-match-reads',
    construct: 'A condition within a quantified or variable-length part that reads another element of the same `MATCH`',
    right: 'Neo4j',
    why: 'Verdigraph tests these conditions while it walks, when the other element may not be known yet, and refuses the text. With the other element in a `MATCH` before, both answer equally.',
    example: {
      query: 'MATCH (z), (a) ((x)-[r]->(y) WHERE x.num > z.num){1,2} (b) RETURN a.num AS x',
      graph: '(a:Person {num: 2})-[:A]->(b:Team {num: 1})',
    },
    matches: (_, ours, theirs) => theirs.error === null && / of the same MATCH: match it/.test(compileMessage(ours)),
  },
  {
    id: 'collect-negative-index',
    construct: 'A negative index or bound directly after `COLLECT { }`',
    right: 'Verdigraph',
    why: 'Neo4j turns the index into a LIMIT of the subquery, which is wrong for places that count from the end: it returns null or nothing, or fails.',
    example: { query: 'RETURN COLLECT { UNWIND [1, 2] AS z RETURN z ORDER BY z }[-1] AS x' },
    matches: (_, ours, theirs) => ours.error === null && theirs.error?.phase !== 'compile',
    changed: collectedCopied,
  },
  {
    id: 'count-compared-with-other',
    construct: '`COUNT { }` of the relationships of a node, compared with a value that is no number',
    right: 'Verdigraph',
    why: 'Neo4j compares the stored degree of the node, and that comparison fails for other types. Values of different types are not equal, and no order between them is known.',
    example: {
      query: "MATCH (a) WHERE {b: date('2020-02-29')}.b = COUNT { (a)--() } RETURN 1 AS x",
      graph: '(a:Person)',
    },
    matches: (_, ours, theirs) =>
      ours.error === null && (theirs.error?.message ?? '').startsWith('Expected a numeric value but got'),
    changed: countsWrapped,
  },
  {
    id: 'text-plus-value',
    construct: 'A text plus a boolean or a temporal value',
    right: 'both',
    why: "Neo4j refuses `'a' + true` if the text of the query shows the types, and returns `'atrue'` if only the run knows them. Verdigraph always reports a type error: write `'a' + toString(x)`.",
    example: { query: 'MATCH (a) RETURN a.name + a.flag AS x', graph: "(a:Person {name: 'a', flag: true})" },
    matches: (_, ours, theirs) =>
      ours.error?.kind === 'type' &&
      /^`\+` does not accept .*a string/.test(ours.error.message) &&
      theirs.error?.phase !== 'compile',
    changed: addedAsText,
  },
  {
    id: 'rtrim-first-character',
    construct: '`rtrim` with characters to remove',
    right: 'Verdigraph',
    why: 'Neo4j never removes the first character of the text. Its manual defines that all of the characters at the end are removed, as `btrim` and `trim(TRAILING …)` do.',
    example: { query: "RETURN rtrim('ab', 'ab') AS x" },
    matches: bothHaveRows,
    changed: trimmedRight,
  },
  {
    id: 'split-surrogates',
    construct: '`split` into characters beyond U+FFFF',
    right: 'Verdigraph',
    why: 'Neo4j splits such a character, for example an emoji, into two halves that are no characters. Verdigraph splits code points, as the other functions of both do.',
    example: { query: "RETURN split('a\u{1F600}', '') AS x" },
    matches: (text, ours, theirs) =>
      /split\(/.test(text) && /[\u{10000}-\u{10FFFF}]/u.test(text) && ours.error === null && theirs.error === null,
  },
  {
    id: 'split-by-list-with-empty-text',
    construct: '`STARTS WITH`, `ENDS WITH` and `CONTAINS` of a text from `split` by a list with an empty text',
    right: 'Verdigraph',
    why: 'In Neo4j such a part does not start with, end with or contain the empty text, although an equal text that is written does.',
    example: { query: "UNWIND split('ab', ['']) AS part RETURN part STARTS WITH '' AS x" },
    matches: (text, ours, theirs) => /STARTS WITH|ENDS WITH|CONTAINS/i.test(text) && bothHaveRows(text, ours, theirs),
    changed: splitCopied,
  },
  {
    id: 'split-empty-text',
    construct: '`split` of an empty text by a list with null',
    right: 'both',
    why: 'Neo4j does not read the delimiters of an empty text. In Verdigraph a null delimiter gives null for every text.',
    example: { query: "RETURN split('', ['a', null]) AS x" },
    matches: bothHaveRows,
    changed: emptyTextAsNull,
  },
  {
    id: 'groups-of-one-length',
    construct: '`SHORTEST n GROUPS` or `ALL SHORTEST` of a pattern of one length with a condition in its parentheses',
    right: 'Verdigraph',
    why: 'Neo4j accepts the text and reports an internal error when it runs it. Paths of one length are one group, so the selector keeps all of them: without it, both answer equally.',
    example: {
      query: 'MATCH SHORTEST 2 GROUPS ((a)-[r]->(b) WHERE b.num > 1) RETURN b.num AS x',
      graph: '(a:Person {num: 1})-[:B]->(b:Team {num: 2})',
    },
    matches: (_, ours, theirs) =>
      ours.error === null &&
      theirs.error?.phase === 'run' &&
      theirs.error.kind === 'internal' &&
      theirs.error.message.startsWith('Parenthesised path patterns are only supported at the top level'),
    changed: groupsOfOneLengthAsAll,
  },
  {
    id: 'match-modes',
    construct: '`REPEATABLE ELEMENTS` and `DIFFERENT RELATIONSHIPS`',
    right: 'Verdigraph',
    why: 'Match modes came to Neo4j after 5.26.',
    example: { query: 'MATCH REPEATABLE ELEMENTS (a)-->(b) RETURN a' },
    matches: refusedByNeo4j(/^Match modes such as/),
  },
  {
    id: 'integer-out-of-range',
    construct: '`toInteger` of a float that is not a 64-bit integer',
    right: 'both',
    why: 'Neo4j returns the nearest 64-bit integer, and 0 for `NaN`. Verdigraph reports an error, because a wrong number can grant access.',
    example: { query: 'RETURN toInteger(log(0.0)) AS x' },
    matches: (text, ours, theirs) =>
      /toInteger/i.test(text) &&
      theirs.error === null &&
      / is not an integer$|^integer overflow: -?\d+ does not fit/.test(ours.error?.message ?? ''),
  },
  {
    id: 'digits-of-other-scripts',
    construct: '`toInteger` of a text with digits of other scripts',
    right: 'both',
    why: 'Neo4j reads the digits of all scripts, such as the full-width `５`, as an integer, but not as a float. Verdigraph reads only `0` to `9`, in both.',
    example: { query: "RETURN toInteger('\\uff15') AS x" },
    matches: bothHaveRows,
    changed: otherDigitsAsNull,
  },
  {
    id: 'impossible-literal',
    construct: 'A temporal value that does not exist',
    right: 'both',
    why: 'Neo4j may refuse the query when it plans it. Verdigraph reports the error when the value is computed; a policy with such a text is refused when it is stored.',
    example: { query: "RETURN date('2024-02-30') AS x" },
    matches: (text, ours, theirs) =>
      /\b(date|time|localtime|localdatetime|datetime|duration)\(/i.test(text) &&
      ours.error?.phase === 'run' &&
      ours.error.kind === 'argument' &&
      /^(Invalid (date|value for)|Text cannot be parsed)/.test(compileMessage(theirs)),
  },
  {
    id: 'skip-limit-unused',
    construct: 'A negative `SKIP` or `LIMIT` over no rows',
    right: 'both',
    why: 'Verdigraph checks the value of a parameter before it reads rows; Neo4j only when the first row arrives.',
    example: { query: 'MATCH (a) WITH a SKIP 1 LIMIT $n RETURN a', parameters: { n: -1 } },
    matches: (_, ours, theirs) => theirs.error === null && /^(SKIP|LIMIT) /.test(ours.error?.message ?? ''),
  },
  {
    id: 'own-fields',
    construct: '`create_time`, `update_time` and the other own fields of an element',
    right: 'both',
    why: 'Every element of Verdigraph has them; see the decision on own fields (docs/decisions/0004-element-fields-and-values.md).',
    example: { query: 'MATCH (a) RETURN a.create_time IS NULL AS x', graph: '(a:Person)' },
    matches: (text) => /\.(create_time|update_time)\b/.test(text),
  },
  {
    id: 'grouped-expressions',
    construct: 'An aggregate next to part of a grouping key in `ORDER BY`',
    right: 'Verdigraph',
    why: 'The openCypher suite wants `AmbiguousAggregationExpression` for `ORDER BY a.x + b.x + count(*)` after `RETURN a.x + b.x, count(*)`. Neo4j takes `a.x + b.x` for the grouping key that it equals.',
    example: { query: 'MATCH (a)--(b) RETURN a.age + b.age, count(*) AS c ORDER BY a.age + b.age + count(*)' },
    matches: (_, ours, theirs) => theirs.error === null && /^AmbiguousAggregation/.test(compileMessage(ours)),
  },
]

/** The rows without repetitions, also in lists. */
function asSets(outcome: JudgedOutcome): string | null {
  if (outcome.error !== null) return null
  const text = (value: JudgedValue): string =>
    Array.isArray(value)
      ? `[${[...new Set((value as readonly JudgedValue[]).map(text))].sort().join(', ')}]`
      : textOf(value, { numbers: true })
  return [...new Set(outcome.rows.map((row) => row.map(text).join(' | ')))].sort().join('\n')
}

const NEAR_NANOS = 1_000n

/** The sorted rows, with durations and times rounded after a shift. */
function withoutNanos(outcome: JudgedOutcome, shift: bigint): string | null {
  if (outcome.error !== null) return null
  const nearNanos = (nanos: number): bigint => (BigInt(nanos) + shift) / NEAR_NANOS
  const near = (value: JudgedValue): JudgedValue => {
    if (value instanceof DurationValue)
      return new DurationValue(value.months, value.days, (value.nanos + shift) / NEAR_NANOS)
    // A time to which such a duration was added.
    if (value instanceof LocalTimeValue) return `localtime ${nearNanos(value.nanos)}`
    if (value instanceof TimeValue) return `time ${nearNanos(value.nanos)} ${value.offset}`
    if (value instanceof LocalDateTimeValue) return `localdatetime ${value.day} ${nearNanos(value.nanos)}`
    if (value instanceof DateTimeValue)
      return `datetime ${value.day} ${nearNanos(value.nanos)} ${value.offset} ${value.zone}`
    return Array.isArray(value) ? (value as readonly JudgedValue[]).map(near) : value
  }
  return outcome.rows
    .map((row) => row.map((cell) => textOf(near(cell), { bag: true, numbers: true })).join(' | '))
    .sort()
    .join('\n')
}

/** The known differences that this one may be. */
export function knownDifferencesOf(text: string, ours: JudgedOutcome, theirs: JudgedOutcome): KnownDifference[] {
  return knownDifferences.filter((known) => known.matches(text, ours, theirs))
}
