// The command for completions in shells, and the hidden one that their scripts call.
import { Argument, type Command } from 'commander'
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

/** Adds `completion`. */
export function addCompletionCommands(command: Command): void {
  command
    .command('completion')
    .description('print the script that completes commands, options, contexts and values in a shell')
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
