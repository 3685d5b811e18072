// The commands for authors of policies.

import type { FormatFlags } from '../policies/fmt.ts'
import type { NameFlags } from '../policies/language-files.ts'
import type { LintFlags } from '../policies/lint.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, type Flags, settingsFrom, withNames } from './options.ts'

/** Adds `lint`, `fmt` and `lsp`. */
export function addPolicyCommands(command: CliCommand): void {
  withNames(command.command('lint [paths...]'))
    .description(
      'check policies and Cypher in files and project folders, or the policies that a project stores; docs/reference/lint-rules.md has the rules',
    )
    .examples('lint authz', 'lint authz --schema schema.json --strict', 'lint authz --sarif > lint.sarif')
    .records(
      'no record: it shows findings about texts; of a data folder it reads the policies and names of one project',
    )
    .option('--action <name>', 'an action that callers ask for; may be repeated', appended, [])
    .option('--strict', 'fail for warnings too', false)
    .option('--json', 'print one line of JSON', false)
    .option('--sarif', 'print a SARIF log, as code hosts read it', false)
    .action(async (paths: readonly string[], flags: Flags & LintFlags) => {
      await (await import('../policies/lint.ts')).lintFiles(() => settingsFrom(flags), paths, flags)
    })

  command
    .command('fmt [paths...]')
    .description('format the Cypher in files and project folders; - formats the standard input')
    .examples('fmt authz', 'fmt --check authz', 'fmt - < query.cypher')
    .records('no record: it reads no data folder')
    .option('--check', 'write nothing, and fail if a file is not formatted', false)
    .action(async (paths: readonly string[], flags: FormatFlags) => {
      ;(await import('../policies/fmt.ts')).formatFiles(paths, flags)
    })

  withNames(command.command('lsp'))
    .description(
      'serve editors as a language server on the standard input and output: diagnostics, completion, hover, format',
    )
    .examples('lsp', 'lsp --schema schema.json')
    .records('no record: of a data folder it reads the names of one project')
    .action(async (flags: Flags & NameFlags) => {
      await (await import('../policies/lsp.ts')).serveEditor(() => settingsFrom(flags), flags)
    })
}
