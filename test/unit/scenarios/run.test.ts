// Running scenarios: each kind of expectation with a right and a wrong answer, tokens, projects, coverage and errors.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readScenarioText } from '../../../src/scenarios/load-scenario.ts'
import { HumanReport } from '../../../src/scenarios/report/human-report.ts'
import { runScenario, runScenarioFile, type ScenarioRun } from '../../../src/scenarios/run.ts'
import { runSuite } from '../../../src/scenarios/run-suite.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const setting = `
graph: |
  (ann:Person {identity: true, email: 'ann@example.org'})-[:OWNS]->(c1:Car {wheels: 4})
  (ann)-[:OWNS]->(c2:Car {wheels: 2})
  (bob:Person {identity: true})
policies:
  - name: drive
    tags: [internal]
    subject: Person
    action: drive
    resource: Car
    cypher: MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels >= $min
  - name: sign
    subject: Person
    action: sign
    resource: Car
    cypher: |
      MATCH (subject)-[:OWNS]->(resource)
      WHERE subject.email = $token.email
  - name: see
    version: 1.0-ciq
    subject: Person
    cypher: MATCH (subject:Person)-[:OWNS]->(car:Car)
    filter: [{operator: '=', attribute: subject.external_id, value: $token.sub}]
    allowed_reads: {nodes: [car.external_id, car.property.wheels]}
queries:
  - {name: my-cars, policy: see, nodes: [car.external_id, car.property.wheels]}
tokens:
  ann: {claims: {email: ann@example.org}}
  ann-alone: {type: Person, id: ann}
`

async function run(text: string, coverage = false): Promise<ScenarioRun> {
  return runScenario(readScenarioText('w', `${setting}${text}`, null), { coverage })
}

async function checksOf(text: string): Promise<string[]> {
  const { checks } = await run(text)
  return checks.map(({ list, passed, expected, actual }) => `${list} ${passed} ${expected} / ${actual}`)
}

describe('a scenario', () => {
  test('compares every kind of answer, and shows the actual one', async () => {
    const found = await checksOf(`
decisions:
  - [Person:ann, drive, Car:c1, {min: 4}, yes]
  - [Person:ann, drive, Car:c1, {min: 4.5}, yes]
  - [Person:ann, drive, Car:c1, {}, no]
  - [Person:ann, drive, Car:c1, {token: 1}, error]
  - {subject: Person:ann, action: sign, resource: Car:c1, token: ann, expect: yes}
  - {subject: Person:ann, action: sign, resource: Car:c1, token: {claims: {email: x}}, expect: no}
  - {subject: Person:ann, action: sign, resource: Car:c1, token: {type: Person, id: bob}, expect: refused}
resources:
  - [Person:ann, drive, {min: 1}, [c2, c1]]
  - [Person:ann, drive, {min: 4}, [c1, c2]]
subjects:
  - [Person, drive, Car:c1, {min: 1}, [ann]]
actions:
  - [Person:ann, Car:c1, {min: 1}, [drive]]
  - [Person:ann, Car:c1, {min: 1}, [drive, sign]]
rows:
  - {query: my-cars, token: ann-alone, rows: [{car.external_id: c2, car.property.wheels: 2}, {car.external_id: c1, car.property.wheels: 4}]}
  - {query: my-cars, token: ann-alone, rows: [{car.external_id: c1, car.property.wheels: 4.0}]}
explanations:
  - {subject: Person:ann, action: drive, resource: Car:c1, params: {min: 5}, outcomes: {drive: denied}, stopped: 'resource.wheels >= $min'}
  - {subject: Person:ann, action: drive, resource: Car:c1, params: {min: 4}, outcomes: {drive: denied}}
refused:
  - {cypher: 'MATCH (subject)-[:OWNS->(resource)', message-contains: 'expected \`]\`'}
  - {cypher: 'MATCH (subject)-[:OWNS]->(resource)', message-contains: x}
`)
    expect(found).toEqual([
      'decisions true yes / yes',
      'decisions false yes / no',
      expect.stringMatching(/^decisions false no \/ refused: .*missing or wrong input params, 'min'/),
      'decisions true refused / refused',
      'decisions true yes / yes',
      'decisions true no / no',
      'decisions true refused / refused',
      'resources true [c1, c2] / [c1, c2]',
      'resources false [c1, c2] / [c1]',
      'subjects true [ann] / [ann]',
      'actions true [drive] / [drive]',
      'actions false [drive, sign] / [drive]',
      expect.stringMatching(/^rows true /),
      expect.stringMatching(/^rows false /),
      expect.stringMatching(/^explanations true /),
      'explanations false {"outcomes":{"drive":"denied"}} / {"outcomes":{"drive":"granted"}}',
      expect.stringMatching(/^refused true /),
      'refused false an error with `x` / accepted',
    ])
  })

  test('shows the nearest miss of a wrong decision, and what a search did not find', async () => {
    const { checks } = await run(
      'decisions:\n  - [Person:ann, drive, Car:c2, {min: 4}, yes]\nresources:\n  - [Person:ann, drive, {min: 4}, [c2]]\n',
    )
    expect(
      checks.map(({ title, details, position }) => [title, details, `${position.line}:${position.column}`]),
    ).toEqual([
      [
        'Person:ann drive Car:c2 {"min":4}',
        [
          'policy drive does not grant',
          '  reached: Argument subject, resource, for example (Person:ann), (Car:c2)',
          '  stopped: the predicate is not true: resource.wheels >= $min',
          '  values: resource.wheels = 2, $min = 4',
          'with $min = 4',
        ],
        '32:5',
      ],
      [
        'Person:ann drive Car {"min":4}',
        [
          'not found: c2',
          'not expected: c1',
          'Person:ann drive Car:c2 {"min":4}:',
          '  policy drive does not grant',
          '    reached: Argument subject, resource, for example (Person:ann), (Car:c2)',
          '    stopped: the predicate is not true: resource.wheels >= $min',
          '    values: resource.wheels = 2, $min = 4',
          '  with $min = 4',
          'Person:ann drive Car:c1 {"min":4}:',
          '  policy drive grants: (Person:ann)-[:OWNS]->(Car:c1)',
          '  with $min = 4',
        ],
        '34:5',
      ],
    ])
  })

  test.each([
    [
      'decisions:\n  - [Person:ann, drvie, Car:c1, no]',
      'no policy for Person and Car names the action `drvie`; did you mean `drive`?',
    ],
    [
      'decisions:\n  - [Persn:ann, drive, Car:c1, no]',
      'no policy and no node has the type `Persn`; did you mean `Person`?',
    ],
    [
      'decisions:\n  - [Person:ann, drive, Car:c9, {min: 1}, no]',
      '`Car:c9` is not in the graph; did you mean `Car:c1`?',
    ],
    [
      'decisions:\n  - [Person:ann, drive, Car:c1, {mni: 9}, no]',
      'no policy for Person and Car reads the parameter `$mni`; did you mean `$min`?',
    ],
    ['decisions:\n  - [Person:ann, drive, Person:bob, no]', 'no policy is for Person and Person'],
    [
      'decisions:\n  - {subject: Person:ann, action: drive, resource: Car:c1, params: {min: 9}, tags: [internl], expect: no}',
      'no policy has the tag `internl`; did you mean `internal`?',
    ],
    [
      'decisions:\n  - {subject: Person:ann, action: sign, resource: Car:c1, token: {claims: {emial: x}}, expect: no}',
      'no policy reads `claims.emial`; did you mean `email`?',
    ],
    [
      'decisions:\n  - {subject: {type: Person, id: ann, properties: {age: 3}}, action: drive, resource: Car:c1, params: {min: 9}, expect: no}',
      'no policy for the two types reads subject.properties as `$subject_properties`',
    ],
    [
      'resources:\n  - [Person:anm, drive, {min: 9}, []]',
      '`Person:anm` is not in the graph; did you mean `Person:ann`?',
    ],
    ['resources:\n  - [Person:ann, drive, []]', 'the policy drive reads `$min`, which is not given'],
    [
      'subjects:\n  - [Person, drvie, Car:c1, []]',
      'no policy for Person and Car names the action `drvie`; did you mean `drive`?',
    ],
    ['actions:\n  - [Person:ann, Car:c1, [sign]]', 'the policy drive reads `$min`, which is not given'],
    [
      'rows:\n  - {query: my-cars, token: ann-alone, params: {wheels: 1}, rows: []}',
      'the knowledge query my-cars does not read the parameter `$wheels`',
    ],
    [
      'rows:\n  - {query: my-cars, token: {type: Person, id: anm}, rows: []}',
      '`Person:anm` is not in the graph; did you mean `Person:ann`?',
    ],
    [
      'explanations:\n  - {subject: Person:ann, action: drvie, resource: Car:c1, outcomes: {drive: denied}}',
      'no policy for Person and Car names the action `drvie`; did you mean `drive`?',
    ],
    [
      'decisions:\n  - [Person:ann, drive, Car:c1, {min: 1}, unknown-node]',
      'expected an unknown node, and the request has none',
    ],
    [
      'decisions:\n  - [Person:zoe, drive, Car:c99, {min: 1}, unknown-node]',
      'expected one unknown node, found `Person:zoe` and `Car:c99`',
    ],
    ['decisions:\n  - [Person:ann, drive, Car:c1, {min: 1}, refused]', 'yes'],
  ])('fails for a name that the check does not mean: %s', async (text, message) => {
    const { checks } = await run(`${text}\n`)
    expect(checks.map(({ passed, actual }) => [passed, actual])).toEqual([[false, message]])
  })

  test('passes for names that the check means, and needs no empty parameters', async () => {
    const { checks } = await run(`
decisions:
  - [Person:ann, fly, Car:c1, unknown-action]
  - [Person:zoe, drive, Car:c1, {min: 1}, unknown-node]
  - [Robot:r2, drive, Car:c1, unknown-type]
  - [Person:ann, drive, Car:c1, refused]
  - {subject: Person:ann, action: sign, resource: Car:c1, token: null, expect: no}
resources:
  - [Person:zoe, sign, unknown-node]
  - [Person:ann, fly, unknown-action, {type: Car}]
  - {subject: Person:ann, action: sign, type: Car, token: null, ids: []}
  - [Person:ann, drive, refused]
subjects:
  - [Person, drive, Car:c9, {min: 1}, unknown-node]
  - {type: Person, action: sign, resource: Car:c1, token: null, ids: []}
actions:
  - [Person:zoe, Car:c1, {min: 1}, unknown-node]
rows:
  - {query: my-cars, rows: refused}
`)
    expect(checks.filter(({ passed }) => !passed)).toEqual([])
    expect(checks).toHaveLength(13)
  })

  test('uses the policies of the project around it', async () => {
    const folder = temporaryFolder()
    const files = {
      'verdigraph.yaml': 'name: cars\n',
      'policies/drive.policy.yaml':
        'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n',
      'scenarios/sub/drive.scenario.yaml':
        'graph: (ann:Person)-[:OWNS]->(c1:Car)\ndecisions:\n  - [Person:ann, drive, Car:c1, {}, yes]\nresources:\n  - [Person:ann, drive, {}, [c1]]\n',
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const { name, checks } = await runScenarioFile(join(folder, 'scenarios/sub/drive.scenario.yaml'))
    expect([name, checks.map(({ passed }) => passed)]).toEqual(['drive', [true, true]])
    await expect(runScenarioFile(join(folder, 'absent.scenario.yaml'))).rejects.toThrow('it does not exist')
  })

  test.each([
    [
      'decisions:\n  - {subject: Person:ann, action: sign, resource: Car:c1, token: an, expect: yes}\n',
      '32:66: no token is named `an`; did you mean `ann`?',
    ],
    [
      'decisions:\n  - {subject: Person:ann, action: sign, resource: Car:c1, expected: yes}\n',
      '32:5: decisions[0].expect: expected `yes` or `no` or `unknown-type` or `unknown-node` or `unknown-action` or `refused` or `failed` or `error`, found nothing\nw:32:59: decisions[0]: unknown member `expected`; did you mean `expect`?',
    ],
    [
      'decisions:\n  - [ann, sign, Car:c1, {}, yes]\n',
      '32:6: decisions[0][0]: expected `Type:id`, or an object with `type` and `id`',
    ],
    ['rows:\n  - {query: my-cars, token: ann, rows: []}\n', '32:29: token: expected `type` and `id`'],
    ['subjects: 4\n', '31:11: subjects: expected array, found number'],
  ])('refuses %j with its place', async (text, message) => {
    await expect(run(text)).rejects.toThrow(`w:${message}`)
  })

  test('refuses values that are nested too deep, with their place', () => {
    const text = `graph: "(ann:Person)"\ndecisions: ${'{a: '.repeat(20_000)}1${'}'.repeat(20_000)}\n`
    expect(() => readScenarioText('w', text, null)).toThrow(/^w:2:808: nested deeper than 200 levels$/)
  })

  test('refuses a policy that does not compile with its place in the file', async () => {
    const text =
      'policies:\n  - subject: Person\n    action: drive\n    resource: Car\n    cypher: |\n      MATCH (subject)\n        -[:OWNS->(resource)\n'
    await expect(runScenario(readScenarioText('w', text, null))).rejects.toThrow(/^w:7:\d+: .*expected `\]`/)
  })
})

describe('coverage', () => {
  const policies = `
policies:
  - name: drive
    subject: Person
    action: drive
    resource: Car
    cypher: |
      MATCH (subject)-[:OWNS]->(resource)
      WHERE (resource.wheels = 4 OR resource.colour = 'red') AND subject.age > 17
  - {name: sell, subject: Person, action: sell, resource: Car, cypher: 'MATCH (subject)-[:OWNS]->(resource)'}
graph: |
  (ann:Person {age: 30})-[:OWNS]->(c1:Car {wheels: 4})
  (ann)-[:OWNS]->(c2:Car {wheels: 3, colour: 'red'})
  (kim:Person {age: 9})-[:OWNS]->(c1)
  (ann)-[:OWNS]->(c3:Car {wheels: 3})
`
  const coverageOf = async (decisions: string) => {
    const scenario = readScenarioText('w', `${policies}decisions:\n${decisions}`, null)
    const { coverage } = await runScenario(scenario, { coverage: true })
    return (coverage?.policies ?? []).map(({ name, asked, granted, conditions }) => ({
      name,
      asked,
      granted,
      untested: conditions.flatMap(({ text, position, problem }) =>
        problem === null ? [] : [`${position.line}:${position.column} ${text}: ${problem}`],
      ),
    }))
  }

  test('names policies, alternatives and conditions that no decision has reached', async () => {
    expect(await coverageOf('  - [Person:ann, drive, Car:c1, {}, yes]\n')).toEqual([
      {
        name: 'drive',
        asked: 1,
        granted: 1,
        untested: [
          "9:14 resource.wheels = 4 OR resource.colour = 'red': never false",
          "9:37 resource.colour = 'red': never true",
          '9:66 subject.age > 17: never false',
        ],
      },
      { name: 'sell', asked: 0, granted: 0, untested: [] },
    ])
  })

  test('is complete if each of them decides once', async () => {
    const [drive] = await coverageOf(
      '  - [Person:ann, drive, Car:c1, {}, yes]\n  - [Person:ann, drive, Car:c2, {}, yes]\n  - [Person:ann, drive, Car:c3, {}, no]\n  - [Person:kim, drive, Car:c1, {}, no]\n',
    )
    expect(drive).toEqual({ name: 'drive', asked: 4, granted: 2, untested: [] })
  })

  test('names the operators without a row', async () => {
    const scenario = readScenarioText('w', `${policies}decisions:\n  - [Person:kim, drive, Car:c3, {}, no]\n`, null)
    const { coverage } = await runScenario(scenario, { coverage: true })
    const reached = coverage?.policies[0]?.operators.map(({ operator, isReached }) => `${operator} ${isReached}`)
    expect(reached).toContain('Argument true')
    expect(reached?.some((text) => text.endsWith('false'))).toBe(true)
  })
})

test('a file may have a model of its own, whose errors have their places', async () => {
  const text = `model: |
  DEFINE (p:Person)-[:may_drive]->(c:Car) AS {
    MATCH (p)-[:OWNS]->(c)
    UNION MATCH (p)-[:MEMBER]->(:Team)-[:OWNS]->(c)
  }
graph: |
  (ann:Person)-[:MEMBER]->(red:Team)-[:OWNS]->(c1:Car)
  (bob:Person)
policies:
  - {subject: Person, action: drive, resource: Car, cypher: 'MATCH (subject)-[:may_drive]->(resource)'}
decisions:
  - [Person:ann, drive, Car:c1, yes]
  - [Person:bob, drive, Car:c1, no]
`
  const { checks } = await runScenario(readScenarioText('model.scenario.yaml', text, null))
  expect(checks.map(({ passed }) => passed)).toEqual([true, true])
  const faulty = readScenarioText('model.scenario.yaml', text.replace('UNION MATCH', 'UNION MACH'), null)
  await expect(runScenario(faulty)).rejects.toMatchObject({ diagnostics: [{ line: 4, column: 11 }] })
})

describe('a graph that the declared types do not allow', () => {
  const text = (mode: string): string => `graph: |
  (ann:User)-[:MEMBR]->(staff:Team {lvl: 3})
model: |
  ${mode} (:User), (:Team {level INTEGER}), (:User)-[:MEMBER]->(:Team)
policies: []
decisions: []
`

  test('warns of each element in its own notation if the model is open', async () => {
    const run = await runScenario(readScenarioText('types.scenario.yaml', text('OPEN'), null))
    const { warnings } = run
    const as = (each: string): string => each
    const report = new HumanReport({ red: as, green: as, dim: as })
    const result = { file: run.file, projectFolder: null, run, errors: [] }
    expect(report.file(result)[1]).toBe(
      '  types.scenario.yaml:1:8: warning: graph: (staff:Team): `(:Team)` has no property `lvl`',
    )
    expect(warnings.map(({ file, line, message }) => `${file}:${line}: ${message}`)).toEqual([
      'types.scenario.yaml:1: graph: (staff:Team): `(:Team)` has no property `lvl`',
      'types.scenario.yaml:1: graph: (ann:User)-[:MEMBR]->(staff:Team): the model declares no relationship type `MEMBR`; did you mean `MEMBER`?',
    ])
  })

  test('is not run if the model is closed', async () => {
    const file = join(temporaryFolder(), 'types.scenario.yaml')
    writeFileSync(file, text('CLOSED'))
    const [result] = await runSuite([file], {})
    expect(result?.run).toBeNull()
    expect(result?.errors.map(({ message }) => message)).toEqual([
      'graph: (staff:Team): `(:Team)` has no property `lvl`',
    ])
  })
})
