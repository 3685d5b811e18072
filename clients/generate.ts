// `npm run clients`: generates the types of the Python, Go and TypeScript clients from data/openapi.json, those of Python and Go with
// published generators. See docs/decisions/0051-clients-in-other-languages.md.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './run-program.ts'
import { type TypeSchema, typeScriptOf } from './typescript.ts'

const here = import.meta.dirname

/** Pinned: another version writes other files. */
const pythonGenerator = 'datamodel-code-generator==0.89.0'
const goGenerator = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'

/** The operations that the clients call. The document describes all; their types would be six times as many lines. */
const operationIds: readonly string[] = [
  'evaluate',
  'evaluateMany',
  'searchResources',
  'searchSubjects',
  'searchActions',
  'comparePolicies',
  'explainDecision',
  'upsertNodes',
  'upsertRelationships',
  'deleteRelationships',
  'deleteNodes',
  'executeKnowledgeQuery',
]

/** What the authorizer and the console do in addition. */
const typeScriptOperationIds: readonly string[] = [...operationIds, 'queryGraph', 'listGraphNames']

/** The file of the types of TypeScript, by path below the repository. */
export const typeScriptFile = 'src/openapi/types.ts'

/** The generated files, by path below `clients/`. */
export const generatedFiles = { python: 'python/src/verdigraph/models.py', go: 'go/models.go' } as const
export type ClientLanguage = keyof typeof generatedFiles

/** True if the programs that the generator needs are installed. */
export function canGenerate(language: ClientLanguage): boolean {
  return Bun.which(language === 'python' ? 'python3' : 'go') !== null
}

/** Returns the text of the generated file. Downloads the generator from the package registry of its language. */
export async function generateTypes(language: ClientLanguage): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-generate-'))
  try {
    const document = schemasOfOperations(await readDescription(), operationIds)
    if (language === 'python') await generatePython(document, folder)
    else await generateGo(document, folder)
    return readFileSync(join(folder, 'generated'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the text of the TypeScript types. */
export async function generateTypeScript(): Promise<string> {
  const { components } = schemasOfOperations(await readDescription(), typeScriptOperationIds)
  return typeScriptOf(components.schemas as Readonly<Record<string, TypeSchema>>)
}

function readDescription(): Promise<Description> {
  return Bun.file(join(here, '..', 'data', 'openapi.json')).json()
}

type Schema = Record<string, unknown> & {
  readonly $ref?: string
  readonly type?: unknown
  readonly anyOf?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}

interface Description {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** A document with only the schemas that the operations use: the generators would name types after paths and responses too. */
function schemasOfOperations({ openapi, info, paths, components }: Description, ids: readonly string[]): Description {
  const operations = Object.values(paths).flatMap((methods) =>
    Object.values(methods).filter(({ operationId }) => ids.includes(operationId)),
  )
  if (operations.length !== ids.length) throw new Error('data/openapi.json lacks an operation of the clients')
  const used = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const name = /^#\/components\/schemas\/(.+)$/.exec(String((value as Schema).$ref))?.[1]
    if (name !== undefined && !used.has(name)) {
      used.add(name)
      collect(components.schemas[name])
    }
    for (const member of Object.values(value)) collect(member)
  }
  collect(operations)
  const schemas = Object.entries(components.schemas).filter(([name]) => used.has(name))
  return {
    openapi,
    info: { title: info.title, version: info.version },
    paths: {},
    components: { schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, withoutClosedObjects(schema)])) },
  }
}

/** A later service may add members to its answers. Objects with any members become dictionaries. */
function withoutClosedObjects(schema: Schema): Schema {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => {
      if (key !== 'additionalProperties') return value
      return value === true ? {} : value === false ? undefined : value
    }),
  )
}

async function generatePython(document: Description, folder: string): Promise<void> {
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
  await runProgram(['python3', '-m', 'venv', 'environment'], { cwd: folder })
  const programs = join(folder, 'environment', 'bin')
  const install = ['install', '--quiet', '--disable-pip-version-check', pythonGenerator]
  await runProgram([join(programs, 'pip'), ...install], { cwd: folder })
  const options = {
    input: 'openapi.json',
    'input-file-type': 'openapi',
    'openapi-scopes': 'schemas',
    // Types of dictionaries: they need no package, and values are those of `json`, so an integer has any size.
    'output-model-type': 'typing.TypedDict',
    'target-python-version': '3.11',
    formatters: 'builtin',
    output: 'generated',
  }
  const flags = ['--use-schema-description', '--use-field-description', '--disable-timestamp']
  const values = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  await runProgram([join(programs, 'datamodel-codegen'), ...values, ...flags], { cwd: folder })
}

async function generateGo(document: Description, folder: string): Promise<void> {
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [name, withGoMembers(schema)])
  const described = { ...document, components: { schemas: Object.fromEntries(schemas) } }
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(described))
  const configuration = {
    package: 'verdigraph',
    output: 'generated',
    generate: { models: true },
    compatibility: { 'always-prefix-enum-values': true },
    'output-options': {
      'skip-prune': true,
      'skip-enum-validate': true,
      // The answer without a list. Its type would need a package outside the standard library.
      'exclude-schemas': ['EvaluationsAnswer'],
      'prefer-skip-optional-pointer-on-container-types': true,
      'name-normalizer': 'ToCamelCaseWithInitialisms',
    },
  }
  writeFileSync(join(folder, 'configuration.json'), JSON.stringify(configuration))
  // The flag of the caller may name options that the generator does not know.
  const command = ['go', 'run', goGenerator, '-config', 'configuration.json', 'openapi.json']
  await runProgram(command, { cwd: folder, environment: { GOFLAGS: '' } })
}

/**
 * Optional lists, dictionaries and values of any type are members without a pointer, and absent if nil. By default an empty list would be
 * absent too, so that a decision with an empty list of policy tags would be asked without a condition on tags.
 */
function withGoMembers(schema: Schema): Schema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const isAny = member.type === undefined && member.$ref === undefined && member.anyOf === undefined
    const isContainer = member.type === 'array' || member.$ref === '#/components/schemas/JsonObject'
    if (schema.required?.includes(name) || !(isAny || isContainer)) return [name, member]
    return [name, { ...member, 'x-omitempty': false, 'x-omitzero': true, 'x-go-type-skip-optional-pointer': true }]
  })
  return { ...schema, ...(schema.properties !== undefined && { properties: Object.fromEntries(properties) }) }
}

if (import.meta.main) {
  writeFileSync(join(here, '..', typeScriptFile), await generateTypeScript())
  console.log(typeScriptFile)
  for (const language of ['python', 'go'] as const) {
    const path = join(here, generatedFiles[language])
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, await generateTypes(language))
    console.log(`clients/${generatedFiles[language]}`)
  }
}
