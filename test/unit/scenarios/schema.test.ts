// The JSON schemas for editors accept what the loader accepts, and refuse what it refuses.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020'
import { describe, expect, test } from 'vitest'
import { YamlFile } from '../../../src/project/yaml-file.ts'

const top = join(import.meta.dirname, '..', '..', '..')
const schemas = join(top, 'data', 'schemas')
const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, validateFormats: false })

const validators = new Map(
  readdirSync(schemas).map((file) => [file, ajv.compile(JSON.parse(readFileSync(join(schemas, file), 'utf8')))]),
)

function errorsOf(name: string, text: string): unknown {
  const validate = validators.get(`${name}.schema.json`) as ValidateFunction
  validate(new YamlFile('file', text).value('plain'))
  return validate.errors
}

test.each(readdirSync(schemas))('%s is a valid schema', (file) => {
  expect(validators.get(file)).toBeTypeOf('function')
})

describe('the schema of scenarios', () => {
  const folder = join(top, 'test', 'scenarios')
  const files = readdirSync(folder).filter((name) => name.endsWith('.scenario.yaml'))

  test('accepts the scenarios of this repository', () => {
    expect(files.length).toBeGreaterThan(20)
    for (const file of files) expect(errorsOf('scenario', readFileSync(join(folder, file), 'utf8')), file).toBeNull()
  })

  test.each([
    'decisons: []\n',
    'decisions: [[Person:ann, drive, Car:c1, {}, maybe]]\n',
    'resources: [[Person:ann, drive, Car:c1]]\n',
    'graph: 4\n',
  ])('refuses %j', (text) => expect(errorsOf('scenario', text)).not.toBeNull())
})

test('the schema of policies accepts both kinds, and refuses a member of the other', () => {
  const decision = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'
  const context =
    'version: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject)\nallowed_reads: {nodes: [car.external_id]}\n'
  expect([errorsOf('policy', decision), errorsOf('policy', context)]).toEqual([null, null])
  expect(errorsOf('policy', `${decision}allowed_reads: {}\n`)).not.toBeNull()
})
