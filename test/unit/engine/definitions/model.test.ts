// Models: what is refused, with its place, and what a query over a model cannot write.
import { describe, expect, test } from 'vitest'
import { compileCondition } from '../../../../src/engine/conditions.ts'
import { type CompiledModel, compileModel } from '../../../../src/engine/definitions/model.ts'
import { compileRowsQuery } from '../../../../src/engine/rows-query.ts'

function modelOf(text: string): CompiledModel {
  const model = compileModel(text)
  if (!model.ok) throw new Error(model.error[0]!.message)
  return model.value
}

/** Each fault as `code: message @ the text at its place`. */
function faultsOf(text: string): readonly string[] {
  const model = compileModel(text)
  if (model.ok) return []
  return model.error.map(({ code, message, span }) => `${code}: ${message} @ ${text.slice(span.start, span.end)}`)
}

const GROUPS =
  'DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) UNION MATCH (u)-[:in]->(x)-[:MEMBER]->(g) }'

describe('a model', () => {
  test('lists its definitions in the order of the text; an empty one has none', () => {
    const text = `${GROUPS};\nDEFINE (u)-[:can_view]->(d:Doc) AS { MATCH (u)-[:in]->(:Group)-[:VIEWER]->(d) }`
    expect(modelOf(text).names).toEqual(['in', 'can_view'])
    expect(modelOf('').names).toEqual([])
  })

  test.each([
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) } DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:B]->(d) }',
      'InvalidDefinition: `x` is defined twice: write its alternatives in one definition, with UNION @ x',
    ],
    [
      'DEFINE (u)-[:x]->(u) AS { MATCH (u)-[:A]->(u) }',
      'InvalidDefinition: the two ends of a definition need different variables @ (u)',
    ],
    [
      'DEFINE (u)-[:_HAS]->(d) AS { MATCH (u)-[:A]->(d) }',
      'InvalidDefinition: `_HAS` cannot be defined: names that begin with `_` belong to the service @ _HAS',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WHERE u.n = $subject_id }',
      'ReservedParameter: parameter "$subject_id" is reserved and cannot be referenced @ $subject_id',
    ],
    [
      'DEFINE (u)-[:x]->(:Doc) AS { MATCH (u) }',
      'InvalidDefinition: each end of a definition needs a variable, which its body uses @ (:Doc)',
    ],
    [
      'DEFINE (u {a: 1})-[:x]->(d) AS { MATCH (u)-[:A]->(d) }',
      'InvalidDefinition: conditions on the ends of a definition belong into its body @ (u {a: 1})',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) RETURN u, d }',
      'ForbiddenClause: a definition has no RETURN: its rows are the pairs of the two variables of its head @ RETURN u, d',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WITH u, d LIMIT 1 }',
      'InvalidDefinition: DISTINCT, ORDER BY, SKIP and LIMIT are not allowed in a definition: its pairs have no order @ WITH u, d LIMIT 1',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WITH u, d, count(*) AS n }',
      'InvalidAggregation: WITH cannot aggregate in a definition: use COUNT { } or COLLECT { } @ MATCH (u)-[:A]->(d) WITH u, d, count(*) AS n',
    ],
    ['DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WHERE rand() > 0.5 }', 'Nondeterministic'],
    [
      'DEFINE (u)-[:x]->(d) AS { CALL { MATCH (u) } }',
      'ForbiddenClause: CALL is not allowed in a definition @ CALL { MATCH (u) }',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(z) WHERE y.n = 1 }',
      'UndefinedVariable: variable `y` is not defined; did you mean',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WHERE NOT (u)-[:x]->(d) }',
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `x` → `x` @ x',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:y]->(d) } DEFINE (u)-[:y]->(d) AS { MATCH (u)-[:A]->(d) WHERE COUNT { (u)-[:x]->() } = 0 }',
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `y` → `x` → `y` @ x',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) OPTIONAL MATCH (d)-[:x]->(z) }',
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `x` → `x` @ x',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH ANY SHORTEST ((u)-[:A]->(m)-[:B]->+(z) WHERE (u)-[:x]->(z)) MATCH (m)-[:C]->(d) }',
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `x` → `x` @ x',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WHERE EXISTS { MATCH (u)-[:x]->(z) WITH count(z) AS n WHERE n = 0 RETURN n } }',
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `x` → `x` @ x',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WHERE EXISTS { MATCH (u)-[:x]->(z) RETURN count(z) AS n SKIP 0 } }',
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `x` → `x` @ x',
    ],
    [
      'DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) WHERE EXISTS { MATCH (u)-[:x]->(z) WITH z ORDER BY z.n LIMIT 1 WHERE z.n = 2 RETURN z } }',
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `x` → `x` @ x',
    ],
    ['DEFINE (u)-[r:x]->(d) AS { MATCH (u)-[:A]->(d) }', 'UnexpectedSyntax: '],
    ['DEFINE (u)<-[:x]-(d) AS { MATCH (u)-[:A]->(d) }', 'UnexpectedSyntax: '],
  ])('refuses %s', (text, expected) => {
    expect(faultsOf(text).join('\n').slice(0, expected.length)).toBe(expected)
  })

  test('accepts recursion in EXISTS whose RETURN has a limit, or after which nothing is counted', () => {
    const alternatives = [
      'EXISTS { MATCH (u)-[:x]->(z) RETURN z LIMIT 1 }',
      'EXISTS { MATCH (u)-[:B]->(z) WITH count(z) AS n WHERE n > 1 MATCH (u)-[:x]->(d) RETURN n }',
    ]
    for (const test of alternatives) {
      expect(faultsOf(`DEFINE (u)-[:x]->(d) AS { MATCH (u)-[:A]->(d) UNION MATCH (d) WHERE ${test} }`)).toEqual([])
    }
  })

  test('accepts recursion and, of definitions before it, exclusions', () => {
    expect(faultsOf(`${GROUPS} DEFINE (u)-[:out]->(g:Group) AS { MATCH (u:User) WHERE NOT (u)-[:in]->(g) }`)).toEqual(
      [],
    )
  })
})

describe('a step over a definition', () => {
  const model = modelOf(GROUPS)
  const faultOf = (text: string): string => {
    const query = compileRowsQuery(text, undefined, 'open', model)
    return query.ok ? '' : `${query.error[0]!.code}: ${query.error[0]!.message}`
  }

  test.each([
    ['MATCH (a)-[r:in]->(b) RETURN a', 'it cannot have a variable'],
    ['MATCH (a)-[:in {since: 1}]->(b) RETURN a', 'it has no properties that a pattern could test'],
    ['MATCH (a)-[:in WHERE true]->(b) RETURN a', 'it has no properties that a pattern could test'],
    ['MATCH (a)-[:in|MEMBER]->(b) RETURN a', 'it must be the only type of its step'],
    ['MATCH (a)-[:!in]->(b) RETURN a', 'it must be the only type of its step'],
    ['MATCH (a)-[:in]-+(b) RETURN a', 'it needs a direction'],
    ['MATCH (a)-[r:in]->+(b) RETURN a', 'it cannot have a variable'],
    ['MATCH (a)((x)-[r:in]->(y))+(b) RETURN a', 'it cannot have a variable'],
    ['MATCH p = (a)-[:in]->(b) RETURN p', 'a named path cannot contain it'],
    ['MATCH p = (a)-[:in]->+(b) RETURN p', 'a named path cannot contain it'],
    ['MATCH p = (a)((x)-[:in]->(y))+(b) RETURN p', 'a named path cannot contain it'],
    ['MATCH ANY (a)-[:in]->+(b) RETURN a', 'a path with a selector cannot contain it'],
    ['MATCH ANY SHORTEST (a)-[:in]->(b) RETURN a', 'a path with a selector cannot contain it'],
    ['MATCH p = shortestPath((a)-[:in]->(b)) RETURN p', 'a path with a selector cannot contain it'],
    ['MATCH (a)-[:in]-(b) RETURN a', 'it needs a direction'],
  ])('%s is refused', (text, why) => {
    expect(faultOf(text)).toBe(`InvalidDerivedRelationship: \`in\` is derived by a definition: ${why}`)
  })

  test.each([
    'MATCH (a)-[r]->(b) WHERE r:in RETURN a',
    'MATCH (a)-[r]->(b) RETURN NOT r:in|MEMBER AS other',
    'MATCH (a)-[r]->+(b) WHERE any(one IN r WHERE one:in) RETURN a',
  ])('%s is refused: a stored relationship has no derived type', (text) => {
    expect(faultOf(text)).toBe(
      'InvalidDerivedRelationship: `in` is derived by a definition: no stored relationship is one, so test the pair of nodes by a pattern',
    )
  })

  test('a label of a node may have the name of a definition', () => {
    expect(faultOf('MATCH (a) WHERE a:in RETURN a')).toBe('')
  })

  test.each([
    [
      'MATCH (a)-[:in]->{1,101}(b) RETURN a',
      'InvalidDerivedRelationship: more than 100 repetitions of a derived relationship: define the walk, which may be recursive',
    ],
    [
      'MATCH (x) MATCH (a)((x)-[:in]->(y))+(b) RETURN a',
      'VariableAlreadyBound: variable `x` is already bound by an earlier clause: give it another name',
    ],
    [
      'MATCH (c) MATCH (a)((x)-[:in]->(y) WHERE x.n = c.n)+(b) RETURN a',
      'UndefinedVariable: a repeated pattern with a derived relationship reads only its own elements: variable `c` is not defined; did you mean `x`?',
    ],
    [
      'MATCH (a)((x)-[:in]->(y))+(b) RETURN x',
      'UndefinedVariable: `x` is inside of a repeated pattern with a derived relationship, whose elements cannot be read outside of it: name the node after the repetition, as in `(…)+(last)`, or match the elements without repeating them',
    ],
    ['MATCH (a)((x)-[:in]->(y))+(b) RETURN z', 'UndefinedVariable: variable `z` is not defined; did you mean `a`?'],
  ])('the repetition %s is refused', (text, message) => {
    expect(faultOf(text)).toBe(message)
  })

  test('a repeated pattern names what it reads in the graph', () => {
    const query = compileRowsQuery(
      'MATCH (a:User)((x:Team)-[:in]->(y)-[:HAS]->(z) WHERE x.level > $least)+(b) RETURN b',
      undefined,
      'open',
      model,
    )
    if (!query.ok) throw new Error(query.error[0]!.message)
    expect(query.value.symbols.map(({ name }) => name).toSorted()).toEqual(['HAS', 'Team', 'User', 'level'])
    expect(query.value.parameters).toEqual(['least'])
  })

  test('an exclusion of a repetition that depends on the definition is refused, and the cycle named', () => {
    const text = 'DEFINE (u)-[:a]->(d) AS { MATCH (u)-[:A]->(d) WHERE NOT (d)-[:a]->+(u) }'
    expect(faultsOf(text)).toEqual([
      'UnstratifiedDefinition: a definition cannot exclude or count what depends on itself: `a` → `a+` → `a` @ a',
    ])
  })

  test('reads the parameters of the definition, and depends on what the definition reads', () => {
    const text =
      'DEFINE (u:User)-[:x]->(d) AS { MATCH (u)-[:A]->(d:Doc) WHERE d.level > $level UNION MATCH (u)-[:x]->(e)-[:x]->(d) }'
    const condition = compileCondition({
      text: 'MATCH (subject:User)-[:x]->(resource:Doc)',
      dialect: '2.0-kbac',
      subjectType: 'User',
      resourceType: 'Doc',
      definitions: modelOf(text),
    })
    if (!condition.ok) throw new Error(condition.error[0]!.message)
    expect(condition.value.parameters).toEqual(['level'])
    expect([...condition.value.dependencies.types]).toEqual(['A'])
    expect([...condition.value.dependencies.properties]).toEqual(['level'])
    expect(condition.value.symbols.map(({ name }) => name)).toEqual(['User', 'Doc'])
  })
})
