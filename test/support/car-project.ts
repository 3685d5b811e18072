// A project folder with one scenario, for commands that ask: `ann` owns a car with four wheels, `bob` one with three, and lends it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryFolder } from './temporary-folder.ts'

export const driveCypher = 'MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels >= $min'
export const washCypher = 'MATCH (subject)-[:OWNS|LENDS]->(resource)'

const policy = (action: string, cypher: string): string =>
  `subject: Person\nactions: [${action}]\nresource: Car\ncypher: |\n  ${cypher}\n`

const files = {
  'verdigraph.yaml': 'name: cars\n',
  'policies/drive.policy.yaml': policy('drive', driveCypher),
  'policies/wash.policy.yaml': policy('wash', washCypher),
  'policies/sign.policy.yaml': policy('sign', 'MATCH (subject {email: $token.email})-[:OWNS]->(resource)'),
  'scenarios/cars.scenario.yaml': `graph: |
  (ann:Person {age: 40, email: 'ann@example.com'})-[:OWNS {since: 2020}]->(c1:Car {wheels: 4, name: 'Red "one"'})
  (bob:Person)-[:OWNS]->('c:2':Car {wheels: 3})
  (bob)-[:LENDS]->(c1)
`,
}

/** Writes the folder \`authz\` into a new folder, which is returned. */
export function carProject(): string {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'authz', path)), { recursive: true })
    writeFileSync(join(folder, 'authz', path), text)
  }
  return folder
}
