// The commands for authors of policies.
import type { Command } from 'commander'
import type { FormatFlags } from '../policies/fmt.ts'
import type { NameFlags } from '../policies/language-files.ts'
import type { LintFlags } from '../policies/lint.ts'
import { appended, type Flags, settingsFrom, withNames } from './options.ts'

/** Adds `lint`, `fmt` and `lsp`. */
export function addPolicyCommands(command: Command): void {
  withNames(command.command('lint [paths...]'))
    .description(
      'check policies and Cypher in files and project folders, or the policies that a project stores; docs/reference/lint-rules.md has the rules',
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
    .option('--check', 'write nothing, and fail if a file is not formatted', false)
    .action(async (paths: readonly string[], flags: FormatFlags) => {
      ;(await import('../policies/fmt.ts')).formatFiles(paths, flags)
    })

  withNames(command.command('lsp'))
    .description(
      'serve editors as a language server on the standard input and output: diagnostics, completion, hover, format',
    )
    .action(async (flags: Flags & NameFlags) => {
      await (await import('../policies/lsp.ts')).serveEditor(() => settingsFrom(flags), flags)
    })
}
