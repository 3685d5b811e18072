// The rules of `verdigraph lint`: each finds its example, and nothing in policies that are right.
import { describe, expect, test } from 'vitest'
import type { LintFinding } from '../../../src/language/lint/finding.ts'
import { lint } from '../../../src/language/lint/lint.ts'
import { lintRuleIds, lintRules } from '../../../src/language/lint/rules.ts'
import { toSarif } from '../../../src/language/lint/sarif.ts'
import { exampleNames } from '../../support/lint-names.ts'

const run = (...files: readonly (readonly [file: string, text: string])[]): readonly LintFinding[] =>
  lint({ documents: files.map(([file, text]) => ({ file, text })), names: exampleNames, actions: [] })

/** A file of a project folder. */
const policy = (cypher: string, more = ''): string =>
  `subject: Person\nactions: [drive]\nresource: Car\n${more}cypher: ${JSON.stringify(cypher)}\n`

const found = (cypher: string, more = ''): string[] =>
  run(['policies/a.policy.yaml', policy(cypher, more)]).map(({ rule }) => rule)

const OWNS = 'MATCH (subject)-[:OWNS]->(resource)'

describe('each rule finds its example', () => {
  test.each(lintRuleIds)('%s', (id) => {
    const findings = lint({ documents: lintRules[id].example, names: exampleNames, actions: [] })
    expect(findings.map(({ rule, severity }) => [rule, severity])).toEqual([[id, lintRules[id].severity]])
  })
})

test('a finding has the place of the text in the file, also in JSON inside of JSON', () => {
  const document = {
    meta: { policy_version: '2.0-kbac' },
    subject: { type: 'Person' },
    actions: ['drive'],
    resource: { type: 'Car' },
    condition: { cypher: 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.name = "é\\t" AND resource.weels > 2' },
  }
  const stored = JSON.stringify({ name: 'drive', status: 'ACTIVE', policy: JSON.stringify(document) }, null, 2)
  const files = {
    'stored.json': stored,
    'document.json': JSON.stringify(document),
    'block.policy.yaml': `subject: Person\nactions: [drive]\nresource: Car\ncypher: |\n  ${document.condition.cypher.replace('\n', '\n  ')}\n`,
    'folded.policy.yaml': `subject: Person\nactions: [drive]\nresource: Car\ncypher: >-\n    ${document.condition.cypher.replace('\n', '\n    ')}\n`,
    'single.policy.yaml': `subject: Person\nactions: [drive]\nresource: Car\ncypher: '${OWNS} WHERE resource.app = ''é'' AND resource.weels > 2'\n`,
    'front.cypher': `---\nsubject: Person\nactions: [drive]\nresource: Car\n---\n${document.condition.cypher}\n`,
  }
  for (const [file, text] of Object.entries(files)) {
    const [finding] = run([file, text]).filter(({ message }) => message.includes('weels'))
    const at = text.indexOf('weels')
    const line = text.slice(0, at).split('\n').length
    expect([file, finding?.line, finding?.column, finding?.end_column], file).toEqual([
      file,
      line,
      at - text.lastIndexOf('\n', at),
      at - text.lastIndexOf('\n', at) + 5,
    ])
    expect(finding?.suggestion).toBe('wheels')
  }
})

test('an error of a member has the place of the member', () => {
  const [finding] = run([
    'a.policy.yaml',
    `${policy(OWNS)}filter:\n  operator: AND\n  operands:\n    - {attribute: $token.sub, operator: IS NULL}\n    - attribute: $token.sub\n      operator: '=='\n`,
  ])
  expect([finding?.rule, finding?.line, finding?.column]).toEqual(['invalid-document', 10, 17])
  expect(run(['a.policy.yaml', 'subject: [\n']).map(({ rule, line }) => [rule, line])).toEqual([
    ['invalid-document', 2],
  ])
})

test('a file whose values are nested too deep, or with aliases of aliases, has one error', () => {
  const nested = `${policy(OWNS)}tags: ${'['.repeat(3_000)}${']'.repeat(3_000)}\n`
  const lists = ['a', 'b', 'c', 'd'].map(
    (name, i) => `${name}: &${name} [${Array(10).fill(i === 0 ? 'x' : `*${'abcd'[i - 1]}`)}]\n`,
  )
  const files: Readonly<Record<string, readonly [place: string, message: string]>> = {
    [nested]: ['5:206', 'nested deeper than 200 levels'],
    [`---\nactions: ${'{a: '.repeat(3_000)}\n---\n${OWNS}\n`]: ['2:806', 'nested deeper than 200 levels'],
    [`${lists.join('')}${policy(OWNS)}tags: *d\n`]: ['1:1', 'the aliases stand for too many values: repeat the values'],
  }
  for (const [text, [place, message]] of Object.entries(files)) {
    const found = run([text.startsWith('---') ? 'a.cypher' : 'a.policy.yaml', text])
    expect(found.map(({ line, column, message }) => [`${line}:${column}`, message])).toEqual([[place, message]])
  }
})

test('policies that are right have no findings', () => {
  for (const cypher of [
    OWNS,
    `${OWNS} WHERE resource.wheels > 2 AND resource.wheels < 4`,
    `${OWNS} WHERE resource.wheels IN [2, 4] AND resource.wheels <> 2`,
    'MATCH (subject), (resource) WHERE subject.age = resource.age',
    'MATCH (subject)-[:MEMBER]->(t:Team), (t)-[:OWNS]->(resource)',
    "MATCH (subject)-[:OWNS]->(resource), (t:Team {external_id: 'red'}) WHERE t.age > 1",
    'MATCH (subject)-[:KNOWS*1..3]->(:Person)-[:OWNS]->(resource)',
    `${OWNS} WHERE NOT EXISTS { (subject)-[:MEMBER]->(:Team) }`,
    `MATCH (n) WHERE n.age = 1 AND n.age = 2 WITH count(*) AS none ${OWNS}`,
    `OPTIONAL MATCH (n) WHERE n.age = 1 AND n.age = 2 ${OWNS}`
      .replace('OPTIONAL MATCH (n)', `${OWNS} OPTIONAL MATCH (subject)-->(n)`)
      .replace(/ MATCH \(subject\)-\[:OWNS\]->\(resource\)$/, ''),
  ])
    expect(found(cypher), cypher).toEqual([])
})

test('policies that never grant', () => {
  const never: readonly (readonly [cypher: string, reason: string, more?: string])[] = [
    [
      `${OWNS} WHERE resource.wheels = 4 AND resource.wheels = 3`,
      'no value of `resource.wheels` satisfies all predicates',
    ],
    [`${OWNS} WHERE resource.wheels = null`, 'a comparison with null is never true'],
    [`${OWNS} WHERE resource.wheels IS NULL AND resource.wheels > 2`, '`resource.wheels` is null'],
    [`${OWNS} WHERE resource:Fast AND NOT resource:Fast`, 'cannot have the label `Fast` and lack it'],
    [`${OWNS} WHERE subject:!Person`, 'cannot have the label `Person` and lack it'],
    [`${OWNS} WHERE resource.type = 'Bike'`, 'no value of `resource.type`'],
    [`${OWNS} WHERE resource.app STARTS WITH 'a' AND resource.app = 3`, 'cannot be a string and a number'],
    [`${OWNS} WITH subject, resource, resource.wheels AS w WHERE w > 4 AND w <= 4`, 'no value of `resource.wheels`'],
    ['MATCH (subject)-[:OWNS]->() WITH subject, subject AS resource', 'cannot have two types'],
    [
      `${OWNS} WHERE $token.role = 'boss'`,
      'no value of `$token.role`',
      "filter: {attribute: $token.role, operator: '=', value: clerk}\n",
    ],
    [
      `CALL { ${OWNS} WHERE resource.wheels IN [] RETURN subject, resource UNION ${OWNS} WHERE false RETURN subject, resource }`,
      'never true',
    ],
  ]
  for (const [cypher, reason, more] of never) {
    const findings = run(['a.policy.yaml', policy(cypher, more)])
    expect(
      findings.map(({ rule }) => rule),
      cypher,
    ).toEqual(['never-grants'])
    expect(findings[0]?.message).toContain(reason)
  }
})

describe('policies that another one covers', () => {
  const covered = (narrow: string, wide: string): string[] =>
    run(['narrow.policy.yaml', narrow], ['wide.policy.yaml', wide])
      .filter(({ rule }) => rule === 'covered-policy')
      .map(({ file }) => file)

  test('are reported once', () => {
    expect(covered(policy(`${OWNS} WHERE resource.wheels = 4`), policy(OWNS))).toEqual(['narrow.policy.yaml'])
    expect(covered(policy(OWNS), policy(`match (subject) - [ :OWNS ] -> (resource) // the same`))).toEqual([
      'wide.policy.yaml',
    ])
    expect(
      covered(
        policy(`${OWNS} WHERE resource.wheels > 4`),
        policy('MATCH (subject)-[:OWNS|KNOWS*1..2]-(resource) WHERE resource.wheels >= 2'),
      ),
    ).toEqual(['narrow.policy.yaml'])
  })

  test('are not claimed without a proof', () => {
    const narrow = policy(`${OWNS} WHERE resource.wheels > 4`)
    // Another action, tag, status, parameter or direction, a filter, and a predicate that does not follow.
    expect(covered(narrow, policy(OWNS).replace('drive', 'paint'))).toEqual([])
    expect(covered(policy(OWNS, 'tags: [x]\n'), policy(OWNS, 'tags: [y]\n'))).toEqual([])
    expect(covered(narrow, policy(OWNS, 'status: INACTIVE\n'))).toEqual([])
    expect(covered(narrow, policy(`${OWNS} WHERE $min = 1 OR true`))).toEqual([])
    expect(covered(narrow, policy('MATCH (subject)<-[:OWNS]-(resource)'))).toEqual([])
    expect(covered(narrow, policy(OWNS, "filter: {attribute: $token.role, operator: '=', value: boss}\n"))).toEqual([])
    expect(covered(narrow, policy(`${OWNS} WHERE resource.wheels > 5`))).toEqual(['wide.policy.yaml'])
    // One MATCH never takes a relationship twice, two may.
    expect(
      covered(
        policy('MATCH (subject)-[:KNOWS]-(x) MATCH (x)-[:KNOWS]-(y), (y)-[:OWNS]->(resource)'),
        policy('MATCH (subject)-[:KNOWS]-(x)-[:KNOWS]-(y)-[:OWNS]->(resource)'),
      ),
    ).toEqual(['wide.policy.yaml'])
    // The wider one may fail for another row.
    expect(covered(narrow, policy(`${OWNS} WHERE resource.wheels > 4 OR 1 / resource.age > 0`))).toEqual([])
  })
})

test('a comment turns a rule off for its line and the next, or for the file', () => {
  const walk = 'MATCH (subject)-[:KNOWS*]->(resource)'
  const file = (cypher: string): string =>
    `subject: Person\nactions: [drive]\nresource: Car\ncypher: |\n  ${cypher.replaceAll('\n', '\n  ')}\n`
  const rules = (text: string): string[] => run(['a.policy.yaml', text]).map(({ rule }) => rule)
  expect(rules(file(walk))).toEqual(['unbounded-walk'])
  expect(rules(file(`// verdigraph-ignore unbounded-walk\n${walk}`))).toEqual([])
  expect(rules(file(`${walk} /* verdigraph-ignore never-grants, unbounded-walk */`))).toEqual([])
  expect(rules(file(`// verdigraph-ignore unbounded-walk\n\n${walk}`))).toEqual(['unbounded-walk'])
  expect(rules(`# verdigraph-ignore-file unbounded-walk\n${file(walk)}`)).toEqual([])
  // Errors that the service refuses stay.
  expect(rules(file(`// verdigraph-ignore invalid-cypher\nMATCH (subject`))).toEqual(['invalid-cypher'])
})

test('actions of the command line are looked for in active policies', () => {
  const documents = [{ file: 'a.policy.yaml', text: policy(OWNS) }]
  const findings = lint({ documents, names: null, actions: ['drive', 'drvie'] })
  expect(findings.map(({ rule, file, suggestion }) => [rule, file, suggestion])).toEqual([
    ['unnamed-action', '', 'drive'],
  ])
  expect(lint({ documents, names: null, actions: ['drive'] })).toEqual([])
})

test('Cypher without a policy is checked as a query', () => {
  expect(run(['q.cypher', 'MATCH (n:Car), (m:Person) RETURN n, m']).map(({ rule }) => rule)).toEqual([
    'cartesian-product',
  ])
  expect(run(['q.cypher', 'MATCH (n:Cra) RETURN n.wheels']).map(({ suggestion }) => suggestion)).toEqual(['Car'])
})

test('a SARIF log has a result with a region for each finding', () => {
  const log = toSarif(run(['a b.policy.yaml', policy('MATCH (subject)-[:KNOWS*]->(resource)')]), '1.2.3') as {
    runs: { tool: { driver: { rules: { id: string }[] } }; results: object[] }[]
  }
  expect(log.runs[0]?.tool.driver.rules.map(({ id }) => id)).toEqual(lintRuleIds)
  expect(log.runs[0]?.results).toEqual([
    expect.objectContaining({
      ruleId: 'unbounded-walk',
      level: 'warning',
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: 'a%20b.policy.yaml' },
            region: { startLine: 4, startColumn: 33, endLine: 4, endColumn: 34 },
          },
        },
      ],
    }),
  ])
})

describe('in patterns and clauses of GQL', () => {
  const all = 'MATCH (subject:Person)-[:OWNS]->(resource) RETURN subject, resource NEXT'
  const own = 'MATCH (subject)-[:OWNS]->(resource) RETURN subject, resource'
  test.each([
    [
      'names within a quantified pattern',
      'MATCH (subject) ((x:Tem)-[:MEMBR]->(y WHERE y.agee > 1)){1,3} ()-[:OWNS]->(resource)',
      ['unknown-label', 'unknown-relationship-type', 'unknown-property'],
    ],
    [
      'a quantified pattern without bound',
      'MATCH (subject) ((x)-[:MEMBER]->(y)){1,} ()-[:OWNS]->(resource)',
      ['unbounded-walk'],
    ],
    ['a quantified relationship without bound', 'MATCH (subject)-[:OWNS]->+(resource)', ['unbounded-walk']],
    ['a quantifier with a bound', 'MATCH (subject)-[:OWNS]->{1,4}(resource)', []],
    ['a name of a shortest path', 'MATCH SHORTEST 1 (subject)-[:OWNZ]->+(resource)', ['unknown-relationship-type']],
    [
      'names of all branches of WHEN',
      `${all} WHEN subject.agee > 1 THEN { ${own} } ELSE { MATCH (subject)-[:KNOWZ]->()-[:OWNS]->(resource) RETURN subject, resource }`,
      ['unknown-property', 'unknown-relationship-type'],
    ],
    ['branches of WHEN that are right', `${all} WHEN subject.age > 1 THEN { ${own} } ELSE { ${own} }`, []],
    [
      'a predicate before NEXT that is never true',
      `MATCH (subject)-[:OWNS]->(resource) WHERE false RETURN subject, resource NEXT WHEN subject.age > 1 THEN { ${own} }`,
      ['never-grants'],
    ],
    ['a name in FILTER', `${OWNS} FILTER resource.weels > 2`, ['unknown-property']],
    [
      'a union of types that cannot be',
      `${OWNS} WHERE resource.wheels :: INTEGER NOT NULL | STRING`,
      ['invalid-cypher'],
    ],
    [
      'other columns in a branch',
      `${all} WHEN true THEN { ${own} } ELSE { RETURN subject, 1 AS other }`,
      ['invalid-cypher'],
    ],
  ])('%s', (_name, cypher, rules) => {
    expect(found(cypher)).toEqual(rules)
  })
})

describe('a temporal value that does not exist', () => {
  const messages = (expression: string): string[] =>
    run(['policies/a.policy.yaml', policy(`${OWNS} WHERE resource.x = ${expression}`)])
      .filter(({ rule }) => rule === 'impossible-literal')
      .map(({ message }) => message)

  test.each([
    "date('2024-02-30')",
    "DATE('2024-02-30')",
    "date('tomorrow')",
    "[d IN [1] | datetime('2024-01-01T25:00Z')]",
    "datetime('2024-01-01T00:00[Europe/Atlantis]')",
    "localdatetime('2024-13-01T00:00')",
    "time('24:01')",
    "localtime('10:60')",
    "duration('1 day')",
    'date({year: 2024, month: 2, day: 30})',
    'duration({dayz: 1})',
  ])('is found: %s', (expression) => {
    expect(messages(expression)).toEqual([expect.stringMatching(/^\w+\(\) always fails: /)])
  })

  test.each([
    "date('2024-02-29')",
    'date($day)',
    'date(resource.day)',
    'date({year: $year, month: 2, day: 30})',
    "date({timezone: 'Europe/Berlin'})",
    'date(null)',
    'datetime()',
    "datetime('2024-01-01T00:00[Europe/Berlin]')",
    "duration('P1D')",
    "'date(2024-02-30)'",
  ])('is not found: %s', (expression) => {
    expect(messages(expression)).toEqual([])
  })
})

describe('an exclusion that a null turns off', () => {
  const suggested = (where: string): (string | null)[] =>
    run(['policies/a.policy.yaml', policy(`${OWNS} WHERE ${where}`)])
      .filter(({ rule }) => rule === 'open-exclusion')
      .map(({ suggestion }) => suggestion)

  test.each([
    [
      'NOT EXISTS { (subject)-[k:KNOWS]->(resource) WHERE k.app = $context.app }',
      'coalesce(k.app = $context.app, true)',
    ],
    ['NOT EXISTS { (subject)-[k:KNOWS {app: $app}]->(resource) }', 'WHERE coalesce(k.app = $app, true)'],
    ['NOT EXISTS { (subject)-[:KNOWS {app: $token.app}]->(resource) }', null],
    ['NOT (subject)-[:KNOWS {app: resource.app}]->()', null],
    [
      'NOT EXISTS { MATCH (subject)-[k:KNOWS]->(resource) WHERE NOT k.app <> $app RETURN k }',
      'coalesce(k.app <> $app, false)',
    ],
    ['COUNT { (subject)-[k:KNOWS]->() WHERE k.app IN $apps } = 0', 'coalesce(k.app IN $apps, true)'],
    ['EXISTS { (subject)-[k:KNOWS]->() WHERE k.app = $app } = false', 'coalesce(k.app = $app, true)'],
    ['0 = COUNT { (subject)-[k:KNOWS]->() WHERE k.app = $app }', 'coalesce(k.app = $app, true)'],
    ['NOT EXISTS { (subject)-[k:KNOWS]->() WHERE k.level > $level + 1 }', 'coalesce(k.level > $level + 1, true)'],
    ['NOT EXISTS { (subject)-[:KNOWS]->() WHERE $blocked }', 'coalesce($blocked, true)'],
    ['size([app IN resource.app WHERE app = $app]) = 0', 'coalesce(app = $app, true)'],
    [
      'resource.wheels > 1 AND NOT (resource.wheels > 3 OR EXISTS { (subject)-[k:KNOWS]->() WHERE k.app = $app })',
      'coalesce(k.app = $app, true)',
    ],
  ])('is found: %s', (where, suggestion) => {
    expect(suggested(where)).toEqual([suggestion])
  })

  test.each([
    'WITH *, EXISTS { (subject)-[k:KNOWS]->() WHERE k.app = $app } AS banned WHERE NOT banned',
    'WITH *, COUNT { (subject)-[k:KNOWS]->() WHERE k.app = $app } AS bans WHERE bans = 0',
    'OPTIONAL MATCH (subject)-[k:KNOWS]->(resource) WHERE k.app = $app WITH * WHERE k IS NULL',
  ])('is found through a name: %s', (clauses) => {
    const found = run(['policies/a.policy.yaml', policy(`${OWNS} ${clauses}`)])
    expect(found.filter(({ rule }) => rule === 'open-exclusion').map(({ suggestion }) => suggestion)).toEqual([
      'coalesce(k.app = $app, true)',
    ])
  })

  test('is not followed through a name that is made from itself', () => {
    const again =
      'WITH subject, resource, resource.open AS banned WITH subject, resource, NOT banned AS banned WHERE NOT banned'
    const found = run(['policies/a.policy.yaml', policy(`${OWNS} ${again}`)])
    expect(found.filter(({ rule }) => rule === 'open-exclusion')).toEqual([])
  })

  test.each([
    'EXISTS { (subject)-[k:KNOWS]->(resource) WHERE k.app = $context.app }',
    'NOT EXISTS { (subject)-[k:KNOWS]->(resource) WHERE coalesce(k.app = $context.app, true) }',
    "NOT EXISTS { (subject)-[k:KNOWS]->(resource) WHERE k.app = coalesce($context.app, 'none') }",
    '$app IS NOT NULL AND NOT EXISTS { (subject)-[k:KNOWS]->(resource) WHERE k.app = $app }',
    "NOT EXISTS { (subject)-[k:KNOWS]->(resource) WHERE k.app = 'crm' }",
    'NOT EXISTS { (x:Person)-[:KNOWS]->(resource) WHERE x.external_id = $subject_external_id }',
    // The inner exclusion keeps the outer one.
    'NOT EXISTS { (subject)-[:KNOWS]->(x) WHERE NOT EXISTS { (x)-[k:KNOWS]->() WHERE k.app = $app } }',
    // NOT null is null, which denies. So does `none` if an item is compared with null.
    'NOT resource.app = $app',
    'none(app IN resource.app WHERE app = $app)',
    'NOT any(app IN resource.app WHERE app = $app)',
    // Their authors have decided what a null means.
    '$app IS NULL OR NOT EXISTS { (subject)-[k:KNOWS]->(resource) WHERE k.app = $app }',
    'NOT coalesce(resource.blocked, false)',
    'NOT coalesce($app IN [(subject)-[k:KNOWS]->(resource) | k.app], false)',
    'CASE WHEN resource.blocked IS NULL THEN true ELSE NOT resource.blocked END',
    // An element of the pattern without the property does not match it.
    'NOT EXISTS { (subject)-[k:KNOWS]->(x) WHERE k.app = x.app }',
    "CASE $region WHEN 'eu' THEN resource.eu WHEN 'us' THEN resource.us ELSE false END",
    "resource.level > CASE WHEN $tier = 'gold' THEN 1 ELSE 5 END",
  ])('is not found: %s', (where) => {
    expect(suggested(where)).toEqual([])
  })
})

describe('an identity that the caller chooses', () => {
  const chosen = (filter: string): string[] =>
    run([
      'policies/a.policy.yaml',
      `version: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject:Person)-[:OWNS]->(car:Car)\n${filter}allowed_reads:\n  nodes: [car]\n`,
    ]).map(({ rule, message }) => `${rule}: ${message.split(':')[0]}`)

  test('is found in a filter, also on its left side and in a list', () => {
    const leaf = (attribute: string, operator: string, value: string): string =>
      `filter:\n  - {operator: '${operator}', attribute: '${attribute}', value: ${value}}\n`
    const finding = 'caller-chosen-identity: the service does not fill `$subject_external_id` in context queries'
    expect(chosen(leaf('subject.external_id', '=', "'$subject_external_id'"))).toEqual([finding])
    expect(chosen(leaf('subject.external_id', 'IN', "['a', '$subject_external_id']"))).toEqual([finding])
    expect(chosen(leaf('subject.external_id', '=', "'$token.sub'"))).toEqual([])
  })

  const tied = (cypher: string, filter: object[] = []): boolean => {
    const policy = { version: '1.0-ciq', subject: 'Person', cypher, filter, allowed_reads: { nodes: ['car'] } }
    const findings = run(['policies/a.policy.yaml', JSON.stringify(policy)]).map(
      ({ rule, message }) => `${rule}: ${message.split(':')[0]}`,
    )
    const untied = 'caller-chosen-identity: nothing ties the subject to the caller'
    expect(findings.filter((text) => text.startsWith('invalid'))).toEqual([])
    return findings.every((text) => text !== untied)
  }
  const pattern = 'MATCH (subject:Person)-[:OWNS]->(car:Car)'
  const leaf = (attribute: string, operator: string, value?: unknown) => ({ operator, attribute, value })

  test.each([
    pattern,
    `${pattern} WHERE $token.sub IS NOT NULL`,
    `${pattern} WHERE $token.sub = 'ann' AND $token.iss IN ['a', 'b']`,
    `${pattern} WHERE subject.external_id <> $token.sub`,
    `${pattern} WHERE NOT subject.external_id = $token.sub`,
    `${pattern} WHERE subject.external_id = $token.sub OR car.public`,
    `${pattern} WHERE subject.external_id = $token.sub OR $token.sub IS NOT NULL`,
    `${pattern} WHERE subject.external_id = coalesce($token.sub, subject.external_id)`,
    `${pattern} WHERE $token.sub IN [subject.external_id, $token.sub]`,
    `${pattern} WHERE (subject.app = ($token.sub IS NOT NULL))`,
    `${pattern} WHERE NOT EXISTS { (subject)-[:KNOWS]->(:Person {external_id: $token.sub}) }`,
    `${pattern} WHERE EXISTS { (other:Person {external_id: $token.sub}) }`,
    `${pattern} WHERE NOT (subject.external_id = $token.sub AND car.app = 'a')`,
    `${pattern} WHERE coalesce(subject.external_id = $token.sub, true)`,
    `${pattern} WHERE CASE WHEN subject.external_id = $token.sub THEN true ELSE car.app = 'a' END`,
    `${pattern} WHERE all(one IN $token.ids WHERE one = subject.external_id)`,
    `${pattern} OPTIONAL MATCH (subject)-[:KNOWS]->(x:Person {external_id: $token.sub})`,
    `${pattern} WITH subject, car, subject.external_id = $token.sub AS isCaller`,
    'MATCH (subject:Person)-[:OWNS]->(car:Car), (other:Person {external_id: $token.sub})',
    `${pattern}, (x:Person {external_id: $token.sub}) WITH subject, car MATCH (subject)-[:KNOWS]->(x:Person)`,
    `${pattern}, (subject)((a:Person {external_id: $token.sub})-[:KNOWS]->(b:Person)){0,2}(c:Person)`,
  ])('is found where $token ties no subject: %s', (cypher) => expect(tied(cypher)).toBe(false))

  test.each([
    [leaf('$token.sub', 'IS NOT NULL')],
    [leaf('$token.sub', '=', 'ann')],
    [leaf('subject.external_id', '<>', '$token.sub')],
    [{ operator: 'NOT', operands: [leaf('subject.external_id', '=', '$token.sub')] }],
    [{ operator: 'OR', operands: [leaf('subject.external_id', '=', '$token.sub'), leaf('car.external_id', '=', 'a')] }],
  ])('is found where a filter reads the token and ties no subject: %j', (filter) => {
    expect(tied(pattern, [filter])).toBe(false)
  })

  test.each([
    `${pattern} WHERE subject.external_id = $token.sub`,
    `${pattern} WHERE $token.sub = subject.external_id AND car.app = 'a'`,
    `${pattern} WHERE NOT subject.external_id <> $token.sub`,
    `${pattern} WHERE NOT (car.app = 'a' OR subject.external_id <> $token.sub)`,
    `${pattern} WHERE toLower(subject.external_id) = toLower($token.sub)`,
    `${pattern} WHERE subject.external_id IN $token.ids`,
    `${pattern} WHERE subject.external_id IN [$token.sub, $token.act.sub]`,
    `${pattern} WHERE subject.external_id = $token.sub OR subject.app IN $token.apps`,
    `${pattern} WHERE (subject.external_id = $token.sub) = true`,
    `${pattern} WHERE coalesce(subject.external_id = $token.sub, false)`,
    `${pattern} WHERE any(one IN $token.ids WHERE one = subject.external_id)`,
    `${pattern} WHERE CASE WHEN car.app = 'a' THEN subject.external_id = $token.sub ELSE false END`,
    `${pattern} WHERE CASE subject.external_id WHEN $token.sub THEN true ELSE false END`,
    `${pattern} WHERE car.external_id = $token.car`,
    `${pattern} WHERE EXISTS { (subject)-[:KNOWS]->(:Person {external_id: $token.sub}) }`,
    `${pattern} WHERE (subject)-[:KNOWS]->(:Person {external_id: $token.sub})`,
    `${pattern} WHERE COUNT { (subject)-[:KNOWS]->(:Person {external_id: $token.sub}) } > 0`,
    `${pattern} WHERE size([(subject)-[:KNOWS]->(x:Person {external_id: $token.sub}) | x]) >= 1`,
    'MATCH (subject:Person {external_id: $token.sub})-[:OWNS]->(car:Car)',
    'MATCH (subject:Person WHERE subject.external_id = $token.sub)-[:OWNS]->(car:Car)',
    'MATCH (subject:Person)-[:OWNS {app: $token.app}]->(car:Car)',
    `MATCH (x:Person {external_id: $token.sub}) ${pattern} WHERE x.app = subject.app`,
    `${pattern} WITH subject, car, subject.external_id = $token.sub AS isCaller WHERE isCaller`,
    `${pattern} WITH subject, car, $token.sub AS caller WHERE subject.external_id = caller`,
    `UNWIND $token.ids AS one ${pattern} WHERE subject.external_id = one`,
    `${pattern} OPTIONAL MATCH (subject)-[:KNOWS]->(x:Person {external_id: $token.sub}) WITH * WHERE x IS NOT NULL`,
    `${pattern}, (subject)((a:Person {external_id: $token.sub})-[:KNOWS]->(b:Person)){1,2}(c:Person)`,
  ])('is not found where $token ties the subject: %s', (cypher) => expect(tied(cypher)).toBe(true))

  test.each([
    [leaf('subject.external_id', '=', '$token.sub')],
    [leaf('car.property.app', 'IN', '$token.apps')],
    [leaf('subject.external_id', 'IN', ['$token.sub', '$token.act.sub'])],
    [leaf('$token.sub', '=', '@subject.external_id')],
    [
      {
        operator: 'AND',
        operands: [leaf('subject.external_id', '=', '$token.sub'), leaf('car.property.app', 'IS NULL')],
      },
    ],
    [
      {
        operator: 'OR',
        operands: ['$token.sub', '$token.act.sub'].map((one) => leaf('subject.external_id', '=', one)),
      },
    ],
  ])('is not found where a filter ties the subject: %j', (filter) => expect(tied(pattern, [filter])).toBe(true))
})

describe('with the model of a project', () => {
  const model = 'DEFINE (p:Person)-[:may_drive]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) }\n'
  const drive = (cypher: string): string => `subject: Person\nactions: [drive]\nresource: Car\ncypher: ${cypher}\n`
  const MAY = 'MATCH (subject)-[:may_drive]->(resource)'

  test('a name of a definition is known, and a misspelt one gets it as a suggestion', () => {
    const file = 'shop/policies/a.policy.yaml'
    expect(run(['shop/model.gql', model], [file, drive(MAY)])).toEqual([])
    const [finding] = run(['shop/model.gql', model], [file, drive(MAY.replace('may', 'my'))])
    expect([finding?.rule, finding?.suggestion]).toEqual(['unknown-relationship-type', 'may_drive'])
  })

  test('a model holds for the files of its folder', () => {
    const findings = run(['shop/model.gql', model], ['other/policies/a.policy.yaml', drive(MAY)])
    expect(findings.map(({ rule, file }) => [rule, file])).toEqual([
      ['unknown-relationship-type', 'other/policies/a.policy.yaml'],
    ])
  })

  test('a fault has its place after the front matter', () => {
    const text = `---\nname: cars\n---\n${model.replace('MATCH', 'MATH')}`
    const [finding] = run(['shop/model.gql', text])
    expect([finding?.rule, finding?.line, finding?.column]).toEqual(['invalid-model', 4, model.indexOf('MATCH') + 1])
  })

  test.each([
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p)-[:OWNS]->(x) }', 'unnamed-end 1:47'],
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p)-[:OWNS]->(c) UNION MATCH (y)-[:OWNS]->(c) }', 'unnamed-end 1:63'],
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p:Admin) UNION MATCH (c) WHERE c.public UNION MATCH (p)-[:IN]->(:Staff) }', ''],
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p)-[:OWNS]->(x) WHERE x.n = c.n }', ''],
    [
      'DEFINE (p)-[:a]->(c) AS { MATCH (p)-[:b]->(c) } DEFINE (p)-[:b]->(c) AS { MATCH (p)-[:a]->+(c) }',
      'empty-definition 1:14, empty-definition 1:62',
    ],
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p)-[:OWNS]->(x) WHERE (x)-[:a]->(c) }', 'empty-definition 1:14'],
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p), (c) WHERE (p)-[:a]->(c) OR c.public }', ''],
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p)-[:a]->*(c) }', ''],
    ['DEFINE (p)-[:a]->(c) AS { MATCH (p)-[:a]->{,2}(c) }', ''],
  ])('of %s, doubts that it means that', (text, expected) => {
    const found = run(['shop/model.gql', `${text}\n`])
    expect(found.map(({ rule, line, column }) => `${rule} ${line}:${column}`).join(', ')).toBe(expected)
  })

  test('a policy with a definition is not covered by one with another, and covers no other policy', () => {
    const both = `${model}DEFINE (p:Person)-[:may_lend]->(c:Car) AS { MATCH (p)-[:LENDS]->(c) }\n`
    const policies = [MAY, MAY.replace('drive', 'lend'), 'MATCH (subject)-[:OWNS]->(resource)'].map(
      (cypher, i) => [`shop/policies/p${i}.policy.yaml`, drive(cypher)] as const,
    )
    const rules = run(['shop/model.gql', both], ...policies).map(({ rule }) => rule)
    expect(rules).not.toContain('covered-policy')
  })
})

describe('declared types', () => {
  const types = '(:Person {age INTEGER}), (:Car {wheels INTEGER}), (:Person)-[:OWNS]->(:Car)\n'
  const faults = (cypher: string) =>
    run(['model.gql', types], ['policies/a.policy.yaml', policy(cypher)]).map(({ rule, message }) => [rule, message])

  test('a policy that fits them has no finding, also without data', () => {
    expect(faults('MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels > 2')).toEqual([])
  })

  test.each([
    [
      'MATCH (subject)-[:OWNZ]->(resource)',
      'the model declares no relationship of type `OWNZ`; did you mean `[:OWNS]`?',
    ],
    [
      "MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels = 'four'",
      'a value of type `INTEGER` is compared with one of type `STRING`, which is never true',
    ],
  ])('a policy that does not fit them is an error: %s', (cypher, message) => {
    expect(faults(cypher)).toEqual([['undeclared-type', message]])
  })
})
