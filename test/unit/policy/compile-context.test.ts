import { describe, expect, test } from 'vitest'
import { compileContextPolicy } from '../../../src/policy/compile-context.ts'
import { covers, parsePath } from '../../../src/policy/element-path.ts'

const CYPHER = 'MATCH (subject:Person)-[r:OWNS]->(car:Car) WITH subject, r, car, COUNT(r) AS n'
const good = {
  meta: { policy_version: '1.0-ciq' },
  subject: { type: 'Person' },
  condition: { cypher: CYPHER },
}
const compile = (more: object = {}, cypher = CYPHER) => {
  const document = {
    ...good,
    ...more,
    condition: { ...good.condition, cypher, ...(more as { condition?: object }).condition },
  }
  return compileContextPolicy(JSON.stringify(document))
}
const issues = (more: object, cypher?: string) => {
  const compiled = compile(more, cypher)
  if (compiled.ok) throw new Error('accepted')
  return compiled.error
}

describe('a context policy', () => {
  test('reports the variables and parameters of its condition', () => {
    const compiled = compile({}, 'MATCH (subject:Person {external_id: $token.sub})-[r:OWNS]->(car:Car {plate: $plate})')
    expect(compiled.ok && compiled.value.variables).toEqual(
      new Map([
        ['subject', 'node'],
        ['r', 'relationship'],
        ['car', 'node'],
      ]),
    )
    expect(compiled.ok && compiled.value.source.parameters).toEqual(['token', 'plate'])
  })

  test('can use every documented path', () => {
    const compiled = compile({
      condition: {
        filter: [
          {
            operator: 'AND',
            app: 'shop',
            operands: [
              { operator: '=', attribute: 'subject.external_id', value: '$token.sub' },
              { operator: 'IN', attribute: 'n', value: '@car.property.wheels' },
              { operator: 'IS NULL', attribute: 'car.property.sold' },
              { operator: '>', attribute: 'car.create_time', value: { type: 'datetime', value: '$since' } },
            ],
          },
        ],
        token_filter: {
          operator: 'AND',
          operands: [{ operator: '>=', attribute: '$token.iat', value: '$hour_ago', advice: { error: 'old_token' } }],
        },
      },
      allowed_reads: {
        nodes: ['car', 'car.*', 'made.external_id', 'car.property.price.metadata.source', 'car.trust_score.*'],
        relationships: ['r.*'],
        aggregate_values: ['n'],
      },
      allowed_upserts: {
        nodes: { existing_nodes: ['car'], node_types: ['Car'], node_labels: ['Car'] },
        relationships: {
          existing_relationships: ['r'],
          relationship_types: [{ type: 'OWNS', source_node_label: 'Person', target_node_label: 'Car' }],
        },
      },
      allowed_deletes: { nodes: ['car.property.price'], relationships: ['r'] },
    })
    expect(compiled).toMatchObject({ ok: true })
  })

  test.each<[string, object, string | undefined, string[]]>([
    ['an unknown member', { effect: 'deny' }, undefined, ['policy: unknown member `effect`']],
    [
      'a path of no form',
      { allowed_reads: { nodes: ['car.price'] } },
      undefined,
      [
        'policy.allowed_reads.nodes[0]: expected a path such as `var`, `var.*`, `var.external_id`, `var.property.name` or `var.trust_score.name`, found `car.price`',
      ],
    ],
    [
      'writes to what is not bound',
      { allowed_upserts: { nodes: { existing_nodes: ['bike'] } } },
      undefined,
      ['policy.allowed_upserts.nodes.existing_nodes: the condition does not bind `bike`'],
    ],
    [
      'entries that no row can fulfil',
      {
        allowed_reads: {
          nodes: ['p', 'r.external_id', 's.property.x.metadata.source', 'r.trust_score.*', 'car.type', 'r', 's.id'],
          relationships: ['p.*', 'car.since', 'r.*', 's.type', 'made.type'],
        },
        allowed_upserts: {
          nodes: { existing_nodes: ['car', 'r', 'p'] },
          relationships: { existing_relationships: ['r', 's', 'car'] },
        },
        allowed_deletes: {
          nodes: ['car.external_id', 'car.property.x.metadata.source', 'car.trust_score.*', 'r', 'car.*'],
          relationships: ['r.type', 'car.since', 's', 'p'],
        },
      },
      'MATCH p = (subject:Person)-[r:OWNS]->(car:Car)-[s:NEAR*1..2]->(place)',
      [
        'policy.allowed_reads.nodes[0]: `p` is a path, which can only be returned as an aggregate value',
        'policy.allowed_reads.nodes[1]: `r` is a relationship and has no `external_id`',
        'policy.allowed_reads.nodes[2]: `s` is a relationship and has no readable metadata',
        'policy.allowed_reads.nodes[3]: `r` is a relationship and has no trust score',
        'policy.allowed_reads.relationships[0]: `p` is a path, which can only be returned as an aggregate value',
        'policy.allowed_upserts.nodes.existing_nodes[1]: `r` is not a node',
        'policy.allowed_upserts.nodes.existing_nodes[2]: `p` is not a node',
        'policy.allowed_upserts.relationships.existing_relationships[2]: `car` is not a relationship',
        'policy.allowed_deletes.nodes[0]: is a protected name',
        'policy.allowed_deletes.nodes[1]: cannot be deleted',
        'policy.allowed_deletes.nodes[2]: cannot be deleted',
        'policy.allowed_deletes.nodes[3]: `r` is not a node',
        'policy.allowed_deletes.relationships[0]: is a protected name',
        'policy.allowed_deletes.relationships[1]: `car` is not a relationship',
        'policy.allowed_deletes.relationships[3]: `p` is not a relationship',
      ],
    ],
    [
      'properties with protected names, which no element has',
      {
        allowed_reads: {
          nodes: ['car.property.external_id', 'car.property._service'],
          relationships: ['r.external_id', 'r.property.id'],
        },
      },
      undefined,
      [
        'policy.allowed_reads.nodes[0]: no node has a property `external_id`, because the name is protected; the own field is `car.external_id`',
        'policy.allowed_reads.nodes[1]: no node has a property `_service`, because the name is protected',
        'policy.allowed_reads.relationships[0]: no relationship has a property `external_id`, because the name is protected',
        'policy.allowed_reads.relationships[1]: no relationship has a property `id`, because the name is protected; the own field is `r.id`',
      ],
    ],
    [
      'a filter on what is not bound',
      { condition: { filter: [{ operator: '=', attribute: 'bike.external_id', value: 1 }] } },
      undefined,
      ['policy.condition.filter[0]: the condition does not bind `bike`'],
    ],
    [
      'a filter that names no path of its variable',
      { condition: { filter: [{ operator: '=', attribute: 'subject.name', value: 1 }] } },
      undefined,
      [
        'policy.condition.filter[0].attribute: expected a path such as `var`, `var.*`, `var.external_id`, `var.property.name` or `var.trust_score.name`, found `subject.name`',
      ],
    ],
    [
      'a filter with an invalid parameter name',
      {
        condition: {
          filter: [
            { operator: '=', attribute: 'subject.property.price', value: '$5.00' },
            { operator: '<>', attribute: 'subject.property.owner', value: '$token' },
            { operator: '=', attribute: '$a..b', value: ['$'] },
          ],
        },
      },
      undefined,
      [
        ['[0].value', '$5.00'],
        ['[1].value', '$token'],
        ['[2].attribute', '$a..b'],
        ['[2].value[0]', '$'],
      ].map(
        ([at, found]) =>
          `policy.condition.filter${at}: expected a reference such as \`$param\`, \`$param.member\` or \`$token.<claim>\`, found \`${found}\``,
      ),
    ],
    [
      'a token filter that asks the graph, which a parameter of the caller would answer',
      { condition: { token_filter: { operator: '=', attribute: 'subject.external_id', value: '$token.sub' } } },
      undefined,
      [
        'policy.condition.token_filter.attribute: a token filter is evaluated without the graph: expected `$token.<claim>`, `$svc_token.<path>` or `$<parameter>`, found `subject.external_id`',
      ],
    ],
    [
      'a token filter that compares a claim with the graph, or has a branch of nothing',
      {
        condition: {
          token_filter: {
            operator: 'AND',
            operands: [
              { operator: '=', attribute: '$token.sub', value: '@subject.external_id' },
              { operator: 'OR', operands: [] },
            ],
          },
        },
      },
      undefined,
      [
        'policy.condition.token_filter.operands[0].value: a token filter is evaluated without the graph and cannot use `@subject.external_id`',
        'policy.condition.token_filter.operands[1].operands: expected at least 1 item, found 0',
      ],
    ],
    [
      'an unknown operator',
      { condition: { filter: [{ operator: 'NOT', attribute: 'n', value: 1 }] } },
      undefined,
      [
        'policy.condition.filter[0].operands: expected array, found nothing',
        'policy.condition.filter[0].attribute: `NOT` accepts only operands',
        'policy.condition.filter[0].value: `NOT` accepts only operands',
      ],
    ],
  ])('is refused for %s', (_, more, cypher, expected) => {
    expect(issues(more, cypher)).toEqual(expected)
  })

  test.each([
    ['MATCH (n:Person)', 'the condition must bind `subject` and keep it in scope to its end'],
    ['MATCH (subject:Person)-->(car) WITH car', 'missing required variables in WITH statement: `subject`'],
    ['MATCH (subject:Person) RETURN subject', 'a condition has no RETURN'],
    ['MATCH (subject:Person) CALL { MATCH (c:Car) RETURN c }', 'forbidden clauses: [CALL]'],
    ['USE graph.byName("eu") MATCH (subject:Person)', 'USE clause is not allowed'],
    ['MATCH (subject:Person)-[', 'line 1, column 25'],
  ])('is refused for the condition %s, with the position', (cypher, words) => {
    const [first = ''] = issues({}, cypher)
    expect(first).toContain('policy.condition.cypher: line 1, column ')
    expect(first).toContain(words)
    expect(first).toMatch(/\n *\^+$/)
  })
})

describe('a path', () => {
  test.each([
    ['car.*', ['car', 'car.*', 'car.external_id', 'car.create_time', 'car.property.x', 'car.property.*'], true],
    ['car.*', ['bike', 'car.trust_score.x', 'car.property.x.metadata.source'], false],
    ['car', ['car'], true],
    ['car', ['car.*', 'car.external_id', 'car.property.x'], false],
    ['car.property.*', ['car.property.x', 'car.property.*'], true],
    ['car.property.*', ['car', 'car.*', 'car.type', 'car.property.x.metadata.source'], false],
    ['car.property.x', ['car.property.x'], true],
    ['car.property.x', ['car.property.y', 'car.property.*', 'car.property.x.metadata.source'], false],
    ['car.property.x.metadata.source', ['car.property.x.metadata.source'], true],
    ['car.property.x.metadata.source', ['car.property.x', 'car.property.x.metadata.verified_time'], false],
    ['car.trust_score.*', ['car.trust_score._final_score', 'car.trust_score.*'], true],
    ['car.trust_score.validity', ['car.trust_score.origin', 'car.trust_score.*'], false],
  ])('%s: of %j each is covered: %s', (allowed, asked, covered) => {
    for (const text of asked) {
      const [left, right] = [parsePath(allowed, 'node'), parsePath(text, 'node')]
      expect([text, left.ok && right.ok && covers(left.value, right.value)]).toEqual([text, covered])
    }
  })

  test('of a relationship is an own field or a property, which needs no prefix', () => {
    expect(parsePath('r.since', 'relationship')).toEqual(parsePath('r.property.since', 'relationship'))
    for (const name of ['id', 'type', 'create_time', 'update_time']) {
      expect(parsePath(`r.${name}`, 'relationship')).toEqual({
        ok: true,
        value: { variable: 'r', kind: 'field', name },
      })
    }
    expect(parsePath('r.trust_score.x', 'relationship').ok).toBe(false)
  })

  test.each(['', '.', 'a.', 'a..b', 'a.*.b', 'a b', 'a.property', 'a.property.x.metadata', 'a.property.x.y.z.w', '$p'])(
    '`%s` is invalid',
    (text) => {
      expect(parsePath(text, 'node').ok).toBe(false)
    },
  )
})
