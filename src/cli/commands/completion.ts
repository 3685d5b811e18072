// The command for completions in shells, and the hidden one that their scripts call.
import { Argument } from 'commander'
import { printDocument, printLine } from '../output/print.ts'
import {
  bashLines,
  COMPLETE_COMMAND,
  type CompletionShell,
  completionLines,
  completionScript,
  completionShells,
  completionsFor,
} from '../shell/completion.ts'
import type { CliCommand } from './cli-command.ts'

/** Adds `completion`. */
export function addCompletionCommands(command: CliCommand): void {
  command
    .command('completion')
    .description('print the script that completes commands, options, contexts and values in a shell')
    .examples(
      'completion bash > ~/.local/share/bash-completion/completions/verdigraph',
      'completion zsh > ~/.zfunc/_verdigraph',
      'completion fish > ~/.config/fish/completions/verdigraph.fish',
    )
    .records('no record: it reads no data folder')
    .addArgument(new Argument('<shell>', 'the shell').choices(completionShells))
    .action((shell: CompletionShell) => {
      printDocument(completionScript(shell))
    })

  command
    .command(`${COMPLETE_COMMAND} [words...]`, { hidden: true })
    .option('--line <text>', 'the command line up to the cursor')
    .action((words: readonly string[], { line }: { readonly line?: string }) => {
      const current = words.at(-1) ?? ''
      const lines =
        line === undefined
          ? completionLines(completionsFor(command, words.slice(0, -1), current))
          : bashLines(command, line)
      for (const one of lines) printLine(one)
    })
}
