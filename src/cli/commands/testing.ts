// The command for tests of policies.
import { Option } from 'commander'
import type { ScenarioFlags } from '../policies/test-scenarios.ts'
import type { CliCommand } from './cli-command.ts'

/** Adds `test`. */
export function addTestingCommands(command: CliCommand): void {
  command
    .command('test [paths...]')
    .description(
      'run scenario files, and the scenario files below folders (default: the working folder); docs/reference/scenario-files.md describes the files',
    )
    .examples(
      'test authz',
      'test authz --filter "Person:ann drive" --watch',
      'test authz --min-coverage 90 --reporter junit --out report.xml',
    )
    .records('no record: it reads no data folder')
    .option('--filter <text>', 'run only checks whose file, list or question contains the text')
    .option('--bail', 'stop after the first failed check', false)
    .option('--coverage', 'show the policies, operators and conditions that no check has reached', false)
    .option('--min-coverage <percent>', 'fail if less of the policies is covered; selects --coverage')
    .addOption(
      new Option('--reporter <name>', 'the form of the report').choices(['human', 'junit', 'json']).default('human'),
    )
    .option('--out <file>', 'write the report to this file, and print the one for a person')
    .option('--watch', 'run again what concerns each changed file, until a signal ends the command', false)
    .action(async (paths: readonly string[], flags: ScenarioFlags) => {
      await (await import('../policies/test-scenarios.ts')).testScenarios(paths, flags)
    })
}
