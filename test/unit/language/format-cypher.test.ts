// The layout of formatted Cypher, by example. test/process/language/format-properties.test.ts has the properties.
import { expect, test } from 'vitest'
import { formatCypher, LINE_WIDTH } from '../../../src/language/format/format-cypher.ts'

const formatted = (text: string): string => {
  const result = formatCypher(text)
  if (!result.ok) throw new Error(result.error[0]?.message)
  return result.value
}

test('clauses have lines of their own, keywords are in upper case, and long clauses are broken', () => {
  const text = `match (subject:Person { id:1 })-[ :MEMBER*1..2 ]->(t:Team),(t)<-[:OWNED_BY]-(resource:Document) where subject.active=true and
    not exists{(subject)-[:BANNED_FROM]->(t)} and resource.level in[1,2,- 3] with subject,resource`
  expect(formatted(text).split('\n')).toEqual([
    'MATCH (subject:Person {id: 1})-[:MEMBER*1..2]->(t:Team),',
    '  (t)<-[:OWNED_BY]-(resource:Document)',
    'WHERE subject.active = true',
    '  AND NOT EXISTS { (subject)-[:BANNED_FROM]->(t) }',
    '  AND resource.level IN [1, 2, -3]',
    'WITH subject, resource',
  ])
})

test('allReduce that is too long has its parts on lines of their own', () => {
  const text = 'match (n) with *,allReduce(acc=0,q in [n.num,n.other]|acc+coalesce(q,0),acc<3) as within where within'
  expect(formatted(text).split('\n')).toEqual([
    'MATCH (n)',
    'WITH *, allReduce(',
    '  acc = 0,',
    '  q IN [n.num, n.other] | acc + coalesce(q, 0),',
    '  acc < 3',
    ') AS within',
    'WHERE within',
  ])
})

test('a subquery that is too long has its clauses on lines of their own', () => {
  const text =
    'CALL { MATCH (subject:Person)-[:OWNS]->(resource:Car) RETURN subject, resource UNION MATCH (subject)-[:DRIVES]->(resource) RETURN subject, resource }'
  expect(formatted(text).split('\n')).toEqual([
    'CALL {',
    '  MATCH (subject:Person)-[:OWNS]->(resource:Car)',
    '  RETURN subject, resource',
    '  UNION',
    '  MATCH (subject)-[:DRIVES]->(resource)',
    '  RETURN subject, resource',
    '}',
  ])
  expect(
    Math.max(
      ...formatted(text)
        .split('\n')
        .map((line) => line.length),
    ),
  ).toBeLessThanOrEqual(LINE_WIDTH)
})

test('comments stay where they are', () => {
  const text =
    '// who may read\nmatch (subject)-->(resource) // direct\n\n/* not\n   the rest */\nwhere subject.x>1 // enough'
  expect(formatted(text)).toBe(
    '// who may read\nMATCH (subject)-->(resource) // direct\n\n/* not\n   the rest */\nWHERE subject.x > 1 // enough'.replace(
      '\n\n/*',
      '\n/*',
    ),
  )
})

test('labels after IS have a space before the first', () => {
  expect(
    formatted('match (n  is  Person & ! Vip {x:1})-[r is A |B*1..2]->(is( Car|Team )) where n is $( $a ) return n'),
  ).toBe('MATCH (n IS Person&!Vip {x: 1})-[r IS A|B*1..2]->(IS (Car|Team))\nWHERE n IS $($a)\nRETURN n')
  expect(formatted('match (n) where n.x is  null and n is ! Person and n is not null return 1 as x')).toBe(
    'MATCH (n) WHERE n.x IS NULL AND n IS !Person AND n IS NOT NULL\nRETURN 1 AS x',
  )
})

test('the name of a column without alias stays as written', () => {
  expect(formatted('match (n) return n.a+1,n.b  as  b')).toBe('MATCH (n)\nRETURN n.a+1, n.b AS b')
  expect(formatted('match (n) return ( n ),n')).toBe('MATCH (n)\nRETURN ( n ), n')
})

test('a text that does not parse is refused with its diagnostic', () => {
  const refused = formatCypher('MATCH (a')
  expect(refused.ok ? [] : refused.error.map(({ code }) => code)).toEqual(['UnexpectedSyntax'])
})

test('path selectors, match modes, quantified path patterns and dynamic labels', () => {
  const text =
    'match repeatable elements p=shortest 2 groups ((a)((x)-[r:R]->(y) where x.n<y.n){1,3}(b:$($x+"A")&!$any( $c )) where p.n>1) match any (c)-->+(path) return path'
  expect(formatted(text).split('\n')).toEqual([
    'MATCH REPEATABLE ELEMENTS p = SHORTEST 2 GROUPS ((a) ((x)-[r:R]->(y) WHERE x.n < y.n){1,3} (b:$($x + "A")&!$any($c)) WHERE p.n > 1)',
    'MATCH ANY (c)-->+(path)',
    'RETURN path',
  ])
  expect(formatted(formatted(text))).toBe(formatted(text))
})
