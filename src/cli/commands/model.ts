// The commands about models: declared types and definitions.

import type { InferFlags } from '../policies/infer-model.ts'
import type { TypesFlags } from '../project/model-types.ts'
import type { CliCommand } from './cli-command.ts'
import { type Flags, settingsFrom, withNames } from './options.ts'

/** Adds `model infer` and `model types`. */
export function addModelCommands(command: CliCommand): void {
  const model = command
    .command('model')
    .description('write a model from data, and TypeScript types from a project folder')

  withNames(model.command('infer'))
    .description('write the declared types that the data of a project has')
    .examples('model infer --project cars > authz/model.gql', 'model infer --schema schema.json --out authz/model.gql')
    .records('no record: it reads counts, names and types of the data of one project, and no values')
    .option('--out <file>', 'write this file instead of the standard output')
    .action(async (flags: Flags & InferFlags) => {
      await (await import('../policies/infer-model.ts')).inferModel(() => settingsFrom(flags), flags)
    })

  model
    .command('types <folder>')
    .description(
      'write TypeScript types with which a misspelt type, action or parameter of `may`, `resources`, `toAllow` and `toDeny` does not compile',
    )
    .examples('model types authz --out authz.d.ts')
    .records('no record: it reads a project folder')
    .option('--out <file>', 'write this file instead of the standard output')
    .action(async (folder: string, flags: TypesFlags) => {
      await (await import('../project/model-types.ts')).writeTypes(folder, flags)
    })
}
