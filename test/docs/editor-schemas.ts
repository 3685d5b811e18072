// The JSON schemas of the files of a project folder, for editors: generated from the schemas that read the files.
import { jsonSchemaOf } from '../../src/config/json-schema.ts'
import { modelFile, projectFile } from '../../src/project/file-kinds.ts'
import { fileKinds } from '../../src/project/other-file-kinds.ts'
import { scenarioSchema } from '../../src/scenarios/scenario-schema.ts'

const schemas = [
  { name: 'project', title: 'verdigraph.yaml', schema: projectFile.schema },
  // The file of a model is no YAML.
  ...fileKinds
    .filter((kind) => kind !== modelFile)
    .map(({ ending, label, schema }) => ({
      name: ending.replace(/^\.|\.yaml$/g, ''),
      title: `Verdigraph ${label}`,
      schema,
    })),
  { name: 'scenario', title: 'Verdigraph scenario', schema: scenarioSchema },
]

/** Text by path. */
export const editorSchemas: Readonly<Record<string, () => Promise<string>>> = Object.fromEntries(
  schemas.map(({ name, title, schema }) => [
    `data/schemas/${name}.schema.json`,
    async () => {
      const $schema = 'https://json-schema.org/draft/2020-12/schema'
      return `${JSON.stringify({ $schema, title, ...jsonSchemaOf(schema, 'input') }, null, 2)}\n`
    },
  ]),
)
