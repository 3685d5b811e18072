// The commands that show decisions of a running service.

import type { ReplayFlags } from '../ask/replay.ts'
import type { DecisionTailFlags } from '../ask/tail.ts'
import type { CliCommand } from './cli-command.ts'
import { appended, withTarget } from './options.ts'

/** Adds `tail` and `replay`. */
export function addDecisionCommands(command: CliCommand): void {
  withTarget(command.command('tail'))
    .description('print decisions of a running service as they are made; its decision log must be on')
    .examples('tail --url https://authz.example.com --denied', 'tail --subject Person:ann --count 10 --json')
    .records('no record of its own: it reads the decision log, or calls the service')
    .option('--denied', 'only denials, and evaluations with an error', false)
    .option('--granted', 'only permits', false)
    .option('--subject <type[:id]>', 'only this subject')
    .option('--action <name>', 'only this action')
    .option('--resource <type[:id]>', 'only this resource')
    .option('--count <n>', 'end after this number of decisions')
    .option('--json', 'print each line of the log as it is', false)
    .action(async (flags: DecisionTailFlags) => {
      await (await import('../ask/tail.ts')).tailDecisions(flags)
    })

  withTarget(command.command('replay <id>'))
    .description(
      'ask for a decision of the past again, and show what is different now; `id`: `context.id` of its answer, in the decision log or the audit log',
    )
    .examples('replay 01J00000000000000000000000 --url https://authz.example.com')
    .records('no record of its own: it reads the decision log, or calls the service')
    .option('--log <file>', 'find the decision in this file of the decision log')
    .option('--param <name=value>', 'a parameter that the log hides; may be repeated', appended, [])
    .option('--token <token>', 'the token of the user for whom the decision was made')
    .option('--json', 'print one line of JSON', false)
    .action(async (id: string, flags: ReplayFlags) => {
      await (await import('../ask/replay.ts')).replayDecision(id, flags)
    })
}
