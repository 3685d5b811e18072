// The commands for project folders: the configuration of a project as files.
import { InvalidArgumentError } from 'commander'
import type { ApplyFlags } from '../project/apply.ts'
import type { PlanFlags } from '../project/plan.ts'
import type { PullFlags } from '../project/pull.ts'
import { contextVariable, projectVariable, tokenVariable, urlVariable } from '../settings/environment-variables.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, withListening, withSettings } from './options.ts'

/** Adds `apply`, `plan` and `pull`. */
export function addProjectCommands(command: CliCommand): void {
  withProject(command.command('apply <folder>'))
    .description(
      'make the configuration of a project that of a project folder, in one transaction; if a document is refused, nothing is stored',
    )
    .examples('apply authz --dry-run', 'apply authz --url https://authz.example.com --prune')
    .records('project.apply')
    .option('--create', 'create the project if it does not exist', false)
    .option('--prune', 'delete documents that have no file; asks on a terminal', false)
    .option('--yes', 'delete without asking', false)
    .option('--dry-run', 'print the difference and change nothing', false)
    .option('--json', 'print one line of JSON', false)
    .action(async (folder: string, flags: ApplyFlags) => {
      await (await import('../project/apply.ts')).applyFolder(folder, flags)
    })

  withProject(command.command('plan <folder>'))
    .description(
      'print what `apply` would change, and who gains and who loses: the pairs of subject and resource whose decisions change',
    )
    .examples('plan authz', 'plan authz --url https://authz.example.com --json')
    .records(
      'no record: of a data folder it reads the configuration of one project, and examples of decisions that would change',
    )
    .option('--create', 'the project may be a new one', false)
    .option('--prune', 'as for `apply`: without their files, documents are deleted', false)
    .option('--action <name>', 'compare only this action')
    .option('--subject <type[:id]>', 'compare only these subjects, such as Person or Person:ann')
    .option('--resource <type[:id]>', 'compare only these resources')
    .option('--param <name=value>', 'a parameter of the policies, as JSON or as text; may be repeated', appended, [])
    .option('--token <json>', 'the claims of the tokens of all subjects, such as {"acr":"high"}')
    .option('--tag <name>', 'compare decisions that ask only policies with this tag; may be repeated', appended, [])
    .option('--budget <seconds>', 'time of the comparison; what does not fit is listed', '10')
    .option('--sample <count>', 'examples of each list, 0 to 100', '3')
    .option('--exit-code', 'exit with 3 if documents or decisions would change', false)
    .option('--json', 'print one line of JSON', false)
    .action(async (folder: string, flags: PlanFlags) => {
      await (await import('../project/plan.ts')).planFolder(folder, flags)
    })

  withProject(command.command('pull <folder>'))
    .description(
      'write the configuration of a project as a project folder; secrets become references to environment variables',
    )
    .examples('pull authz --project cars', 'pull authz --url https://authz.example.com --force')
    .records('no record: of a data folder it reads the configuration of one project, without secrets')
    .option('--force', 'update an existing folder: files of changed documents are changed, others removed', false)
    .option('--json', 'print one line of JSON', false)
    .action(async (folder: string, flags: PullFlags) => {
      await (await import('../project/pull.ts')).pullProject(folder, flags)
    })
}

function projectKey(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('expected the id or name of a project, found an empty text')
  return text
}

/** For commands about a project in the data folder or at a URL. */
export function withProject(command: CliCommand): CliCommand {
  return withListening(withSettings(command))
    .option('--context <name>', `a context of \`context list\` (${contextVariable})`)
    .option(
      '--project <project>',
      `id or name of the project (${projectVariable}; default: the name in verdigraph.yaml)`,
      projectKey,
    )
    .option(
      '--url <url>',
      `the service (${urlVariable}; default: the service of the data folder, or the data folder if it is not served); ${tokenVariable} may hold a token for it`,
    )
}
