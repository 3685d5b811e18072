// The command `model infer`: writes the declared types that the data of a project has.
import { writeFileSync } from 'node:fs'
import { inferModel as modelText } from '../../graph-statistics/infer-model.ts'
import type { Settings } from '../../settings.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printDocument, printLine } from '../output/print.ts'
import { agentKeyVariable } from '../settings/environment-variables.ts'
import { reading } from './files-below.ts'
import { type NameFlags, readDataSchema } from './language-files.ts'

/** The options of `model infer`. */
export interface InferFlags extends NameFlags {
  readonly out?: string
}

/** Runs `model infer`. Rejects with CliError if the project has no data. */
export async function inferModel(settings: () => Settings, { out, ...flags }: InferFlags): Promise<void> {
  if (flags.schema === undefined && flags.project === undefined)
    throw new UsageError([
      'expected --schema with a file, or --project with the name of the project whose data has the types',
    ])
  if (flags.schema === undefined && flags.url !== undefined && (process.env[agentKeyVariable] ?? '') === '')
    throw new UsageError([
      `--url: expected the key of an agent with the permission ReadDataSchema in ${agentKeyVariable}, which is empty`,
    ])
  const schema = await readDataSchema(settings, flags)
  const text = schema === null ? null : modelText(schema)
  if (text === null) throw new CliError(['the project has no captured nodes: capture some, or write model.gql by hand'])
  if (out === undefined) {
    printDocument(text)
    return
  }
  reading(out, () => writeFileSync(out, text))
  printLine(`wrote ${out}`)
}
