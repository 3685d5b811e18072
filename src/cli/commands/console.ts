// The command that prints a link to the console.

import { tokenVariable } from '../settings/environment-variables.ts'
import type { CliCommand } from './cli-command.ts'
import { type Flags, settingsFrom, withListening, withSettings } from './options.ts'

/** Adds `console-link`. */
export function addConsoleCommands(command: CliCommand): void {
  withListening(withSettings(command.command('console-link')))
    .description('print a link that signs in to the console once, within two minutes')
    .examples('console-link', 'console-link --url https://authz.example.com --json')
    .records('token.issue')
    .option('--url <url>', `ask this service for the link; ${tokenVariable} holds a token of the account that signs in`)
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: Flags & { readonly url?: string; readonly json: boolean }) => {
      const { printConsoleLink } = await import('../serve/console-link.ts')
      await printConsoleLink(settingsFrom(flags), flags.url ?? null, flags.json)
    })
}
